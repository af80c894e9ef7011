//! `muster unregister`: forget a process and leave it running.

use std::collections::HashSet;

use model::{Code, FullName};

use super::{Context, register};
use crate::client::{Client, HostResult, ProcessFilter, ProcessRow, Results};
use crate::failure::{Exit, Failure};
use crate::show::{clean, counted};
use crate::target::{TargetArgs, Targets};

pub const EXAMPLES: &str = "\
Examples:
  muster unregister web/nginx --host 10.0.0.1
  muster unregister web/nginx --all

What runs goes on running, and nobody looks after it any more. Stop it first if you want
it gone. To forget what was not registered is fine.";

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
    // The server answers the same whether a host had the process or not: a look before tells.
    let before = registered(&client, name, named.is_empty().then_some(1))?;
    let results = match (named.as_slice(), before.is_empty()) {
        ([], true) => Results::default(),
        ([], false) => match args.targets.choose(&client, name)? {
            Targets::All => client.unregister(name, None)?,
            Targets::Hosts(hosts) => client.unregister(name, Some(&hosts))?,
        },
        (hosts, _) => client.unregister(name, Some(hosts))?,
    };
    let (absent, told): (Vec<_>, Vec<_>) = results.results.iter().cloned().partition(|result| {
        let is_known = named.is_empty() || before.contains(&result.host);
        result.code == Code::OK.0 && !is_known
    });
    let out = &context.out;
    if told.is_empty() {
        out.note(format!("{name} was not registered"));
    } else if let Some(absent) = few_or_many(&absent) {
        out.note(format!("{name} was not registered on {absent}"));
    }
    match (out.is_json(), told.is_empty()) {
        (true, _) => register::report(out, "forgot", name, &results),
        (false, true) => Ok(Exit::Ok),
        (false, false) => {
            let told = Results { results: told };
            register::report(out, "forgot", name, &told)
        }
    }
}

/// Hosts that have the process: all of them, or some.
fn registered(
    client: &Client,
    name: &FullName,
    limit: Option<usize>,
) -> Result<HashSet<String>, Failure> {
    let filter = ProcessFilter {
        namespace: Some(name.namespace.to_string()),
        name: Some(name.name.to_string()),
        ..ProcessFilter::default()
    };
    let rows = client.processes::<ProcessRow>(&filter, limit)?.rows;
    Ok(rows.into_iter().map(|row| row.host).collect())
}

/// The host where it is one, the number where they are more.
fn few_or_many(results: &[HostResult]) -> Option<String> {
    match results {
        [] => None,
        [one] => Some(clean(&one.host)),
        several => Some(counted(several.len() as u64, "host")),
    }
}
