//! `muster agent versions`: which version of the agent is where, which ones the server has, and whether this program would speak
//! with all of them as their server.

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
  Before an upgrade of the server: does the new one speak with every agent?
    ./new/muster agent versions

THIS MUSTER is the program that you run, which need not be the server's. An agent that has not
connected since the server started is of unknown version. Ends with 1 when there are agents that
this muster does not speak with.";

/// Of the agents of one version.
#[derive(Debug, Default)]
struct Found {
    n_connected: u64,
    n_away: u64,
    /// Those that speak only older versions of the protocol than this program, and those that speak only newer ones.
    n_older: u64,
    n_newer: u64,
    /// The versions of the protocol, from the lowest to the highest that any of them speaks.
    protocols: Option<(u32, u32)>,
}

impl Found {
    fn count(&mut self, row: &HostRow<'_>) {
        match row.connected {
            true => self.n_connected += 1,
            false => self.n_away += 1,
        }
        let newest = row.protocol.unwrap_or(*PROTOCOLS.start());
        // A server that is older than this program does not say the oldest.
        let oldest = row.protocol_oldest.filter(|oldest| *oldest > 0);
        let oldest = oldest.unwrap_or(newest).min(newest);
        self.n_older += u64::from(newest < *PROTOCOLS.start());
        self.n_newer += u64::from(oldest > *PROTOCOLS.end());
        let (lowest, highest) = self.protocols.unwrap_or((oldest, newest));
        self.protocols = Some((lowest.min(oldest), highest.max(newest)));
    }

    fn n_strangers(&self) -> u64 {
        self.n_older + self.n_newer
    }

    /// 1, or 1-3.
    fn protocols(&self) -> String {
        match self.protocols {
            None => String::new(),
            Some((oldest, newest)) if oldest == newest => newest.to_string(),
            Some((oldest, newest)) => format!("{oldest}-{newest}"),
        }
    }
}

pub(super) fn run(context: &Context) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let mut versions: BTreeMap<String, Found> = BTreeMap::new();
    let mut n_unknown: u64 = 0;
    let hosts = client
        .pages::<HostRow>(&Path::new("hosts"), "hosts", None)?
        .rows;
    for row in &hosts {
        match &row.version {
            Some(version) => versions.entry(version.to_string()).or_default().count(row),
            // Others were only named, and never had an agent.
            None => n_unknown += u64::from(row.enrolled_at.0 > 0),
        }
    }
    let server: AgentBinaryList = client.get(&Path::new("agents").join("binaries"))?;
    let strangers: u64 = versions.values().map(Found::n_strangers).sum();
    if out.is_document() {
        let rows: Vec<_> = versions
            .iter()
            .map(|(version, found)| {
                json!({
                    "version": version, "connected": found.n_connected, "away": found.n_away,
                    "protocol_oldest": found.protocols.map(|(oldest, _)| oldest),
                    "protocol_newest": found.protocols.map(|(_, newest)| newest),
                    "speaks": found.n_strangers() == 0,
                })
            })
            .collect();
        out.document(&json!({
            "versions": rows,
            "unknown": n_unknown,
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
        let (style, word) = match found.n_strangers() == 0 {
            true => (Style::Good, "speaks with them"),
            false => (Style::Bad, "does not speak with them"),
        };
        table.row([
            Cell::from(version.as_str()),
            count(found.n_connected).into(),
            count(found.n_away).into(),
            found.protocols().into(),
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
    if n_unknown > 0 {
        out.note(format!(
            "{} of unknown version: not connected since the server started (muster hosts --connected false)",
            counted(n_unknown, "agent")
        ));
    }
    if strangers > 0 {
        let has_older = versions.values().any(|found| found.n_older > 0);
        out.note(format!(
            "this muster ({}) does not speak with {}: {}",
            env!("CARGO_PKG_VERSION"),
            counted(strangers, "agent"),
            match has_older {
                true => "upgrade them before the server",
                false => "they are newer, and need a newer server",
            }
        ));
    }
    Ok(Exit::some_failed(strangers > 0))
}
