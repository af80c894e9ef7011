//! `muster console`: a link that logs a browser in to the web console.

use api::{LoginCodeBody, LoginCodeCreated};
use serde_json::json;

use super::Context;
use crate::client::Path;
use crate::failure::{Exit, Failure};
use crate::format::{moment, now};

pub const EXAMPLES: &str = "\
Examples:
  muster console                       logs you in; on the server's machine, the first administrator
  muster console --user alice          for alice, who may have forgotten her password
  xdg-open \"$(muster console -q)\"

The link works once, within 15 minutes. A user gets one for themselves, an administrator for anyone.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Who is logged in by the link [default: you]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let out = &context.out;
    let client = context.client()?;
    let body = LoginCodeBody {
        user: args.user.clone(),
    };
    let made: LoginCodeCreated = client.post(&Path::new("login").join("code"), &body)?;
    let link = format!("{}{}", client.account().url, made.path);
    if out.is_document() {
        out.document(&json!({"link": link, "user": made.user, "expires_at": made.expires_at}))?;
        return Ok(Exit::Ok);
    }
    out.line(&link)?;
    out.note(format!(
        "logs a browser in as {}, once, until {}",
        made.user,
        moment(made.expires_at, now())
    ));
    Ok(Exit::Ok)
}
