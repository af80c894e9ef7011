//! `muster timeline`: what happened to a process or a host, and who asked for it.

use std::time::Duration;

use api::{TimelineList, TimelineRow};
use clap::builder::PossibleValuesParser;
use model::{FullName, Host};

use super::Context;
use crate::client::{Path, not_as_expected};
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::format::{clean, parse_duration, user_and_app};
use crate::table::{Cell, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster timeline web/nginx                               on all hosts
  muster timeline web/nginx --host 10.0.0.1               with the comings and goings of its agent
  muster timeline --host 10.0.0.1 --since 1h              everything on a host
  muster timeline web/nginx --kind operation              who started and stopped it
  muster timeline web/nginx -o json | jq -r '.entries[] | [.at, .code, .user] | @tsv'

The newest first: events, operations and who asked for them, agents that came and went, specs, config
files, health. Kept for 30 days. Times are UTC.";

const MAX_LIMIT: u16 = 1000;
const KINDS: [&str; 6] = ["event", "operation", "agent", "spec", "config", "health"];

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("of").args(["name", "host"]).required(true).multiple(true))]
pub struct Args {
    /// Of this process: NAMESPACE/NAME
    #[arg(value_name = "NAMESPACE/NAME")]
    name: Option<FullName>,
    /// On this host: IP or CLOUD:IP
    #[arg(short = 'H', long, value_name = "HOST")]
    host: Option<Host>,
    /// Only these kinds, separated by commas
    #[arg(short, long, value_name = "KIND", value_delimiter = ',', value_parser = PossibleValuesParser::new(KINDS))]
    kind: Vec<String>,
    /// Not older than this (90s, 15m, 1h, 7d)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    since: Option<Duration>,
    /// Older than this (90s, 15m, 1h, 7d)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    until: Option<Duration>,
    /// How many, the newest first
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_LIMIT)))]
    limit: u16,
    /// Those before this one, which the page before ended with
    #[arg(long, value_name = "ID")]
    before: Option<String>,
}

impl Args {
    fn path(&self) -> Path {
        let ago = |ago: Option<Duration>| ago.map(|ago| format!("{}s", ago.as_secs()));
        Path::new("timeline")
            .query("limit", self.limit)
            .maybe("process", self.name.as_ref())
            .maybe("host", self.host)
            .list("kinds", &self.kind)
            .maybe("since", ago(self.since))
            .maybe("until", ago(self.until))
            .maybe("before", self.before.as_ref())
    }
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let response = client.get(&args.path())?;
    out.response(response, |list: TimelineList| {
        let titles = match (&args.name, args.host) {
            (Some(_), Some(_)) => "AT|KIND|~WHAT|BY",
            (Some(_), None) => "AT|HOST|KIND|~WHAT|BY",
            (None, _) => "AT|PROCESS|KIND|~WHAT|BY",
        };
        let mut table = TextTable::new(titles);
        for row in list.entries.read().map_err(not_as_expected)? {
            table.row(cells(args, row));
        }
        out.table_or(&table, "nothing is known")?;
        if let Some(next) = list.next {
            out.note(format!("there are older ones: --before {}", clean(&next)));
        }
        Ok(())
    })?;
    Ok(Exit::Ok)
}

/// Without a column for what is the same in all rows.
fn cells(args: &Args, row: TimelineRow<'_>) -> Vec<Cell> {
    let mut cells = vec![Cell::from(row.at.to_rfc3339())];
    match (&args.name, args.host) {
        (Some(_), Some(_)) => {}
        (Some(_), None) => {
            cells.push(
                row.host
                    .map(|host| host.to_string())
                    .unwrap_or_default()
                    .into(),
            );
        }
        (None, _) => cells.push(row.process.unwrap_or_default().into()),
    }
    let by = match (&*row.user, &*row.app, &*row.from) {
        ("", "", _) => String::new(),
        (user, app, "") => user_and_app(user, app),
        (user, app, from) => format!("{} from {from}", user_and_app(user, app)),
    };
    cells.push(Cell::styled(style(&row.code), &*row.kind));
    cells.push(row.text.into_owned().into());
    cells.push(by.into());
    cells
}

fn style(code: &str) -> Style {
    match code {
        "process_exit" | "process_cancel_restart" | "process_restart_failed" => Style::Bad,
        "agent_away" | "config_drift" | "process_unhealthy" | "process_not_ready" => Style::Warn,
        _ => Style::Plain,
    }
}
