//! `muster hosts remove`: forgets hosts for good.

use api::{HostsRemoved, RemoveHostsBody, RemovedHost};
use serde_json::Value;

use super::connection;
use crate::client::Path;
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure, Kind};
use crate::format::{age, clean, count, counted, now, parse_duration};
use crate::out::Out;
use crate::table::{Cell, TextTable};
use crate::target::HostArgs;
use crate::verb::Context;

pub(super) const EXAMPLES: &str = "\
Examples:
  What would go?
    muster hosts remove --gone-for 30d --dry-run
  Hosts whose agents have been away for a month:
    muster hosts remove --gone-for 30d
  These, one on each line of a file, in a script:
    muster hosts remove @hosts.txt --yes
  One whose agent still runs:
    muster hosts remove 10.0.0.7 --force
  It is ours again, and may join once:
    muster token create --host 10.0.0.7 --uses 1 --expires 1h

Forgets the host, its registrations, groups, certificates and join tokens. Its processes keep
running; events, tasks and the timeline stay. Its agent is refused until it joins with a new token;
one with a join token that is still valid joins again by itself. A business whose next import or
refresh still lists the host brings it back. Asks first; without a terminal it needs --yes.";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// IP, CLOUD:IP, [IPV6] or agent:ID; several, also separated by commas; @FILE for one on each line
    #[arg(value_name = "HOST", required_unless_present = "gone_for")]
    hosts: Vec<String>,
    /// Only those whose agent has been away for this long (30d, 12h); a host that never had one stays
    #[arg(long, value_name = "DURATION", value_parser = checked_duration)]
    gone_for: Option<String>,
    /// Also those whose agent is connected; its session ends
    #[arg(long)]
    force: bool,
    /// Only list the hosts that it would remove
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

/// The text itself, which the server parses again.
fn checked_duration(text: &str) -> Result<String, String> {
    parse_duration(text).map(|_| text.to_owned())
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let (client, out) = (context.client()?, &context.out);
    let named = HostArgs {
        hosts: args.hosts.clone(),
    };
    let hosts = named.read()?;
    let body = |dry_run: bool, expect_count: Option<u64>| RemoveHostsBody {
        hosts: (!hosts.is_empty()).then(|| hosts.clone()),
        gone_for: args.gone_for.clone(),
        force: args.force.then_some(true),
        dry_run: dry_run.then_some(true),
        expect_count,
    };
    let path = Path::new("remove-hosts");
    let planned: Value = client.post(&path, &body(true, None))?;
    let plan: HostsRemoved<'_> = crate::client::read(planned.clone())?;
    if args.dry_run {
        return match out.is_document() {
            true => out.document(&planned),
            false => show(out, &plan, "would remove"),
        }
        .map(|()| Exit::Ok);
    }
    if plan.hosts.is_empty() {
        return Err(Failure::new(
            Kind::NotFound,
            "no host was away for that long",
        ));
    }
    refuse_connected(&plan, args.force)?;
    if !args.confirm.is_given() && !out.is_document() {
        show(out, &plan, "to remove")?;
    }
    let processes = plan.processes;
    args.confirm.ask(&format!(
        "remove {} and forget {} there",
        counted(plan.count, "host"),
        counted(processes, "process")
    ))?;
    let done: Value = client.post(&path, &body(false, Some(plan.count as u64)))?;
    if out.is_document() {
        out.document(&done)?;
        return Ok(Exit::Ok);
    }
    let done: HostsRemoved<'_> = crate::client::read(done)?;
    out.success(format!(
        "removed {} and forgot {} there; what runs goes on",
        counted(done.count, "host"),
        counted(processes, "process")
    ))?;
    note_businesses(out, &done.hosts);
    Ok(Exit::Ok)
}

fn refuse_connected(plan: &HostsRemoved<'_>, force: bool) -> Result<(), Failure> {
    if plan.connected == 0 || force {
        return Ok(());
    }
    let host = plan.hosts.iter().find(|host| host.connected);
    let whose = match (plan.connected, host) {
        (1, Some(host)) => format!("the agent of {} is", clean(&host.host.to_string())),
        (n, _) => format!("the agents of {} are", counted(n, "host")),
    };
    Err(
        Failure::new(Kind::Failed, format!("not done: {whose} connected"))
            .advise("stop it first, or give --force, which ends its session"),
    )
}

fn show(out: &Out, plan: &HostsRemoved<'_>, what: &str) -> Result<(), Failure> {
    let now = now();
    let mut table = TextTable::new("HOST|AGENT|>SINCE|>PROCESSES|BUSINESSES|~AGENT ID");
    for host in &plan.hosts {
        let (style, word) = connection(host.connected);
        table.row([
            Cell::from(host.host.to_string()),
            Cell::styled(style, word),
            age(host.since, now).into(),
            count(host.processes).into(),
            businesses(host).into(),
            host.agent_id.as_deref().unwrap_or_default().into(),
        ]);
    }
    out.table_or(&table, &format!("no hosts {what}"))?;
    if plan.count > plan.hosts.len() {
        let more = plan.count - plan.hosts.len();
        out.note(format!("and {} more", counted(more, "host")));
    }
    note_businesses(out, &plan.hosts);
    Ok(())
}

fn businesses(host: &RemovedHost<'_>) -> String {
    let names = host.businesses.iter().map(|business| clean(&business.name));
    names.collect::<Vec<_>>().join(", ")
}

/// Their source may still list the host.
fn note_businesses(out: &Out, hosts: &[RemovedHost<'_>]) {
    let n = hosts
        .iter()
        .filter(|host| !host.businesses.is_empty())
        .count();
    if n > 0 {
        let hosts = counted(n, "host");
        out.warn(format!(
            "{hosts} of a business: its next import or refresh brings back what it still lists"
        ));
    }
}
