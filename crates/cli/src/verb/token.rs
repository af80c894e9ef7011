//! `muster token`: tokens that let new agents join.

use std::net::IpAddr;
use std::time::Duration;

use api::{CreatedToken, Scalar, TokenBody, TokenList};
use model::{Host, UnixMillis};

use super::Context;
use super::resource::TOKENS;
use crate::colors::Style;
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure};
use crate::format::{age, moment, now, parse_duration, yes_no};
use crate::table::{Cell, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster token create --expires-in 24h                    for any host, for a day
  muster token create --host 10.0.0.7 --expires 1h --uses 1
                                                          for this host alone, once, within the hour
  muster token create --host 10.0.0.7 --expires 1h --uses 1 --replace
                                                          the host was reinstalled: the new agent takes the
                                                          place of the one that was connected until now
  muster token list
  muster token delete ID

Prints the token, and the line that makes a machine a host (run it there, as root):
  curl -fsS http://SERVER:7100/install.sh | sh -s -- --token TOKEN
With -o json that line is the field install.";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List the tokens
    #[command(after_help = EXAMPLES)]
    List,
    /// Make a token, and show it
    #[command(after_help = EXAMPLES)]
    Create(CreateArgs),
    /// Delete a token: no agent can join with it any more; agents that joined stay connected
    #[command(after_help = EXAMPLES)]
    Delete {
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Valid for this host alone: IP or CLOUD:IP
    #[arg(short = 'H', long, value_name = "HOST")]
    host: Option<Host>,
    /// How long it is valid (30m, 24h, 7d) [default: for ever]
    #[arg(long, visible_alias = "expires", value_name = "DURATION", value_parser = parse_duration)]
    expires_in: Option<Duration>,
    /// How many agents may join with it [default: any number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    uses: Option<u32>,
    /// An agent that joins with it takes the place of one that is connected, or was within the last ten minutes; without
    /// this it is refused until then. Best with --host and --uses 1: such a token can replace any agent
    #[arg(long)]
    replace: bool,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::List => TOKENS.list(context, "no tokens: muster token create makes one", table)?,
        Action::Create(args) => create(context, args)?,
        Action::Delete { id, confirm } => TOKENS.delete(context, id, *confirm)?,
    }
    Ok(Exit::Ok)
}

fn table(list: TokenList) -> TextTable {
    let now = now();
    let mut table = TextTable::new("ID|HOST|>AGE|EXPIRES|JOINS LEFT|REPLACES");
    for row in list.tokens {
        let expires = match row.expires_at {
            UnixMillis::NEVER => Cell::from("never"),
            at if at <= now => Cell::styled(Style::Warn, format!("{} ago", age(at, now))),
            at => format!("in {}", age(now, at)).into(),
        };
        let joins = row.uses_left.map_or("any".to_owned(), |n| n.to_string());
        table.row([
            Cell::from(row.id),
            row.host.unwrap_or_else(|| "any".to_owned()).into(),
            age(row.created_at, now).into(),
            expires,
            joins.into(),
            yes_no(row.replace).into(),
        ]);
    }
    table
}

fn create(context: &Context, args: &CreateArgs) -> Result<(), Failure> {
    let lives = args.expires_in.map(|lives| format!("{}s", lives.as_secs()));
    let body = TokenBody {
        host: args.host.map(|host| host.to_string()),
        expires_in: lives.map(|lives| lives.as_str().into()),
        uses: args.uses.map(|uses| Scalar::Int(uses.into())),
        replace: args.replace.then_some(true),
    };
    let out = &context.out;
    TOKENS.create(context, &body, |created: CreatedToken| {
        out.line(&created.token)?;
        if created.expires_at != UnixMillis::NEVER {
            out.note(format!("valid until {}", moment(created.expires_at, now())));
        }
        out.note(format!(
            "it is not shown again; muster token delete {} takes it back",
            created.id
        ));
        if let Some(line) = &created.install {
            out.note(format!("on the new host, as root:\n  {line}"));
            if let Some(loopback) = loopback_in(line) {
                out.note(format!(
                    "other machines need the address of this one in place of {loopback}, and a server that listens there (--http and --agents)"
                ));
            }
        }
        Ok(())
    })
}

/// The name of this machine in the line, if other machines cannot use it.
fn loopback_in(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("://")?;
    let (authority, _) = rest.split_once('/')?;
    let name = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next()?,
        None => authority.split(':').next()?,
    };
    let is_loopback = name.parse::<IpAddr>().map_or_else(
        |_| name.eq_ignore_ascii_case("localhost"),
        |ip| ip.is_loopback(),
    );
    is_loopback.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_this_machine_alone_is_recognised() {
        let found = |authority: &str| {
            let line = format!("curl -fsS http://{authority}/install.sh | sh -s -- --token x");
            loopback_in(&line).map(str::to_owned)
        };
        assert_eq!(found("127.0.0.1:7100").as_deref(), Some("127.0.0.1"));
        assert_eq!(found("localhost").as_deref(), Some("localhost"));
        assert_eq!(found("[::1]:7100").as_deref(), Some("::1"));
        for other in ["10.0.0.1:7100", "muster.example.org", "[2001:db8::1]:7100"] {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
