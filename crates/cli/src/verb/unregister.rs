//! `muster unregister`: forgets a process and leaves it running.

use std::collections::HashSet;

use api::{HostRef, HostResult, HostsBody, ProcessView, Results};
use model::{Code, FullName};

use super::{Context, register};
use crate::client::{Client, process_path, processes_named};
use crate::failure::{Exit, Failure};
use crate::format::{clean, counted};
use crate::target::{TargetArgs, Targets};

pub const EXAMPLES: &str = "\
Examples:
  muster unregister web/nginx --host 10.0.0.1
  muster unregister web/nginx --all

Running processes go on running, unmanaged. Stop them first if you want them gone.
Unregistering a process that is not registered succeeds.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process
    #[arg(value_name = "NAMESPACE/NAME")]
    pub name: FullName,
    #[command(flatten)]
    pub targets: TargetArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let name = &args.name;
    let named = args.targets.hosts.read()?;
    let client = context.client()?;
    // The server answers the same whether a host had the process or not, so list the hosts first.
    let before = registered(&client, name, named.is_empty().then_some(1))?;
    let results = match (named.as_slice(), before.is_empty()) {
        ([], true) => Results::default(),
        ([], false) => match args.targets.choose(&client, name)? {
            Targets::All => client.delete(&process_path(name).query("all", true))?,
            Targets::Hosts(hosts) => unregister(&client, name, hosts)?,
        },
        (hosts, _) => unregister(&client, name, hosts.to_vec())?,
    };
    let (absent, shown): (Vec<_>, Vec<_>) = results.results.iter().cloned().partition(|result| {
        let is_known = named.is_empty() || before.contains(&result.host);
        result.code == Code::OK.0 && !is_known
    });
    let out = &context.out;
    if shown.is_empty() {
        out.note(format!("{name} was not registered"));
    } else if let Some(absent) = few_or_many(&absent) {
        out.note(format!("{name} was not registered on {absent}"));
    }
    match (out.is_document(), shown.is_empty()) {
        (true, _) => register::report(out, "forgot", name, &results),
        (false, true) => Ok(Exit::Ok),
        (false, false) => {
            let shown = Results { results: shown };
            register::report(out, "forgot", name, &shown)
        }
    }
}

fn unregister(
    client: &Client,
    name: &FullName,
    hosts: Vec<HostRef>,
) -> Result<Results<'static>, Failure> {
    client.delete_with(&process_path(name), &HostsBody { hosts: Some(hosts) })
}

/// At most `limit` hosts that have the process.
fn registered(
    client: &Client,
    name: &FullName,
    limit: Option<usize>,
) -> Result<HashSet<String>, Failure> {
    let page = client.pages::<ProcessView>(&processes_named(name), "processes", limit)?;
    Ok(page.rows.iter().map(|row| row.host.to_string()).collect())
}

/// One host by its name, several by their number.
fn few_or_many(results: &[HostResult]) -> Option<String> {
    match results {
        [] => None,
        [one] => Some(clean(&one.host)),
        several => Some(counted(several.len(), "host")),
    }
}
