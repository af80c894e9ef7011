//! Completes what only the server knows: names of processes, namespaces, hosts, businesses.
//!
//! A shell runs `muster` with [`VARIABLE`] in the environment on each Tab (see [`crate::verb::completions`]). An argument is
//! completed by the name of its value in the help, so a new one needs nothing here. The server is the one of the environment
//! and the files, as for any command without `--url`; when it does not answer at once, nothing is completed.

use std::ffi::OsStr;
use std::time::Duration;

use api::{BusinessList, HostPage, NameList};
use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use crate::account::{Account, Asked};
use crate::args::Cli;
use crate::client::{Client, Path};
use crate::verb::environment;

/// The variable that asks for completion.
pub const VARIABLE: &str = "MUSTER_COMPLETE";
/// A shell waits this long for the server at most.
const PATIENCE: Duration = Duration::from_secs(2);
const MAX_CANDIDATES: u32 = 1000;

/// The command line with completers for its values.
pub fn command() -> Command {
    with_completers(Cli::command())
}

fn with_completers(command: Command) -> Command {
    command
        .mut_args(|arg| match completer(&arg) {
            Some(completer) => arg.add(completer),
            None => arg,
        })
        .mut_subcommands(with_completers)
}

fn completer(arg: &Arg) -> Option<ArgValueCompleter> {
    let [name] = arg.get_value_names()? else {
        return None;
    };
    Some(match name.as_str() {
        "NAMESPACE/NAME" => ArgValueCompleter::new(processes),
        "NAMESPACE" => ArgValueCompleter::new(namespaces),
        "HOST" => ArgValueCompleter::new(hosts),
        "BIZ" => ArgValueCompleter::new(businesses),
        _ => return None,
    })
}

fn processes(typed: &OsStr) -> Vec<CompletionCandidate> {
    complete(typed, |client, last| Some(names(client, last)?.names))
}

fn namespaces(typed: &OsStr) -> Vec<CompletionCandidate> {
    complete(typed, |client, last| Some(names(client, last)?.namespaces))
}

fn hosts(typed: &OsStr) -> Vec<CompletionCandidate> {
    complete(typed, |client, last| {
        let path = Path::new("hosts").query("limit", MAX_CANDIDATES);
        let page: HostPage = client.get_within(&path, PATIENCE).ok()?;
        // `10.0.0.1` is written more often than `0:10.0.0.1`, and means the same.
        let is_long = last.contains(':');
        let hosts = page.hosts.read().ok()?;
        let hosts = hosts.iter().map(|row| row.host.to_string());
        Some(Vec::from_iter(hosts.map(
            |host| match host.strip_prefix("0:") {
                Some(ip) if !is_long => ip.to_owned(),
                _ => host,
            },
        )))
    })
}

fn businesses(typed: &OsStr) -> Vec<CompletionCandidate> {
    complete(typed, |client, _| {
        let list: BusinessList = client.get_within(&Path::new("businesses"), PATIENCE).ok()?;
        let businesses = list.businesses.iter();
        Some(Vec::from_iter(businesses.flat_map(|business| {
            [business.id.to_string(), business.name.clone()]
        })))
    })
}

fn names(client: &Client, prefix: &str) -> Option<NameList> {
    let path = Path::new("names")
        .query("prefix", prefix)
        .query("limit", MAX_CANDIDATES);
    client.get_within(&path, PATIENCE).ok()
}

/// The candidates that continue the last part of a list with commas.
fn complete(
    typed: &OsStr,
    find: impl FnOnce(&Client, &str) -> Option<Vec<String>>,
) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else {
        return Vec::new();
    };
    let (before, last) = typed.split_at(typed.rfind(',').map_or(0, |comma| comma + 1));
    let client = Account::find(Asked::default(), environment)
        .and_then(Client::new)
        .ok();
    let found = client.and_then(|client| find(&client, last));
    found
        .unwrap_or_default()
        .into_iter()
        .filter(|candidate| candidate.starts_with(last))
        .map(|candidate| CompletionCandidate::new(format!("{before}{candidate}")))
        .collect()
}
