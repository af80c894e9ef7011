//! `muster update`: replaces a registered definition, or changes part of it.

use api::{HostRef, ProcessDetail, ProcessView};
use model::FullName;

use super::{Context, register};
use crate::client::{Client, process_path, processes_named};
use crate::definition::{self, Definition, SpecArgs};
use crate::failure::{Exit, Failure, Kind};
use crate::format::counted;
use crate::target::{self, TargetArgs};

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
    /// Name of the process; may be in the file instead
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
    let name = match &from_file {
        Some(definition) => register::name(args.name.as_ref(), definition)?,
        None => register::name(args.name.as_ref(), &Definition::default())?,
    };
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
    let body = definition::body(hosts, &labels, spec);
    let results = client.put(&process_path(&name), &body)?;
    register::report(&context.out, "updated", &name, &results)
}

/// The registered definition, where there is only one.
fn registered(client: &Client, name: &FullName) -> Result<Definition, Failure> {
    let detail: ProcessDetail = match client.process(name) {
        Ok(detail) => detail,
        Err(failure) if failure.kind == Kind::NotFound => ProcessDetail::default(),
        Err(failure) => return Err(failure),
    };
    match detail.definitions.as_slice() {
        [] => {
            let mut definition = Definition::default();
            definition.fill_in(register::caller_defaults());
            Ok(definition)
        }
        [only] => Ok(Definition::of(only.spec.clone().into_owned(), &only.labels)),
        several => Err(Failure::usage(format!(
            "{name} has {}: flags alone do not say which one to change",
            counted(several.len(), "different definition")
        ))
        .advise(format!(
            "give the whole definition with -f FILE; muster status {name} shows them"
        ))),
    }
}

/// Every host that has the process.
fn everywhere(client: &Client, name: &FullName) -> Result<Vec<HostRef>, Failure> {
    let page = client.pages::<ProcessView>(&processes_named(name), "processes", None)?;
    match page.rows.is_empty() {
        true => Err(target::unknown(name)),
        false => {
            let hosts = page.rows.iter().map(|row| row.host.to_string());
            hosts.map(|host| target::parse_host(&host)).collect()
        }
    }
}
