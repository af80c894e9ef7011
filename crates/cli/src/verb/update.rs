//! `muster update`: replace what is registered, or change some of it.

use std::collections::BTreeMap;

use model::FullName;

use super::Context;
use super::register;
use crate::client::{Client, ProcessRow, ProcessView, Registration};
use crate::definition::{self, Definition, SpecArgs};
use crate::failure::{Exit, Failure, Kind};
use crate::show::counted;
use crate::target::{self, HostRef, TargetArgs};

pub const EXAMPLES: &str = "\
Examples:
  Change one thing, everywhere:
    muster update web/nginx --all --mem 20
  Replace the whole definition by a file, on the hosts that it names:
    muster update -f nginx.toml
  The same on every host that has the process already:
    muster update -f nginx.toml --all

Without a file, what is registered stays but for the flags. A running process is not
touched: the new spec counts from its next start.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What the process is called; may stand in the file instead
    #[arg(value_name = "NAMESPACE/NAME")]
    pub name: Option<FullName>,
    /// A definition in TOML or JSON; - reads standard input
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<String>,
    #[command(flatten)]
    pub targets: TargetArgs,
    #[command(flatten)]
    pub spec: SpecArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let from_file = args.file.as_deref().map(definition::read).transpose()?;
    let name = args
        .name
        .clone()
        .or_else(|| from_file.as_ref()?.name.clone())
        .ok_or_else(|| {
            Failure::usage("the process has no name").advise(
                "give NAMESPACE/NAME on the command line, or namespace and name in the file",
            )
        })?;
    if from_file.is_none() && args.spec.is_empty() {
        return Err(Failure::usage("nothing to change")
            .advise("give a file with -f FILE, or the flags to change; see muster update --help"));
    }
    let named = args.targets.hosts.read()?;
    let client = context.client()?;
    let mut definition = match from_file {
        Some(definition) => definition,
        None => registered(&client, &name)?,
    };
    args.spec.apply(&mut definition)?;
    let (spec, labels) = definition.complete(&name)?;
    let hosts = match (
        args.targets.all,
        named.is_empty(),
        definition.hosts.is_empty(),
    ) {
        (false, false, _) => named,
        (false, true, false) => definition.hosts,
        (true, ..) => everywhere(&client, &name)?,
        (false, true, true) => match args.targets.choose(&client, &name) {
            Ok(target::Targets::Hosts(hosts)) => hosts,
            Ok(target::Targets::All) => everywhere(&client, &name)?,
            Err(failure) if failure.kind == Kind::NotFound => vec![target::only_host(&client)?],
            Err(failure) => return Err(failure),
        },
    };
    let labels: BTreeMap<String, String> = labels
        .iter()
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    let body = Registration {
        hosts,
        labels: Some(labels),
        spec,
    };
    let results = client.update(&name, &body)?;
    register::report(&context.out, "updated", &name, &results)
}

/// The definition as it is now, where there is only one.
fn registered(client: &Client, name: &FullName) -> Result<Definition, Failure> {
    let view: ProcessView = match client.process(name) {
        Ok(view) => view,
        Err(failure) if failure.kind == Kind::NotFound => ProcessView::default(),
        Err(failure) => return Err(failure),
    };
    match view.definitions.as_slice() {
        [] => {
            let mut definition = Definition::default();
            definition.settle_in(register::surroundings());
            Ok(definition)
        }
        [only] => Definition::of(&only.spec, only.labels.clone()),
        several => Err(Failure::usage(format!(
            "{name} has {}: flags alone do not say which one to change",
            counted(several.len() as u64, "different definition")
        ))
        .advise(format!(
            "give the whole definition with -f FILE; muster status {name} shows them"
        ))),
    }
}

/// Every host that has the process.
fn everywhere(client: &Client, name: &FullName) -> Result<Vec<HostRef>, Failure> {
    let filter = crate::client::ProcessFilter {
        namespace: Some(name.namespace.to_string()),
        name: Some(name.name.to_string()),
        ..Default::default()
    };
    let rows = client.processes::<ProcessRow>(&filter, None)?.rows;
    if rows.is_empty() {
        return Err(target::not_registered(
            Failure::new(Kind::NotFound, ""),
            name,
        ));
    }
    rows.iter().map(|row| HostRef::parse(&row.host)).collect()
}
