//! `muster user`: people who can log in.

use std::io::{BufRead, IsTerminal, Read};

use api::{CreatedUser, UserBody, UserList};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::Context;
use super::grant::{self, GrantArgs, GrantScope, RevokeArgs};
use super::resource::USERS;
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure};
use crate::format::{age, now};
use crate::out::Out;
use crate::table::{Cell, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster user create alice                                a viewer of everything; asks for the password
  muster user create bob --role operator --business 2 --namespace gse
  pass show muster/alice | muster user create alice --password-stdin
  muster user grant alice --role operator --namespace web,db
  muster user revoke alice --role operator --namespace db
  muster user revoke alice                                keeps the user, who may do nothing
  muster user list
  muster user delete alice";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List the users
    #[command(after_help = EXAMPLES)]
    List,
    /// Make a user
    #[command(after_help = EXAMPLES)]
    Create(CreateArgs),
    /// Give a user a role
    #[command(after_help = EXAMPLES)]
    Grant {
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        grant: GrantArgs,
    },
    /// Take roles of a user back: all, or those named, or some of their places
    #[command(after_help = EXAMPLES)]
    Revoke {
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        revoke: RevokeArgs,
    },
    /// Remove a user, and end their logins
    #[command(after_help = EXAMPLES)]
    Delete {
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    #[arg(value_name = "NAME")]
    name: String,
    /// What they may do: viewer, operator or admin
    #[arg(long, value_name = "ROLE", default_value = "viewer", value_parser = ["viewer", "operator", "admin"])]
    role: String,
    #[command(flatten)]
    scope: GrantScope,
    /// Read the password from standard input instead of asking for it
    #[arg(long)]
    password_stdin: bool,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::List => USERS.list(
            context,
            "no users: muster user create NAME makes one",
            table,
        )?,
        Action::Create(args) => create(context, args)?,
        Action::Grant { name, grant } => grant::give(context, USERS, name, grant)?,
        Action::Revoke { name, revoke } => grant::revoke(context, USERS, name, revoke)?,
        Action::Delete { name, confirm } => USERS.delete(context, name, *confirm)?,
    }
    Ok(Exit::Ok)
}

fn table(list: UserList) -> TextTable {
    let now = now();
    let mut table = TextTable::new("USER|>AGE|~MAY");
    for row in list.users {
        table.row([
            Cell::from(row.name),
            age(row.created_at, now).into(),
            grant::in_words(&row.grants).into(),
        ]);
    }
    table
}

fn create(context: &Context, args: &CreateArgs) -> Result<(), Failure> {
    let out = &context.out;
    let body = UserBody {
        name: Some(args.name.clone()),
        password: Some(password(out, args)?),
        grants: Some(vec![args.scope.body(context, Some(&args.role))?]),
    };
    USERS.create(context, &body, |_: CreatedUser| {
        out.success(format!("created user {}", args.name))
    })
}

/// Not from the command line, where every user of the machine could read it.
fn password(out: &Out, args: &CreateArgs) -> Result<String, Failure> {
    let is_terminal = std::io::stdin().is_terminal();
    if args.password_stdin {
        return read_line();
    }
    if !is_terminal {
        return Err(
            Failure::usage("there is no terminal to ask for the password")
                .advise("pipe it in, with --password-stdin"),
        );
    }
    let password = ask(out, "password: ")?;
    match ask(out, "again: ")? == password {
        true => Ok(password),
        false => Err(Failure::usage("the two passwords differ")),
    }
}

/// Asks without showing what is typed.
fn ask(out: &Out, prompt: &str) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    let bad = |e: rustix::io::Errno| Failure::usage(format!("the terminal cannot be used: {e}"));
    let shown = tcgetattr(&stdin).map_err(bad)?;
    let mut hidden = shown.clone();
    // Ctrl-C is read as a character: if it ended the process, the terminal would stay without echo.
    let modes = LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    hidden.local_modes.remove(modes);
    tcsetattr(&stdin, OptionalActions::Flush, &hidden).map_err(bad)?;
    out.redraw(prompt);
    let typed = read_keys(&mut stdin.lock());
    let restored = tcsetattr(&stdin, OptionalActions::Flush, &shown).map_err(bad);
    out.redraw("");
    restored.and(typed)
}

/// The text that is typed until Enter.
fn read_keys(keys: &mut impl Read) -> Result<String, Failure> {
    let mut typed = Vec::new();
    let mut key = [0];
    loop {
        let n = keys.read(&mut key).map_err(unreadable)?;
        match key[0] {
            _ if n == 0 => return Err(Failure::usage("no password was given")),
            b'\r' | b'\n' => break,
            0x03 | 0x04 => return Err(Failure::usage("no password was given")), // Ctrl-C, Ctrl-D
            0x15 => typed.clear(),                                              // Ctrl-U
            0x7f | 0x08 => {
                // All bytes of the last character.
                while typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            byte => typed.push(byte),
        }
    }
    let typed =
        String::from_utf8(typed).map_err(|_| Failure::usage("the password must be UTF-8"))?;
    not_empty(&typed)
}

fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(unreadable)?;
    not_empty(line.trim_end_matches(['\n', '\r']))
}

fn not_empty(password: &str) -> Result<String, Failure> {
    match password {
        "" => Err(Failure::usage("the password is empty")),
        password => Ok(password.to_owned()),
    }
}

fn unreadable(error: std::io::Error) -> Failure {
    Failure::usage(format!("the password cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_spell_a_password_until_enter() {
        let typed = |keys: &str| read_keys(&mut keys.as_bytes()).map_err(|e| e.to_string());
        assert_eq!(typed("secret\rmore"), Ok("secret".into()));
        assert_eq!(typed("sx\u{7f}é业\u{7f}\u{7f}ecret\n"), Ok("secret".into()));
        assert_eq!(typed("wrong\u{15}right\r"), Ok("right".into()));
        assert!(typed("abc\u{3}").is_err());
        assert!(typed("\r").is_err());
        assert!(typed("abc").is_err());
    }
}
