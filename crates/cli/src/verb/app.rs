//! `muster app`: programs that may call the API.

use std::io::Read;

use serde_json::json;

use super::grant::{self, GrantArgs, GrantBody, Places, RevokeArgs};
use super::{Context, rows};
use crate::client::{AppRow, CreatedApp, NewApp};
use crate::failure::{Exit, Failure};
use crate::show::{age, now, yes_no};
use crate::table::{Cell, Column, Table};

pub const EXAMPLES: &str = "\
Examples:
  muster app list
  muster app create deployer --namespace web,db --rate-limit 50
  muster app create dashboard --role viewer --business 2  sees business 2, and changes nothing
  muster app create gsekit --trusted                      may name its users; may do everything
  pass show muster/ci | muster app create ci --secret-stdin
  muster app grant deployer --role operator --namespace cache
  muster app revoke deployer --namespace db               keeps its other namespaces
  muster app delete deployer

The secret is shown once, when the app is created. An app and the user who is logged in at it
may do what both may; an app that is trusted names its user, and its own role counts.";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List the apps
    #[command(after_help = EXAMPLES)]
    List,
    /// Make an app, and show its secret
    #[command(after_help = EXAMPLES)]
    Create(CreateArgs),
    /// Give an app a role
    #[command(after_help = EXAMPLES)]
    Grant {
        #[arg(value_name = "CODE")]
        code: String,
        #[command(flatten)]
        grant: GrantArgs,
    },
    /// Take roles of an app back: all, or those named, or some of their places
    #[command(after_help = EXAMPLES)]
    Revoke {
        #[arg(value_name = "CODE")]
        code: String,
        #[command(flatten)]
        revoke: RevokeArgs,
    },
    /// Remove an app: its calls are refused from now on
    #[command(after_help = EXAMPLES)]
    Delete {
        #[arg(value_name = "CODE")]
        code: String,
    },
}

#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// What it is called
    #[arg(value_name = "CODE")]
    code: String,
    /// What it may do: viewer, operator or admin [default: operator; admin if it is trusted everywhere]
    #[arg(long, value_name = "ROLE", value_parser = ["viewer", "operator", "admin"])]
    role: Option<String>,
    #[command(flatten)]
    places: Places,
    /// May name its user without a login
    #[arg(long)]
    trusted: bool,
    /// Requests per second; 0: no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    rate_limit: u32,
    /// Read the secret from standard input instead of making one up
    #[arg(long)]
    secret_stdin: bool,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::List => list(context)?,
        Action::Create(args) => create(context, args)?,
        Action::Grant { code, grant } => grant::give(context, "apps", code, grant)?,
        Action::Revoke { code, revoke } => grant::take(context, "apps", code, revoke)?,
        Action::Delete { code } => {
            context.client()?.remove("apps", code)?;
            let document = json!({"code": code, "deleted": true});
            context.out.did(&document, format!("deleted app {code}"))?;
        }
    }
    Ok(Exit::Ok)
}

fn list(context: &Context) -> Result<(), Failure> {
    let out = &context.out;
    let answer = context.client()?.list("apps")?;
    if out.is_json() {
        return out.json(&answer);
    }
    let now = now();
    let mut table = Table::new([
        Column::text("APP"),
        Column::text("TRUSTED"),
        Column::number("REQUESTS/S"),
        Column::number("AGE"),
        Column::elastic("MAY"),
    ]);
    for row in rows::<AppRow>(&answer, "apps")? {
        let rate = match row.rate_limit {
            0 => "no limit".to_owned(),
            rate => rate.to_string(),
        };
        table.row([
            Cell::from(row.code),
            yes_no(row.trusted).into(),
            rate.into(),
            age(row.created_at, now).into(),
            grant::in_words(&row.grants).into(),
        ]);
    }
    out.table(&table)
}

fn create(context: &Context, args: &CreateArgs) -> Result<(), Failure> {
    let secret = match args.secret_stdin {
        true => Some(read_secret()?),
        false => None,
    };
    // Without a word on it the server decides, by whether the app is trusted.
    let has_places = !(args.places.namespace.is_empty() && args.places.business.is_empty());
    let role = match (&args.role, has_places) {
        (Some(role), _) => Some(role.as_str()),
        (None, true) => Some("operator"),
        (None, false) => None,
    };
    let grants = role.map(|role| [GrantBody::new(Some(role), &args.places)]);
    let new = NewApp {
        code: args.code.clone(),
        secret,
        grants,
        trusted: args.trusted,
        rate_limit: args.rate_limit,
    };
    let created: CreatedApp = context.client()?.create("apps", &new)?;
    let out = &context.out;
    if out.is_json() {
        return out.json(&created);
    }
    out.line(format!("MUSTER_APP_CODE={}", created.code))?;
    out.line(format!("MUSTER_APP_SECRET={}", created.secret))?;
    out.note("the secret is not shown again");
    Ok(())
}

/// One line of standard input, without its end.
pub(super) fn read_secret() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .take(4096)
        .read_to_string(&mut text)
        .map_err(|e| Failure::usage(format!("--secret-stdin: cannot be read: {e}")))?;
    match text.lines().next().unwrap_or_default().trim() {
        "" => Err(Failure::usage("--secret-stdin: standard input is empty")),
        secret => Ok(secret.to_owned()),
    }
}
