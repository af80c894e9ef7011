//! `muster diff`: compares what agents hold with what the server wants of them.

use api::{HeldAnswer, HostRow};
use model::Host;
use serde_json::{Value, json};

use super::Context;
use crate::client::{Client, Path, read};
use crate::failure::{Exit, Failure, Kind};
use crate::format::{clean, counted};
use crate::table::TextTable;

pub const EXAMPLES: &str = "\
Examples:
  muster diff                                     every host whose agent is connected
  muster diff --host 10.0.0.1
  muster diff -o json | jq -r '.hosts[].processes[].process'

Asks the agents themselves, and shows only where they differ: specs, what is wanted, what is
managed, what runs, and live processes behind the pid files of others.
Exits with 0 when nothing differs, and with 1 when something does.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this host: IP or CLOUD:IP
    #[arg(short = 'H', long, value_name = "HOST")]
    host: Option<Host>,
}

/// One host, with the response as it came and as it is read. Processes that are as wanted are left out of both.
struct HostDifferences {
    response: Value,
    held: HeldAnswer,
}

impl HostDifferences {
    fn count(&self) -> usize {
        let of_processes: usize = self
            .held
            .processes
            .iter()
            .map(|row| row.differs.len())
            .sum();
        of_processes + self.held.foreign.len()
    }
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let mut hosts = Vec::new();
    let mut away = Vec::new();
    match args.host {
        Some(host) => hosts.push(compare(&client, &host.to_string())?),
        None => {
            for row in client.hosts::<HostRow>(None, None)?.rows {
                let host = row.host.to_string();
                match row.connected {
                    false if row.processes > 0 => away.push(host),
                    false => {}
                    true => match compare(&client, &host) {
                        Ok(compared) => hosts.push(compared),
                        // Its agent disconnected meanwhile.
                        Err(failure) if failure.kind == Kind::Unreachable => {
                            out.warn(&failure);
                            away.push(host);
                        }
                        Err(failure) => return Err(failure),
                    },
                }
            }
        }
    }
    let n_hosts = hosts.len();
    let n_differences: usize = hosts.iter().map(HostDifferences::count).sum();
    hosts.retain(|host| host.count() > 0);
    if !away.is_empty() {
        let hosts = counted(away.len(), "host");
        out.note(format!(
            "{hosts} not asked, because the agent is not connected: muster hosts --connected false"
        ));
    }
    match out.is_document() {
        true => {
            let hosts: Vec<&Value> = hosts.iter().map(|host| &host.response).collect();
            out.document(&json!({"differences": n_differences, "hosts": hosts, "away": away}))?;
        }
        false if n_differences == 0 => {
            out.success(format!("no differences on {}", counted(n_hosts, "host")))?;
        }
        false => out.table(&table(&hosts))?,
    }
    Ok(Exit::some_failed(n_differences > 0))
}

/// Asks the agent of one host.
fn compare(client: &Client, host: &str) -> Result<HostDifferences, Failure> {
    let mut response: Value = client.get(&Path::new("hosts").join(host).join("held"))?;
    if let Some(processes) = response.get_mut("processes").and_then(Value::as_array_mut) {
        let differs = |row: &Value| row["differs"].as_array().is_some_and(|d| !d.is_empty());
        processes.retain(differs);
    }
    let held = read(response.clone())?;
    Ok(HostDifferences {
        response,
        held: HeldAnswer {
            host: host.to_owned(),
            ..held
        },
    })
}

fn table(hosts: &[HostDifferences]) -> TextTable {
    let mut table = TextTable::new("HOST|PROCESS|~DIFFERENCE");
    for HostDifferences { held, .. } in hosts {
        let mut row = |process: &str, difference: &str| {
            table.row([
                held.host.as_str().into(),
                process.into(),
                clean(difference).into(),
            ]);
        };
        for process in &held.processes {
            for difference in &process.differs {
                row(&process.process, difference);
            }
        }
        for other in &held.foreign {
            let text = format!(
                "its pid file {} names {}, which is {} of user {}",
                other.pid_path, other.pid, other.program, other.user
            );
            row(&other.process, &text);
        }
    }
    table
}
