//! `muster agent versions`: which version of the agent is where, which ones the server has, and whether this program speaks with
//! all of them.

use std::collections::BTreeMap;

use agent::PROTOCOLS;
use api::{AgentBinaryList, HostRow};
use serde_json::json;

use super::super::Context;
use crate::client::Path;
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::format::{bytes, count, counted};
use crate::table::{Cell, TextTable};

pub(super) const EXAMPLES: &str = "\
Examples:
  muster agent versions
  muster agent versions -o json | jq -r '.versions[].version'
  ./new/muster agent versions      before an upgrade of the server: does the new one speak with every agent?

Ends with 1 when there are agents that this muster does not speak with.";

/// Of the agents of one version.
#[derive(Debug, Default)]
struct Found {
    n_connected: u64,
    n_away: u64,
    /// The newest protocol that any of them does not go beyond.
    protocol: u32,
}

pub(super) fn run(context: &Context) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let mut versions: BTreeMap<String, Found> = BTreeMap::new();
    let hosts = client
        .pages::<HostRow>(&Path::new("hosts"), "hosts", None)?
        .rows;
    for row in &hosts {
        let Some(version) = &row.version else {
            continue;
        };
        let found = versions.entry(version.to_string()).or_default();
        match row.connected {
            true => found.n_connected += 1,
            false => found.n_away += 1,
        }
        let protocol = row.protocol.unwrap_or(*PROTOCOLS.start());
        found.protocol = match found.protocol {
            0 => protocol,
            known => known.min(protocol),
        };
    }
    let server: AgentBinaryList = client.get(&Path::new("agents").join("binaries"))?;
    let speaks = |found: &Found| PROTOCOLS.contains(&found.protocol);
    let strangers: u64 = versions
        .values()
        .filter(|found| !speaks(found))
        .map(|found| found.n_connected + found.n_away)
        .sum();
    if out.is_document() {
        let rows: Vec<_> = versions
            .iter()
            .map(|(version, found)| {
                json!({
                    "version": version, "connected": found.n_connected, "away": found.n_away,
                    "protocol": found.protocol, "speaks": speaks(found),
                })
            })
            .collect();
        out.document(&json!({
            "versions": rows,
            "binaries": server.binaries,
            "server": {"protocol_oldest": server.protocol_oldest, "protocol_newest": server.protocol_newest},
            "this": {
                "version": env!("CARGO_PKG_VERSION"), "protocol_oldest": PROTOCOLS.start(),
                "protocol_newest": PROTOCOLS.end(),
                "agents_that_it_does_not_speak_with": strangers,
            },
        }))?;
        return Ok(Exit::some_failed(strangers > 0));
    }
    let mut table = TextTable::new("AGENTS|>CONNECTED|>AWAY|>PROTOCOL|THIS MUSTER");
    for (version, found) in &versions {
        let (style, word) = match speaks(found) {
            true => (Style::Good, "speaks with them"),
            false => (Style::Bad, "does not speak with them"),
        };
        table.row([
            Cell::from(version.as_str()),
            count(found.n_connected).into(),
            count(found.n_away).into(),
            found.protocol.to_string().into(),
            Cell::styled(style, word),
        ]);
    }
    out.table_or(&table, "no agents yet")?;
    let mut binaries = TextTable::new("SERVER HAS|PROCESSOR|PROGRAM|>SIZE|~SHA256");
    for binary in &server.binaries {
        binaries.row([
            Cell::from(binary.version.as_str()),
            binary.arch.as_str().into(),
            binary.program.as_str().into(),
            bytes(binary.bytes).into(),
            binary.sha256.as_str().into(),
        ]);
    }
    out.line("")?;
    out.table_or(&binaries, "the server has no binaries of agents")?;
    if strangers > 0 {
        out.note(format!(
            "this muster ({}) does not speak with {}: upgrade them before the server",
            env!("CARGO_PKG_VERSION"),
            counted(strangers, "agent")
        ));
    }
    Ok(Exit::some_failed(strangers > 0))
}
