//! `muster diff`: what agents really hold against what is wanted of them.

use model::Host;
use serde_json::{Value, json};

use super::{Context, rows};
use crate::client::{Client, ComparedRow, ForeignRow, HostRow};
use crate::failure::{Exit, Failure, Kind};
use crate::show::{clean, counted};
use crate::table::{Column, Table};

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

/// What was found on one host.
struct Found {
    host: String,
    raw: Value,
    processes: Vec<ComparedRow>,
    foreign: Vec<ForeignRow>,
}

impl Found {
    fn n_differences(&self) -> usize {
        let of_processes: usize = self.processes.iter().map(|row| row.differs.len()).sum();
        of_processes + self.foreign.len()
    }
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let mut found = Vec::new();
    let mut away = Vec::new();
    match args.host {
        Some(host) => found.push(ask(&client, &host.to_string())?),
        None => {
            for row in client.hosts::<HostRow>(None, None)?.rows {
                match row.connected {
                    false if row.processes > 0 => away.push(row.host),
                    false => {}
                    true => match ask(&client, &row.host) {
                        Ok(answer) => found.push(answer),
                        // It went away while others were asked.
                        Err(failure) if failure.kind == Kind::Unreachable => {
                            out.warn(&failure);
                            away.push(row.host);
                        }
                        Err(failure) => return Err(failure),
                    },
                }
            }
        }
    }
    let n_hosts = found.len() as u64;
    let n_differences: usize = found.iter().map(Found::n_differences).sum();
    found.retain(|found| found.n_differences() > 0);
    if !away.is_empty() {
        let hosts = counted(away.len() as u64, "host");
        out.note(format!(
            "{hosts} not asked, because no agent is connected: muster hosts --connected false"
        ));
    }
    match out.is_json() {
        true => {
            let hosts: Vec<&Value> = found.iter().map(|found| &found.raw).collect();
            out.json(&json!({"differences": n_differences, "hosts": hosts, "away": away}))?;
        }
        false if n_differences == 0 => {
            out.done(format!("no differences on {}", counted(n_hosts, "host")))?;
        }
        false => out.table(&table(&found))?,
    }
    Ok(match n_differences {
        0 => Exit::Ok,
        _ => Exit::SomeFailed,
    })
}

/// Asks one host, and leaves out what is as wanted.
fn ask(client: &Client, host: &str) -> Result<Found, Failure> {
    let mut raw: Value = client.held(host)?;
    if let Some(processes) = raw.get_mut("processes").and_then(Value::as_array_mut) {
        let differs = |row: &Value| row["differs"].as_array().is_some_and(|d| !d.is_empty());
        processes.retain(differs);
    }
    Ok(Found {
        host: host.to_owned(),
        processes: rows(&raw, "processes")?,
        foreign: rows(&raw, "foreign")?,
        raw,
    })
}

fn table(found: &[Found]) -> Table {
    let mut table = Table::new([
        Column::text("HOST"),
        Column::text("PROCESS"),
        Column::elastic("DIFFERENCE"),
    ]);
    for found in found {
        for row in &found.processes {
            for difference in &row.differs {
                table.row([
                    found.host.as_str().into(),
                    row.process.as_str().into(),
                    clean(difference).into(),
                ]);
            }
        }
        for row in &found.foreign {
            let stranger = format!(
                "its pid file {} names {}, which is {} of user {}",
                row.pid_path, row.pid, row.program, row.user
            );
            table.row([
                found.host.as_str().into(),
                row.process.as_str().into(),
                clean(&stranger).into(),
            ]);
        }
    }
    table
}
