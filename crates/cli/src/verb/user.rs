//! `muster user`: people who can log in.

use std::io::{BufRead, IsTerminal};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde::Serialize;
use serde::de::IgnoredAny;

use super::{Context, rows};
use crate::client::UserRow;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::show::{age, now};
use crate::table::{Cell, Column, Table};

pub const EXAMPLES: &str = "\
Examples:
  muster user create alice                                asks for the password
  pass show muster/alice | muster user create alice --password-stdin
  muster user list
  muster user delete alice";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List the users
    List,
    /// Make a user
    Create(CreateArgs),
    /// Remove a user, and end their logins
    Delete {
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    #[arg(value_name = "NAME")]
    name: String,
    /// Read the password from standard input instead of asking for it
    #[arg(long)]
    password_stdin: bool,
}

#[derive(Serialize)]
struct NewUser<'a> {
    name: &'a str,
    password: String,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    let out = &context.out;
    match action {
        Action::List => list(context)?,
        Action::Create(args) => {
            let client = context.client()?;
            let new = NewUser {
                name: &args.name,
                password: password(out, args)?,
            };
            client.create::<IgnoredAny>("users", &new)?;
            out.done(format!("created user {}", args.name))?;
        }
        Action::Delete { name } => {
            context.client()?.remove("users", name)?;
            out.done(format!("deleted user {name}"))?;
        }
    }
    Ok(Exit::Ok)
}

fn list(context: &Context) -> Result<(), Failure> {
    let out = &context.out;
    let answer = context.client()?.list("users")?;
    if out.is_json() {
        return out.json(&answer);
    }
    let now = now();
    let mut table = Table::new([Column::text("USER"), Column::number("AGE")]);
    for row in rows::<UserRow>(&answer, "users")? {
        table.row([Cell::from(row.name), age(row.created_at, now).into()]);
    }
    match table.is_empty() {
        true => out.note("no users: muster user create NAME makes one"),
        false => out.table(&table)?,
    }
    Ok(())
}

/// Never from the command line, where every user of the machine could read it.
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
    let shown = tcgetattr(&stdin)
        .map_err(|e| Failure::usage(format!("the terminal cannot be used: {e}")))?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    out.redraw(prompt);
    let _still_shown = tcsetattr(&stdin, OptionalActions::Flush, &hidden);
    let line = read_line();
    let _stays_hidden = tcsetattr(&stdin, OptionalActions::Flush, &shown);
    out.redraw("");
    line
}

fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|e| Failure::usage(format!("the password cannot be read: {e}")))?;
    match line.trim_end_matches(['\n', '\r']) {
        "" => Err(Failure::usage("the password is empty")),
        password => Ok(password.to_owned()),
    }
}
