//! `muster whoami`: the server, the user or app that calls it, and their roles.

use api::{GrantRow, WhoAmI};
use serde_json::{Value, json};

use super::{Context, grant};
use crate::client::{Path, read};
use crate::failure::{Exit, Failure};
use crate::format::{clean, moment, now};
use crate::table::FieldList;

pub const EXAMPLES: &str = "\
Examples:
  muster whoami
  muster whoami --context prod
  muster whoami -o json | jq '.user.expires_at'

Where an app and a user call together, they may do what both may.";

#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _args: &Args) -> Result<Exit, Failure> {
    let out = &context.out;
    let client = context.client()?;
    let response: Value = client.get(&Path::new("whoami"))?;
    let account = client.account();
    let from = match (&account.login, &account.app) {
        (Some(login), None) => login.from.clone(),
        (None, Some(app)) => app.from.clone(),
        (Some(login), Some(app)) => format!("{}, {}", login.from, app.from),
        (None, None) => String::new(),
    };
    if out.is_document() {
        out.document(&json!({
            "server": account.url,
            "server_from": account.url_from,
            "context": account.context,
            "credentials_from": from,
            "app": response["app"],
            "user": response["user"],
        }))?;
        return Ok(Exit::Ok);
    }
    let caller: WhoAmI = read(response)?;
    let mut fields = FieldList::default();
    let server = format!("{} (from {})", account.url, account.url_from);
    fields.put("server", &clean(&server));
    fields.put("context", account.context.as_deref().unwrap_or("none"));
    fields.put("credentials", &clean(&format!("from {from}")));
    if let Some(app) = &caller.app {
        let trusted = match app.trusted {
            true => " (trusted: may name its user)",
            false => "",
        };
        fields.put("app", &clean(&format!("{}{trusted}", app.code)));
        fields.put("roles of the app", &roles(&app.grants));
    }
    if let Some(user) = &caller.user {
        let login = match user.expires_at {
            Some(at) => format!("logged in until {}", moment(at, now())),
            None => "named by the app, whose roles count".to_owned(),
        };
        fields.put("user", &clean(&format!("{}, {login}", user.name)));
        if let Some(grants) = &user.grants {
            fields.put("roles of the user", &roles(grants));
        }
    }
    out.text(&fields.render())?;
    Ok(Exit::Ok)
}

fn roles(grants: &[GrantRow]) -> String {
    match grants.is_empty() {
        true => "none: an admin can grant one".to_owned(),
        false => clean(&grant::in_words(grants)),
    }
}
