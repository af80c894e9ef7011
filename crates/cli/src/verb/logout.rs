//! `muster logout`: ends the login on the server, and forgets its token.

use serde_json::json;

use super::{Context, environment};
use crate::client::Client;
use crate::contexts;
use crate::failure::{Exit, Failure, Kind};
use crate::format::moment;

pub const EXAMPLES: &str = "\
Examples:
  muster logout                                   the login of the context in use
  muster logout --context prod

The context stays, without its token: muster login makes a new one.";

#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _args: &Args) -> Result<Exit, Failure> {
    let out = &context.out;
    let account = context.account()?;
    let url = account.url.clone();
    let Some(login) = account.login.clone() else {
        let what = match &account.app {
            Some(app) => format!(
                "not logged in to {url}: app {} (from {}) calls there",
                app.code, app.from
            ),
            None => format!("not logged in to {url}"),
        };
        out.result(&json!({"server": url, "logged_out": false}), what)?;
        return Ok(Exit::Ok);
    };
    let saved_in = account.context.clone();
    let saved_in = saved_in.filter(|name| login.from == format!("context {name}"));
    let ended = Client::new(account)?.log_out();
    ended.map_err(|failure| match (&saved_in, failure.kind) {
        (Some(name), Kind::Unreachable) => {
            let until = login.expires_at.map_or_else(String::new, |at| {
                format!(" until {}", moment(at, crate::format::now()))
            });
            failure.advise(format!(
                "the token is kept, and valid{until}; muster context remove {name} forgets it here"
            ))
        }
        _ => failure,
    })?;
    let who = match &login.user {
        Some(user) => format!("{user} is"),
        None => "you are".to_owned(),
    };
    match saved_in {
        Some(name) => contexts::change(&environment, |contexts| {
            if let Some(saved) = contexts.contexts.get_mut(&name)
                && saved.token.as_ref() == Some(&login.token)
            {
                (saved.token, saved.expires_at) = (None, None);
            }
            Ok(())
        })?,
        None => out.note("unset MUSTER_TOKEN: its token is no longer valid"),
    }
    out.result(
        &json!({"server": url, "logged_out": true, "user": login.user}),
        format!("{who} logged out of {url}"),
    )?;
    Ok(Exit::Ok)
}
