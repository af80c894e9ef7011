//! `muster hosts`: the machines and their agents.

mod label;
mod remove;

use std::borrow::Cow;

use api::{HostCheckAnswer, HostRow};
use model::Host;
use model::host_check::CheckResult;
use model::kernel::KernelFeature;
use serde_json::{Value, json};

use super::{Context, row_limit};
use crate::client::Path;
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::format::{age, bytes, clean, count, moment, now, pairs};
use crate::out::Out;
use crate::processes::{parse_selector, query};
use crate::table::{Cell, FieldList, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster hosts
  muster hosts --connected false                  agents that are away
  muster hosts --search 10.0.3 --sort -processes
  muster hosts --agent-version 0.1.0              agents to upgrade
  muster hosts --relay 10.8.0.5                   agents that connect through this relay
  muster hosts -l zone=a,!old                     by their labels; muster hosts label sets them
  muster hosts 10.0.0.1
  muster hosts 10.0.0.1 --check                   is it fit for its agent? Ends with 1 if not
  muster hosts remove --gone-for 30d --dry-run    hosts that are gone for good
  muster hosts -o json | jq -r '.hosts[].host' > hosts.txt";

const DEFAULT_ROWS: usize = 1000;

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Forget hosts, their registrations and certificates; their processes keep running
    #[command(after_help = remove::EXAMPLES)]
    Remove(remove::Args),
    /// Set and remove labels of hosts
    #[command(after_help = label::EXAMPLES)]
    Label(label::Args),
}

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Show this host alone: IP or CLOUD:IP
    #[arg(value_name = "HOST")]
    host: Option<Host>,
    /// Have its agent check whether the host is fit for it; takes some seconds
    #[arg(long, requires = "host")]
    check: bool,
    /// Only those whose agent is connected, or those whose is not
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", conflicts_with = "host")]
    connected: Option<bool>,
    /// Only those with this text in the address, the hostname or the agent's id; all words must be found
    #[arg(
        long,
        visible_alias = "find",
        value_name = "TEXT",
        conflicts_with = "host"
    )]
    search: Vec<String>,
    /// Only those with one of these versions of the agent, separated by commas
    #[arg(
        long,
        value_name = "VERSIONS",
        value_delimiter = ',',
        conflicts_with = "host"
    )]
    agent_version: Vec<String>,
    /// Only of these cloud areas, separated by commas
    #[arg(
        long,
        value_name = "IDS",
        value_delimiter = ',',
        conflicts_with = "host"
    )]
    cloud: Vec<String>,
    /// Only those whose agent connects through one of these relays, separated by commas
    #[arg(
        long,
        value_name = "IPS",
        value_delimiter = ',',
        conflicts_with = "host"
    )]
    relay: Vec<String>,
    /// Only those with these labels: zone=a,rack!=7,env in (a,b),!old
    #[arg(
        short = 'l',
        long,
        visible_alias = "selector",
        value_name = "LABELS",
        value_parser = parse_selector,
        conflicts_with = "host"
    )]
    label: Vec<String>,
    /// Some of host, hostname, version, since, processes, separated by commas; - before one turns it round
    #[arg(
        long,
        visible_alias = "sort",
        value_name = "KEYS",
        allow_hyphen_values = true,
        conflicts_with = "host"
    )]
    order: Option<String>,
    /// At most this many rows; 0: all [default: 1000 in a table, all in JSON]
    #[arg(long, value_name = "N", conflicts_with = "host")]
    limit: Option<usize>,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    match &args.action {
        Some(Action::Remove(args)) => return remove::run(context, args),
        Some(Action::Label(args)) => return label::run(context, args),
        None => {}
    }
    let client = context.client()?;
    let out = &context.out;
    if let Some(host) = &args.host {
        if args.check {
            return check(context, *host);
        }
        let response = client.get(&Path::new("hosts").join(host))?;
        out.response(response, |row| one(out, &row))?;
        return Ok(Exit::Ok);
    }
    let limit = row_limit(args.limit, out.is_document(), DEFAULT_ROWS);
    let path = Path::new("hosts")
        .maybe("connected", args.connected)
        .maybe(
            "q",
            (!args.search.is_empty()).then(|| args.search.join(" ")),
        )
        .list("version", &args.agent_version)
        .list("cloud", &args.cloud)
        .list("relay", &args.relay)
        .maybe("order", args.order.as_ref());
    let path = query(path, &[], &args.label);
    if out.is_document() {
        let page = client.pages::<Value>(&path, "hosts", limit)?;
        out.document(&json!({"count": page.count, "hosts": page.rows}))?;
        return Ok(Exit::Ok);
    }
    let page = client.pages::<HostRow>(&path, "hosts", limit)?;
    let hint = "no hosts: muster token create makes a token for a new agent";
    out.table_or(&table(&page.rows), hint)?;
    page.note_rest(out, "host");
    Ok(Exit::Ok)
}

/// Ends with 1 if a check ended with `no`.
fn check(context: &Context, host: Host) -> Result<Exit, Failure> {
    let out = &context.out;
    let path = Path::new("hosts").join(host).join("check");
    let response: Value = context.client()?.get(&path)?;
    let is_fit = response["result"] != CheckResult::No.as_str();
    out.response(response, |answer: HostCheckAnswer| {
        let mut report = answer.into_report();
        for check in &mut report.checks {
            for text in [&mut check.name, &mut check.message, &mut check.hint] {
                *text = clean(text);
            }
        }
        for text in &mut report.left_out {
            *text = clean(text);
        }
        out.text(&report.to_text())
    })?;
    Ok(Exit::some_failed(!is_fit))
}

fn table(rows: &[HostRow]) -> TextTable {
    let now = now();
    let has_relay = rows.iter().any(|row| row.relay.is_some());
    let has_labels = rows.iter().any(|row| !row.labels.is_empty());
    let mut table = TextTable::new(match (has_relay, has_labels) {
        (true, true) => {
            "HOST|AGENT|>SINCE|>PROCESSES|VERSION|HOSTNAME|>CORES|>MEMORY|RELAY|~LABELS|~AGENT ID"
        }
        (true, false) => {
            "HOST|AGENT|>SINCE|>PROCESSES|VERSION|HOSTNAME|>CORES|>MEMORY|RELAY|~AGENT ID"
        }
        (false, true) => {
            "HOST|AGENT|>SINCE|>PROCESSES|VERSION|HOSTNAME|>CORES|>MEMORY|~LABELS|~AGENT ID"
        }
        (false, false) => "HOST|AGENT|>SINCE|>PROCESSES|VERSION|HOSTNAME|>CORES|>MEMORY|~AGENT ID",
    });
    for row in rows {
        let (style, word) = connection(row.connected);
        let mut cells = vec![
            Cell::from(row.host.to_string()),
            Cell::styled(style, word),
            age(row.since, now).into(),
            count(row.processes).into(),
            row.version.as_deref().unwrap_or_default().into(),
            row.hostname.as_deref().unwrap_or_default().into(),
            row.cores.map(count).unwrap_or_default().into(),
            memory(row).into(),
        ];
        if has_relay {
            cells.push(row.relay.as_deref().unwrap_or_default().into());
        }
        if has_labels {
            cells.push(pairs(&row.labels, ",").into());
        }
        cells.push(row.agent_id.as_deref().unwrap_or_default().into());
        table.row(cells);
    }
    table
}

pub(super) fn connection(is_connected: bool) -> (Style, &'static str) {
    match is_connected {
        true => (Style::Good, "connected"),
        false => (Style::Warn, "away"),
    }
}

fn memory(row: &HostRow) -> String {
    let kib = row.memory_kib.map(|kib| bytes(kib * 1024));
    kib.unwrap_or_default()
}

fn one(out: &Out, row: &HostRow) -> Result<(), Failure> {
    let (style, word) = connection(row.connected);
    out.line(out.paint(Style::Bold, &clean(&row.host.to_string())))?;
    let mut fields = FieldList::default();
    let since = moment(row.since, now());
    fields.put(
        "agent",
        &format!("{} since {since}", out.paint(style, word)),
    );
    let mut text =
        |name, value: &Option<Cow<str>>| fields.put(name, &clean(value.as_deref().unwrap_or("")));
    text("agent id", &row.agent_id);
    text("version", &row.version);
    text(
        "runs as",
        &row.root.map(|root| match root {
            true => "root: processes of any user".into(),
            false => "an ordinary user: its own processes only".into(),
        }),
    );
    text("hostname", &row.hostname);
    text("kernel", &row.kernel);
    text("through relay", &row.relay);
    text("processor", &row.arch);
    for feature in &row.missing {
        let without = KernelFeature::parse(feature).map_or("", KernelFeature::without);
        fields.put("does without", &clean(&format!("{feature}: {without}")));
    }
    fields.put("labels", &clean(&pairs(&row.labels, ",")));
    fields.put("cores", &row.cores.map(count).unwrap_or_default());
    fields.put("memory", &memory(row));
    let states = row.states.iter();
    let states: Vec<String> = states
        .map(|(state, n)| format!("{} {}", count(n), clean(state)))
        .collect();
    let processes = match states.is_empty() {
        true => count(row.processes),
        false => format!("{}: {}", count(row.processes), states.join(", ")),
    };
    fields.put("processes", &processes);
    out.text(&fields.render())
}
