//! `muster app`: programs that may call the API.

use api::{AppBody, AppList, CreatedApp};

use super::Context;
use super::grant::{self, GrantArgs, GrantScope, RevokeArgs};
use super::resource::APPS;
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure};
use crate::format::{age, now, yes_no};
use crate::input::read_text;
use crate::table::{Cell, TextTable};

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

The secret is shown once, when the app is created. An app together with a user who is
logged in may do what both may. A trusted app names its user, whose roles do not count. The CLI
needs no trusted app: MUSTER_APP_CODE and MUSTER_APP_SECRET are enough.";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List the apps
    #[command(after_help = EXAMPLES)]
    List,
    /// Make an app, and show its secret
    #[command(after_help = EXAMPLES)]
    Create(CreateArgs),
    /// Grant a role to an app
    #[command(after_help = EXAMPLES)]
    Grant {
        #[arg(value_name = "CODE")]
        code: String,
        #[command(flatten)]
        grant: GrantArgs,
    },
    /// Revoke roles of an app: all, one role, or a role in some namespaces or businesses
    #[command(after_help = EXAMPLES)]
    Revoke {
        #[arg(value_name = "CODE")]
        code: String,
        #[command(flatten)]
        revoke: RevokeArgs,
    },
    /// Delete an app: the server refuses its requests from now on
    #[command(after_help = EXAMPLES)]
    Delete {
        #[arg(value_name = "CODE")]
        code: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
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
    scope: GrantScope,
    /// May name its user without a login; needed for GSE clients that send bk_username, not for the CLI
    #[arg(long)]
    trusted: bool,
    /// Requests per second; 0: no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    rate_limit: u32,
    /// Read the secret from standard input instead of generating one
    #[arg(long)]
    secret_stdin: bool,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::List => APPS.list(context, "no apps: muster app create makes one", table)?,
        Action::Create(args) => create(context, args)?,
        Action::Grant { code, grant } => grant::give(context, APPS, code, grant)?,
        Action::Revoke { code, revoke } => grant::revoke(context, APPS, code, revoke)?,
        Action::Delete { code, confirm } => APPS.delete(context, code, *confirm)?,
    }
    Ok(Exit::Ok)
}

fn table(list: AppList) -> TextTable {
    let now = now();
    let mut table = TextTable::new("APP|TRUSTED|>REQUESTS/S|>AGE|~MAY");
    for row in list.apps {
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
    table
}

fn create(context: &Context, args: &CreateArgs) -> Result<(), Failure> {
    let secret = args.secret_stdin.then(read_secret).transpose()?;
    // Without role and scope the server decides, by whether the app is trusted.
    let role = match (&args.role, args.scope.is_everything()) {
        (Some(role), _) => Some(role.as_str()),
        (None, false) => Some("operator"),
        (None, true) => None,
    };
    let body = AppBody {
        code: Some(args.code.clone()),
        secret,
        grants: match role {
            Some(role) => Some(vec![args.scope.body(context, Some(role))?]),
            None => None,
        },
        trusted: Some(args.trusted),
        rate_limit: Some(args.rate_limit.into()),
        ..AppBody::default()
    };
    let out = &context.out;
    APPS.create(context, &body, |created: CreatedApp| {
        out.line(format!("MUSTER_APP_CODE={}", created.code))?;
        out.line(format!("MUSTER_APP_SECRET={}", created.secret))?;
        out.note("the secret is not shown again");
        Ok(())
    })
}

/// The first line of standard input.
pub(super) fn read_secret() -> Result<String, Failure> {
    let text = read_text("-", 4096)
        .map_err(|e| Failure::usage(format!("--secret-stdin: cannot be read: {e}")))?;
    match text.lines().next().unwrap_or_default().trim() {
        "" => Err(Failure::usage("--secret-stdin: standard input is empty")),
        secret => Ok(secret.to_owned()),
    }
}
