//! `muster hosts`: the machines and their agents.

use model::Host;
use serde_json::{Value, json};

use super::Context;
use super::status::Fields;
use crate::client::HostRow;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::show::{age, bytes, clean, count, counted, moment, now};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

pub const EXAMPLES: &str = "\
Examples:
  muster hosts
  muster hosts --connected false                  agents that are away
  muster hosts 10.0.0.1
  muster hosts -o json | jq -r '.hosts[].host' > hosts.txt";

const DEFAULT_ROWS: usize = 1000;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show this host alone: IP or CLOUD:IP
    #[arg(value_name = "HOST")]
    host: Option<Host>,
    /// Only those whose agent is connected, or those whose is not
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", conflicts_with = "host")]
    connected: Option<bool>,
    /// At most this many rows; 0: all [default: 1000 in a table, all in JSON]
    #[arg(long, value_name = "N", conflicts_with = "host")]
    limit: Option<usize>,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    if let Some(host) = &args.host {
        match out.is_json() {
            true => out.json(&client.host::<Value>(host)?)?,
            false => one(out, &client.host(host)?)?,
        }
        return Ok(Exit::Ok);
    }
    let limit = match (args.limit, out.is_json()) {
        (Some(0), _) | (None, true) => None,
        (Some(limit), _) => Some(limit),
        (None, false) => Some(DEFAULT_ROWS),
    };
    if out.is_json() {
        let page = client.hosts::<Value>(args.connected, limit)?;
        out.json(&json!({"count": page.count, "hosts": page.rows}))?;
        return Ok(Exit::Ok);
    }
    let page = client.hosts::<HostRow>(args.connected, limit)?;
    if page.rows.is_empty() {
        out.note("no hosts: muster token create makes a token for a new agent");
        return Ok(Exit::Ok);
    }
    out.table(&table(&page.rows))?;
    if (page.rows.len() as u64) < page.count {
        let shown = count(page.rows.len() as u64);
        out.note(format!(
            "{shown} of {} shown: --limit 0 shows all",
            counted(page.count, "host")
        ));
    }
    Ok(Exit::Ok)
}

fn table(rows: &[HostRow]) -> Table {
    let now = now();
    let mut table = Table::new([
        Column::text("HOST"),
        Column::text("AGENT"),
        Column::number("SINCE"),
        Column::number("PROCESSES"),
        Column::text("VERSION"),
        Column::text("HOSTNAME"),
        Column::number("CORES"),
        Column::number("MEMORY"),
        Column::elastic("AGENT ID"),
    ]);
    for row in rows {
        let (tone, word) = match row.connected {
            true => (Tone::Good, "connected"),
            false => (Tone::Warn, "away"),
        };
        table.row([
            Cell::from(row.host.as_str()),
            Cell::toned(tone, word),
            age(row.since, now).into(),
            count(row.processes).into(),
            row.version.as_deref().unwrap_or_default().into(),
            row.hostname.as_deref().unwrap_or_default().into(),
            row.cores.map(count).unwrap_or_default().into(),
            row.memory_kib
                .map(|kib| bytes(kib * 1024))
                .unwrap_or_default()
                .into(),
            row.agent_id.as_deref().unwrap_or_default().into(),
        ]);
    }
    table
}

fn one(out: &Out, row: &HostRow) -> Result<(), Failure> {
    let text = |value: &Option<String>| clean(value.as_deref().unwrap_or_default());
    let (tone, word) = match row.connected {
        true => (Tone::Good, "connected"),
        false => (Tone::Warn, "away"),
    };
    out.line(out.paint(Tone::Bold, &clean(&row.host)))?;
    let mut fields = Fields(Vec::new());
    let since = moment(row.since, now());
    fields.put("agent", &format!("{} since {since}", out.paint(tone, word)));
    fields.put("agent id", &text(&row.agent_id));
    fields.put("version", &text(&row.version));
    fields.put(
        "runs as",
        match row.root {
            Some(true) => "root: processes of any user",
            Some(false) => "an ordinary user: its own processes only",
            None => "",
        },
    );
    fields.put("hostname", &text(&row.hostname));
    fields.put("kernel", &text(&row.kernel));
    fields.put("cores", &row.cores.map(count).unwrap_or_default());
    fields.put(
        "memory",
        &row.memory_kib
            .map(|kib| bytes(kib * 1024))
            .unwrap_or_default(),
    );
    fields.put("processes", &count(row.processes));
    out.text(&fields.text())
}
