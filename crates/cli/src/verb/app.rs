//! `muster app`: programs that may call the API.

use std::io::Read;

use serde_json::json;

use super::{Context, rows};
use crate::client::{AppRow, CreatedApp, NewApp};
use crate::failure::{Exit, Failure};
use crate::show::{age, now, yes_no};
use crate::table::{Cell, Column, Table};

pub const EXAMPLES: &str = "\
Examples:
  muster app list
  muster app create deployer --namespace web,db --rate-limit 50
  muster app create gsekit --trusted                      may name its users; may do everything
  pass show muster/ci | muster app create ci --secret-stdin
  muster app delete deployer

The secret is shown once, when the app is created.";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List the apps
    #[command(after_help = EXAMPLES)]
    List,
    /// Make an app, and show its secret
    #[command(after_help = EXAMPLES)]
    Create(CreateArgs),
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
    /// Namespaces that it may touch, separated by commas [default: all]
    #[arg(short, long, value_name = "NAMESPACE", value_delimiter = ',')]
    namespace: Vec<String>,
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
        Column::elastic("NAMESPACES"),
    ]);
    for row in rows::<AppRow>(&answer, "apps")? {
        let rate = match row.rate_limit {
            0 => "no limit".to_owned(),
            rate => rate.to_string(),
        };
        let namespaces = row
            .namespaces
            .map_or_else(|| "all".to_owned(), |names| names.join(","));
        table.row([
            Cell::from(row.code),
            yes_no(row.trusted).into(),
            rate.into(),
            age(row.created_at, now).into(),
            namespaces.into(),
        ]);
    }
    out.table(&table)
}

fn create(context: &Context, args: &CreateArgs) -> Result<(), Failure> {
    let secret = match args.secret_stdin {
        true => Some(read_secret()?),
        false => None,
    };
    let new = NewApp {
        code: args.code.clone(),
        secret,
        namespaces: (!args.namespace.is_empty()).then(|| args.namespace.clone()),
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
