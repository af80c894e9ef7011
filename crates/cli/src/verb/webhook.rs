//! `muster webhook`: who else is told of events.

use clap::builder::PossibleValuesParser;
use model::event::EventKind;
use serde_json::json;

use super::app::read_secret;
use super::{Context, rows};
use crate::client::{CreatedWebhook, NewWebhook, WebhookRow};
use crate::failure::{Exit, Failure, Kind};
use crate::show::{age, count, millis, now};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

pub const EXAMPLES: &str = "\
Examples:
  muster webhook list
  muster webhook create http://10.0.0.9:8080/muster
  muster webhook create http://pager/hook -n web,db -k process_cancel_restart
  pass show muster/hook | muster webhook create http://10.0.0.9/x --secret-stdin
  muster webhook test ID
  muster webhook delete ID

Events are posted as JSON, signed with the secret, in order, and again until they are answered
with a status from 200 to 299. The secret is shown once, when the webhook is created.";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List the webhooks, and how deliveries go
    #[command(after_help = EXAMPLES)]
    List,
    /// Make a webhook, and show its secret
    #[command(after_help = EXAMPLES)]
    Create(CreateArgs),
    /// Remove a webhook: it is told nothing more
    #[command(after_help = EXAMPLES)]
    Delete {
        /// As `muster webhook list` shows it
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Send it a test event now
    #[command(after_help = EXAMPLES)]
    Test {
        /// As `muster webhook list` shows it
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Where events are posted: http://HOST[:PORT]/PATH
    #[arg(value_name = "URL")]
    receiver: String,
    /// Only events of these namespaces, separated by commas [default: all]
    #[arg(short, long, value_name = "NAMESPACE", value_delimiter = ',')]
    namespace: Vec<String>,
    /// Only events of these kinds, separated by commas [default: all]
    #[arg(short, long, value_name = "KIND", value_delimiter = ',', value_parser = PossibleValuesParser::new(EventKind::ALL.map(EventKind::as_str)))]
    kind: Vec<String>,
    /// Read the secret from standard input instead of making one up
    #[arg(long)]
    secret_stdin: bool,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::List => list(context)?,
        Action::Create(args) => create(context, args)?,
        Action::Delete { id } => {
            context.client()?.remove("webhooks", id)?;
            let document = json!({"id": id, "deleted": true});
            let text = format!("deleted webhook {id}");
            context.out.did(&document, text)?;
        }
        Action::Test { id } => return test(context, id),
    }
    Ok(Exit::Ok)
}

fn list(context: &Context) -> Result<(), Failure> {
    let out = &context.out;
    let answer = context.client()?.list("webhooks")?;
    if out.is_json() {
        return out.json(&answer);
    }
    let now = now();
    let mut table = Table::new([
        Column::text("ID"),
        Column::elastic("URL"),
        Column::elastic("NAMESPACES"),
        Column::elastic("KINDS"),
        Column::number("AGE"),
        Column::number("DELIVERED"),
        Column::elastic("STATE"),
    ]);
    let all_or = |list: Option<Vec<String>>| list.map_or("all".to_owned(), |list| list.join(","));
    for row in rows::<WebhookRow>(&answer, "webhooks")? {
        let state = match (row.failing_since, row.last_error) {
            (Some(since), error) => {
                let error = error.unwrap_or_default();
                Cell::toned(
                    Tone::Bad,
                    format!("failing for {}: {error}", age(since, now)),
                )
            }
            (None, _) => Cell::toned(Tone::Good, "ok"),
        };
        table.row([
            Cell::from(row.id),
            row.url.into(),
            all_or(row.namespaces).into(),
            all_or(row.kinds).into(),
            age(row.created_at, now).into(),
            count(row.delivered).into(),
            state,
        ]);
    }
    match table.is_empty() {
        true => out.note("no webhooks: muster webhook create makes one"),
        false => out.table(&table)?,
    }
    Ok(())
}

fn create(context: &Context, args: &CreateArgs) -> Result<(), Failure> {
    let secret = match args.secret_stdin {
        true => Some(read_secret()?),
        false => None,
    };
    let some = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    let new = NewWebhook {
        url: args.receiver.clone(),
        namespaces: some(&args.namespace),
        kinds: some(&args.kind),
        secret,
    };
    let created: CreatedWebhook = context.client()?.create("webhooks", &new)?;
    let out = &context.out;
    if out.is_json() {
        return out.json(&created);
    }
    out.line(format!("MUSTER_WEBHOOK_ID={}", created.id))?;
    out.line(format!("MUSTER_WEBHOOK_SECRET={}", created.secret))?;
    out.note(format!(
        "the secret is not shown again; muster webhook test {} tries it",
        created.id
    ));
    Ok(())
}

fn test(context: &Context, id: &str) -> Result<Exit, Failure> {
    let out = &context.out;
    let test = context.client()?.test_webhook(id)?;
    if out.is_json() {
        out.json(&test)?;
        return Ok(match test.delivered {
            true => Exit::Ok,
            false => Exit::SomeFailed,
        });
    }
    if !test.delivered {
        let error = test.error.unwrap_or_default();
        return Err(
            Failure::new(Kind::Failed, format!("not delivered: {error}"))
                .advise("the server posts it, so the URL must be reachable from there"),
        );
    }
    let status = test.status.unwrap_or_default();
    out.done(format!(
        "delivered: answered with {status} in {}",
        millis(test.took_ms)
    ))?;
    Ok(Exit::Ok)
}
