//! `muster export`: writes registered definitions as files.

use api::{HostRef, ProcessView};
use model::FullName;

use super::Context;
use super::update::Registered;
use crate::client::Client;
use crate::definition::{self, Exported};
use crate::failure::{Exit, Failure, Kind};
use crate::processes::{NAMES_HELP, ProcessArgs, Unregistered, is_host};
use crate::target::unknown;

pub fn examples() -> String {
    format!(
        "\
Examples:
  muster export web/nginx > nginx.toml
  muster export 'app/*' -l tier=front > front.toml
  muster update --file front.toml                            changes nothing, and says so
  muster export web/nginx --host 10.0.0.1                the definition of that host
  muster export web/nginx -o json

Writes each definition with the hosts that have it, without what has its default. register, update
and edit take it; a process with different definitions is written once for each of them.

{NAMES_HELP}"
    )
}

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    processes: ProcessArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    // Nothing is touched, so that a name on several hosts means all of them.
    let mut processes = args.processes.clone();
    processes.targets.all |= processes.targets.hosts.hosts.is_empty();
    let chosen = processes.choose(&client, Unregistered::Refused)?;
    let mut exported = Vec::new();
    for one in &chosen.0 {
        exported.extend(definitions(&client, &one.name, Some(&one.hosts))?);
    }
    if exported.is_empty() {
        let what = format!(
            "nothing that is selected is registered there: {}",
            chosen.words()
        );
        return Err(Failure::new(Kind::NotFound, what));
    }
    match context.out.is_document() {
        true => context.out.document(&definition::to_json(&exported))?,
        false => context.out.text(&definition::to_text(&exported)?)?,
    }
    Ok(Exit::Ok)
}

/// Every definition of a process on some hosts or on all, with its hosts.
pub(super) fn definitions(
    client: &Client,
    name: &FullName,
    hosts: Option<&[HostRef]>,
) -> Result<Vec<Exported>, Failure> {
    let registered = Registered::read(client, name)?;
    if registered.rows.is_empty() {
        return Err(unknown(name));
    }
    let mut exported: Vec<(u32, Exported)> = Vec::new();
    let is_wanted =
        |row: &ProcessView| hosts.is_none_or(|hosts| hosts.iter().any(|host| is_host(host, row)));
    for row in registered.rows.iter().filter(|row| is_wanted(row)) {
        let host = row.host.to_string();
        match exported.iter_mut().find(|(id, _)| *id == row.definition) {
            Some((_, one)) => one.hosts.push(host),
            None => {
                let view = registered.definition(row.definition)?;
                let one = Exported {
                    name: name.clone(),
                    hosts: vec![host],
                    labels: view.labels.clone().into_owned(),
                    spec: view.spec.clone().into_owned(),
                };
                exported.push((row.definition, one));
            }
        }
    }
    Ok(exported.into_iter().map(|(_, one)| one).collect())
}
