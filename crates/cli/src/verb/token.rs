//! `muster token`: tokens that let new agents join.

use std::time::Duration;

use model::{Host, UnixMillis};
use serde::Serialize;
use serde_json::json;

use super::{Context, rows};
use crate::client::{CreatedToken, TokenRow};
use crate::failure::{Exit, Failure};
use crate::show::{age, moment, now, parse_duration};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

pub const EXAMPLES: &str = "\
Examples:
  muster token create --expires-in 24h                    for any host, for a day
  muster token create --host 10.0.0.7 --expires 1h --uses 1
                                                          for this host alone, once, within the hour
  muster token create --host 10.0.0.7 --expires 1h --uses 1 --replace
                                                          the host was installed anew: the new agent takes the
                                                          place of the one that was connected until now
  muster token list
  muster token delete ID

On the new host: MUSTER_JOIN_TOKEN=… muster agent --server SERVER:7101 --ip 10.0.0.7";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List the tokens
    #[command(after_help = EXAMPLES)]
    List,
    /// Make a token, and show it
    #[command(after_help = EXAMPLES)]
    Create(CreateArgs),
    /// Remove a token: nobody joins with it from now on; agents that did stay
    #[command(after_help = EXAMPLES)]
    Delete {
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Good for this host alone: IP or CLOUD:IP
    #[arg(short = 'H', long, value_name = "HOST")]
    host: Option<Host>,
    /// How long it is good (30m, 24h, 7d) [default: for ever]
    #[arg(long, visible_alias = "expires", value_name = "DURATION", value_parser = parse_duration)]
    expires_in: Option<Duration>,
    /// How many agents may join with it [default: any number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    uses: Option<u32>,
    /// An agent that joins with it takes the place of one that is connected, or was within the last ten minutes; without
    /// this it is refused until then. Best with --host and --uses 1: whoever has such a token can push any agent aside
    #[arg(long)]
    replace: bool,
}

#[derive(Serialize)]
struct NewToken {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<Host>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uses: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replace: bool,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::List => list(context)?,
        Action::Create(args) => create(context, args)?,
        Action::Delete { id } => {
            context.client()?.remove("tokens", id)?;
            let document = json!({"id": id, "deleted": true});
            context.out.did(&document, format!("deleted token {id}"))?;
        }
    }
    Ok(Exit::Ok)
}

fn list(context: &Context) -> Result<(), Failure> {
    let out = &context.out;
    let answer = context.client()?.list("tokens")?;
    if out.is_json() {
        return out.json(&answer);
    }
    let now = now();
    let mut table = Table::new([
        Column::text("ID"),
        Column::text("HOST"),
        Column::number("AGE"),
        Column::text("EXPIRES"),
        Column::text("JOINS LEFT"),
        Column::text("REPLACES"),
    ]);
    for row in rows::<TokenRow>(&answer, "tokens")? {
        let expires = match row.expires_at {
            UnixMillis::NEVER => Cell::from("never"),
            at if at <= now => Cell::toned(Tone::Warn, format!("{} ago", age(at, now))),
            at => format!("in {}", age(now, at)).into(),
        };
        table.row([
            Cell::from(row.id),
            row.host.unwrap_or_else(|| "any".to_owned()).into(),
            age(row.created_at, now).into(),
            expires,
            match row.uses_left {
                Some(n) => n.to_string().into(),
                None => Cell::from("any"),
            },
            Cell::from(match row.replace {
                true => "yes",
                false => "no",
            }),
        ]);
    }
    match table.is_empty() {
        true => out.note("no tokens: muster token create makes one"),
        false => out.table(&table)?,
    }
    Ok(())
}

fn create(context: &Context, args: &CreateArgs) -> Result<(), Failure> {
    let new = NewToken {
        host: args.host,
        expires_in: args.expires_in.map(|lives| format!("{}s", lives.as_secs())),
        uses: args.uses,
        replace: args.replace,
    };
    let created: CreatedToken = context.client()?.create("tokens", &new)?;
    let out = &context.out;
    if out.is_json() {
        return out.json(&created);
    }
    out.line(&created.token)?;
    if created.expires_at != UnixMillis::NEVER {
        out.note(format!("good until {}", moment(created.expires_at, now())));
    }
    out.note(format!(
        "it is not shown again; muster token delete {} takes it back",
        created.id
    ));
    Ok(())
}
