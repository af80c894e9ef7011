//! `muster webhook`: receivers of events.

use api::{CreatedWebhook, WebhookBody, WebhookList, WebhookTest};
use clap::builder::PossibleValuesParser;
use model::event::EventKind;
use serde_json::json;

use super::Context;
use super::app::read_secret;
use super::resource::WEBHOOKS;
use crate::colors::Style;
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure, Kind};
use crate::format::{age, count, millis, now};
use crate::processes::parse_selector;
use crate::table::{Cell, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster webhook list
  muster webhook create http://10.0.0.9:8080/muster
  muster webhook create http://pager/hook -n web,db -k process_cancel_restart
  muster webhook create http://pager/hook -l tier=front,env!=test
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
    /// Delete a webhook: it gets no more events
    #[command(after_help = EXAMPLES)]
    Delete {
        /// As `muster webhook list` shows it
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
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
    /// Only events of processes with these labels: tier=front,zone!=b,env in (a,b),!old [default: all]
    #[arg(short = 'l', long, visible_alias = "selector", value_name = "LABELS", value_parser = parse_selector)]
    label: Option<String>,
    /// Read the secret from standard input instead of generating one
    #[arg(long)]
    secret_stdin: bool,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    let hint = "no webhooks: muster webhook create makes one";
    match action {
        Action::List => WEBHOOKS.list(context, hint, table)?,
        Action::Create(args) => create(context, args)?,
        Action::Delete { id, confirm } => WEBHOOKS.delete(context, id, *confirm)?,
        Action::Test { id } => return test(context, id),
    }
    Ok(Exit::Ok)
}

fn table(list: WebhookList) -> TextTable {
    let now = now();
    let mut table = TextTable::new("ID|~URL|~NAMESPACES|~KINDS|~LABELS|>AGE|>DELIVERED|~STATE");
    for row in list.webhooks {
        let namespaces = row
            .namespaces
            .map_or("all".to_owned(), |list| list.join(","));
        let kinds = row.kinds.map_or("all".to_owned(), |list| list.join(","));
        let state = match (row.failing_since, row.last_error) {
            (Some(since), error) => {
                let (since, error) = (age(since, now), error.unwrap_or_default());
                Cell::styled(Style::Bad, format!("failing for {since}: {error}"))
            }
            (None, _) => Cell::styled(Style::Good, "ok"),
        };
        table.row([
            Cell::from(row.id),
            row.url.into(),
            namespaces.into(),
            kinds.into(),
            row.label.unwrap_or_else(|| "all".to_owned()).into(),
            age(row.created_at, now).into(),
            count(row.delivered).into(),
            state,
        ]);
    }
    table
}

fn create(context: &Context, args: &CreateArgs) -> Result<(), Failure> {
    let some = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    let body = WebhookBody {
        url: Some(args.receiver.clone()),
        namespaces: some(&args.namespace),
        kinds: some(&args.kind),
        label: args.label.clone(),
        secret: args.secret_stdin.then(read_secret).transpose()?,
    };
    let out = &context.out;
    WEBHOOKS.create(context, &body, |created: CreatedWebhook| {
        out.line(format!("MUSTER_WEBHOOK_ID={}", created.id))?;
        out.line(format!("MUSTER_WEBHOOK_SECRET={}", created.secret))?;
        out.note(format!(
            "the secret is not shown again; muster webhook test {} tries it",
            created.id
        ));
        Ok(())
    })
}

fn test(context: &Context, id: &str) -> Result<Exit, Failure> {
    let out = &context.out;
    let path = WEBHOOKS.path().join(id).join("test");
    let test: WebhookTest = context.client()?.post(&path, &json!({}))?;
    if out.is_document() {
        out.document(&test)?;
        return Ok(Exit::some_failed(!test.delivered));
    }
    if !test.delivered {
        let error = test.error.unwrap_or_default();
        return Err(
            Failure::new(Kind::Failed, format!("not delivered: {error}"))
                .advise("the server posts it, so the URL must be reachable from there"),
        );
    }
    let status = test.status.unwrap_or_default();
    out.success(format!(
        "delivered: answered with {status} in {}",
        millis(test.took_ms)
    ))?;
    Ok(Exit::Ok)
}
