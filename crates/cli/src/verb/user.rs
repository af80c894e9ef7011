//! `muster user`: people who can log in.

use api::{CreatedUser, UserBody, UserList};

use super::Context;
use super::grant::{self, GrantArgs, GrantScope, RevokeArgs};
use super::resource::USERS;
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure};
use crate::format::{age, now};
use crate::out::Out;
use crate::password;
use crate::table::{Cell, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster user create alice                                a viewer of everything; asks for the password
  muster user create bob --role operator --business 2 --namespace gse
  pass show muster/alice | muster user create alice --password-stdin
  muster user grant alice --role operator --namespace web,db
  muster user grant carol --role operator --label tier=front
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
    /// Grant a role to a user
    #[command(after_help = EXAMPLES)]
    Grant {
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        grant: GrantArgs,
    },
    /// Revoke roles of a user: all, one role, or a role in some namespaces or businesses
    #[command(after_help = EXAMPLES)]
    Revoke {
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        revoke: RevokeArgs,
    },
    /// Delete a user, and end their logins
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

fn password(out: &Out, args: &CreateArgs) -> Result<String, Failure> {
    if args.password_stdin {
        return password::from_stdin();
    }
    password::check_terminal()?;
    let typed = password::ask(out, "password: ")?;
    match password::ask(out, "again: ")? == typed {
        true => Ok(typed),
        false => Err(Failure::usage("the two passwords differ")),
    }
}
