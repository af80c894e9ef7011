//! `muster logins`: where the user is logged in.

use api::LoginList;
use serde_json::json;

use super::Context;
use crate::client::{Client, Path};
use crate::colors::Style;
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure};
use crate::format::{age, clean, counted, now};
use crate::table::{Cell, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster logins                                           where you are logged in
  muster logins end 3f9a61c2d4e5b607                      ends one of them
  muster logins -o json | jq -r '.logins[] | select(.current | not).id'

Your own logins: in browsers, command lines and programs. It needs a login (muster login). muster passwd
ends all others at once.";

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// End some of your logins; their tokens do not work any more
    #[command(after_help = EXAMPLES)]
    End {
        /// As the list shows them
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    if client.account().login.is_none() {
        return Err(Failure::usage("only a user who is logged in has logins")
            .advise("log in first: muster login"));
    }
    match &args.action {
        None => list(context, &client)?,
        Some(Action::End { ids, confirm }) => end(context, &client, ids, *confirm)?,
    }
    Ok(Exit::Ok)
}

fn list(context: &Context, client: &Client) -> Result<(), Failure> {
    let out = &context.out;
    let response = client.get(&Path::new("me/logins"))?;
    out.response(response, |list: LoginList| {
        let now = now();
        let mut table = TextTable::new("ID|FROM|>AGE|EXPIRES|CURRENT|~PROGRAM");
        for login in list.logins {
            let current = match login.current {
                true => Cell::styled(Style::Good, "this one"),
                false => Cell::from(""),
            };
            table.row([
                Cell::from(login.id),
                login.from.into(),
                age(login.created_at, now).into(),
                format!("in {}", age(now, login.expires_at)).into(),
                current,
                login.user_agent.into(),
            ]);
        }
        out.table_or(&table, "no logins")
    })
}

fn end(
    context: &Context,
    client: &Client,
    ids: &[String],
    confirm: ConfirmArgs,
) -> Result<(), Failure> {
    confirm.ask(&format!("end {}", counted(ids.len(), "login")))?;
    for id in ids {
        client.delete::<serde::de::IgnoredAny>(&Path::new("me/logins").join(id))?;
    }
    let ended = ids.iter().map(|id| clean(id)).collect::<Vec<_>>();
    context.out.result(
        &json!({"ended": ids}),
        format!("ended {}", ended.join(", ")),
    )
}
