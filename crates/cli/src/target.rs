//! The hosts that a verb targets.

use std::collections::HashSet;

use api::{HostRef, HostRow};
use model::{AgentId, FullName, Host};

use crate::client::{Client, Path, process_path};
use crate::failure::{Failure, Kind};
use crate::format::{count, counted};
use crate::input::read_text;

/// The longest list of hosts that is read from a file.
const MAX_LIST: u64 = 64 * 1024 * 1024;
/// How many hosts an error message names.
const MAX_NAMED: usize = 5;

/// `10.0.0.1`, `0:10.0.0.1`, `[2001:db8::1]`, `agent:ID`.
pub fn parse_host(text: &str) -> Result<HostRef, Failure> {
    match text.strip_prefix("agent:") {
        Some(id) => Ok(AgentId::parse(id)?.into()),
        None => text.parse::<Host>().map(HostRef::from).map_err(|_| {
            Failure::usage(format!("{text:?} is not a host"))
                .advise("write IP, CLOUD:IP, [IPV6], agent:ID, or @FILE for a list in a file")
        }),
    }
}

#[derive(Debug, Clone, Default, clap::Args)]
pub struct HostArgs {
    /// A host: IP, CLOUD:IP, [IPV6] or agent:ID; several, separated by commas; @FILE for one on each line (@- reads stdin)
    #[arg(long = "host", short = 'H', value_name = "HOST")]
    pub hosts: Vec<String>,
}

impl HostArgs {
    /// Every host that was named, each once.
    pub fn read(&self) -> Result<Vec<HostRef>, Failure> {
        let mut names = Vec::new();
        for text in &self.hosts {
            match text.strip_prefix('@') {
                Some(file) => names.extend(read_list(file)?),
                None => names.extend(text.split(',').map(str::to_owned)),
            }
        }
        let mut seen = HashSet::new();
        let mut hosts = Vec::new();
        for name in names
            .iter()
            .map(|name| name.trim())
            .filter(|n| !n.is_empty())
        {
            let host = parse_host(name)?;
            if seen.insert(host.clone()) {
                hosts.push(host);
            }
        }
        match (self.hosts.is_empty(), hosts.is_empty()) {
            (false, true) => Err(Failure::usage("--host: the list of hosts is empty")),
            _ => Ok(hosts),
        }
    }
}

/// One host on each line; `#` begins a comment.
fn read_list(file: &str) -> Result<Vec<String>, Failure> {
    let text = read_text(file, MAX_LIST)
        .map_err(|e| Failure::usage(format!("--host @{file}: cannot be read: {e}")))?;
    Ok(text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .flat_map(|line| line.split([',', ' ', '\t']))
        .map(str::to_owned)
        .collect())
}

/// One process on one host.
#[derive(Debug, clap::Args)]
pub struct ProcessOnHost {
    /// The process: NAMESPACE/NAME
    #[arg(value_name = "NAMESPACE/NAME")]
    pub name: FullName,
    /// On this host: IP or CLOUD:IP; may be left out if it is on one host only
    #[arg(short = 'H', long, value_name = "HOST")]
    host: Option<Host>,
}

impl ProcessOnHost {
    /// The address of this part of it.
    pub fn path(&self, part: &str) -> Path {
        process_path(&self.name).join(part).maybe("host", self.host)
    }
}

#[derive(Debug, Clone, Default, clap::Args)]
pub struct TargetArgs {
    #[command(flatten)]
    pub hosts: HostArgs,
    /// Every host that the process is registered on
    #[arg(long, conflicts_with = "hosts")]
    pub all: bool,
}

impl TargetArgs {
    /// Whether the command line names hosts.
    pub fn is_given(&self) -> bool {
        self.all || !self.hosts.hosts.is_empty()
    }
}

/// The process is on several hosts, and none was chosen.
pub fn several_hosts(name: &FullName, hosts: &[String]) -> Failure {
    let n = hosts.len() as u64;
    let named = &hosts[..hosts.len().min(MAX_NAMED)];
    Failure::usage(format!(
        "{name} is registered on {}: {}",
        counted(n, "host"),
        list(named, n)
    ))
    .advise("choose some with --host, or take --all")
}

/// `0:10.0.0.1, 0:10.0.0.2 and 3 more`
pub fn chosen_hosts(hosts: &[HostRef]) -> String {
    let named = hosts
        .iter()
        .take(MAX_NAMED)
        .map(crate::processes::host_text);
    list(&named.collect::<Vec<_>>(), hosts.len() as u64)
}

/// No host has the process.
pub fn unknown(name: &FullName) -> Failure {
    Failure::new(Kind::NotFound, format!("{name} is not registered")).advise(how_to_register(name))
}

/// The failure to find a process, with how to register it.
pub fn not_registered(failure: Failure, name: &FullName) -> Failure {
    match failure.kind {
        Kind::NotFound => unknown(name),
        _ => failure,
    }
}

pub fn how_to_register(name: &FullName) -> String {
    format!("muster ps shows what is; muster register {name} --start 'COMMAND' registers it")
}

/// The only connected host, where there is just one.
pub fn only_host(client: &Client) -> Result<HostRef, Failure> {
    let page = client.hosts::<HostRow>(Some(true), Some(MAX_NAMED))?;
    match (page.count, page.rows.as_slice()) {
        (1, [row]) => parse_host(&row.host.to_string()),
        (0, _) => Err(Failure::usage("--host: no host is connected, so none can be chosen for you").advise(
            "name the host all the same (it learns of the process when it connects): --host IP\nor connect one: muster token create, then muster agent --join on that host",
        )),
        (n, rows) => {
            let hosts: Vec<String> = rows.iter().map(|row| row.host.to_string()).collect();
            Err(Failure::usage(format!(
                "--host: {} are connected: {}",
                counted(n, "host"),
                list(&hosts, n)
            ))
            .advise("say which ones: --host IP[,IP…] or --host @FILE"))
        }
    }
}

fn list(hosts: &[String], total: u64) -> String {
    match total.saturating_sub(hosts.len() as u64) {
        0 => hosts.join(", "),
        more => format!("{} and {} more", hosts.join(", "), count(more)),
    }
}
