//! `muster passwd`: changes the password of the user who is logged in.

use api::PasswordBody;
use serde_json::json;

use super::Context;
use crate::client::Path;
use crate::failure::{Exit, Failure};
use crate::password;

pub const EXAMPLES: &str = "\
Examples:
  muster passwd                                      asks for the old password and twice for the new one
  printf '%s\\n%s\\n' \"$OLD\" \"$NEW\" | muster passwd --password-stdin

All other logins of the user end; this one stays. It needs a login (muster login): an app has no
password.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Read the old password and then the new one from standard input, a line each
    #[arg(long)]
    password_stdin: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let (client, out) = (context.client()?, &context.out);
    if client.account().login.is_none() {
        return Err(
            Failure::usage("only a user who is logged in has a password")
                .advise("log in first: muster login"),
        );
    }
    let (old, new) = match args.password_stdin {
        true => password::two_from_stdin()?,
        false => {
            password::check_terminal()?;
            let old = password::ask(out, "old password: ")?;
            let new = password::ask(out, "new password: ")?;
            if password::ask(out, "new password again: ")? != new {
                return Err(
                    Failure::usage("the new passwords differ").advise("nothing was changed")
                );
            }
            (old, new)
        }
    };
    let body = PasswordBody {
        old: Some(old),
        new: Some(new),
    };
    client.post::<serde::de::IgnoredAny>(&Path::new("me/password"), &body)?;
    out.result(
        &json!({"changed": true}),
        "the password is changed; all other logins have ended".to_owned(),
    )?;
    Ok(Exit::Ok)
}
