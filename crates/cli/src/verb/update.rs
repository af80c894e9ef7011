//! `muster update`: replaces registered definitions, or changes part of them.

use api::{DefinitionView, HostRef, JobUpdateBody, ProcessDetail, ProcessView, SpecBody};
use model::FullName;

use super::Context;
use super::register::{self, Described};
use crate::client::{Client, process_path, processes_named};
use crate::definition::{self, Definition, SpecArgs};
use crate::failure::{Exit, Failure, Kind};
use crate::format::counted;
use crate::processes::{host_text, is_host};
use crate::roll::RollArgs;
use crate::target::{self, TargetArgs};

pub const EXAMPLES: &str = "\
Examples:
  Change one thing, everywhere:
    muster update web/nginx --all --mem 20
  On one host, whose definition may differ from that of the others:
    muster update web/nginx --host 10.0.0.1 --mem 20
  Restart it for ever, with growing waits up to two minutes:
    muster update web/nginx --all --restart-delay 1s --restart-delay-max 2m --give-up never
  Stop it by SIGQUIT, then SIGTERM, each for 20 seconds, then SIGKILL:
    muster update web/nginx --all --stop-signals QUIT,TERM --stop-grace 20s
  Replace the whole definition by a file, on the hosts that it names:
    muster update --file nginx.toml
  The same on every host that has the process already:
    muster update --file nginx.toml --all
  Many processes, as muster export wrote them:
    muster update --file all.toml
  Batch by batch, restarting what needs it: one host, then a tenth at a time; back again if one fails:
    muster update web/nginx --start './sbin/nginx -q' --roll --canary 1 --batch 10% --gate ready:30s --revert

Without a file, each host keeps its own definition but for the flags. A running process is not
touched: what changes in how it is started counts from its next start. The command says so where
nothing changes. With --roll it becomes a job over every host that has the process, or those of --host:
muster job pause, resume, cancel, retry and revert. muster history shows what was changed before.";

/// What an update without a roll leaves to do.
pub(super) const RUNS_KEEP_IT: &str =
    "a run keeps its old definition until it is restarted: see muster ps --pending";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the process; may be in the file instead
    #[arg(value_name = "NAMESPACE/NAME")]
    pub name: Option<FullName>,
    /// A definition in TOML, YAML or JSON; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<String>,
    #[command(flatten)]
    pub targets: TargetArgs,
    #[command(flatten)]
    pub spec: SpecArgs,
    #[command(flatten)]
    pub roll: RollArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let from_file = args.file.as_deref().map(definition::read).transpose()?;
    if from_file.is_none() && args.spec.is_empty() {
        let name = args.name.as_ref();
        register::name(name, &Definition::default(), false)?;
        return Err(Failure::usage("nothing to change").advise(
            "give a file with --file FILE, or the flags to change; see muster update --help",
        ));
    }
    let rolls = args.roll.is_asked()?;
    let named = args.targets.hosts.read()?;
    // Check the file before the first request, and everything before the first change.
    let in_file = from_file.map(|file| file_of(args, file)).transpose()?;
    let client = context.client()?;
    let mut updates = Vec::new();
    match in_file {
        Some(in_file) => {
            for mut one in in_file {
                one.hosts = file_hosts(&client, args.targets.all, rolls, &named, &mut one)?;
                updates.push(one);
            }
        }
        None => {
            let name = register::name(args.name.as_ref(), &Definition::default(), false)?;
            let registered = Registered::read(&client, &name)?;
            let all = args.targets.all || rolls;
            for (hosts, mut definition) in registered.chosen(&client, all, named)? {
                args.spec.apply(&mut definition)?;
                definition.hosts = hosts;
                updates.push(Described::new(name.clone(), definition)?);
            }
        }
    }
    match rolls {
        true => roll(context, &client, args, updates),
        false => send(context, &client, updates),
    }
}

/// Replaces one definition batch by batch.
fn roll(
    context: &Context,
    client: &Client,
    args: &Args,
    updates: Vec<Described>,
) -> Result<Exit, Failure> {
    let mut different: Vec<Described> = Vec::new();
    for one in updates {
        let is_same = |known: &&mut Described| {
            (&known.name, &known.spec, &known.labels) == (&one.name, &one.spec, &one.labels)
        };
        match different.iter_mut().find(is_same) {
            Some(known) => known.hosts.extend(one.hosts),
            None => different.push(one),
        }
    }
    let Some(one) = different.pop().filter(|_| different.is_empty()) else {
        return Err(Failure::usage(
            "--roll brings one definition to its hosts, and these are several",
        )
        .advise(
            "choose hosts that share one with --host, or give the whole definition with --file",
        ));
    };
    let update = JobUpdateBody {
        spec: Some(SpecBody::Complete(Box::new(one.spec))),
        labels: one
            .labels
            .iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        ..JobUpdateBody::default()
    };
    args.roll
        .begin(context, client, &one.name, update, &one.hosts)
}

/// Replaces definitions, and shows what that changed.
pub(super) fn send(
    context: &Context,
    client: &Client,
    updates: Vec<Described>,
) -> Result<Exit, Failure> {
    let mut sent = Vec::new();
    for one in updates {
        let body = definition::body(one.hosts, &one.labels, one.spec);
        let results = client.put(&process_path(&one.name), &body)?;
        sent.push((one.name, results));
    }
    let exit = register::report_all(&context.out, "updated", &sent)?;
    let mut results = sent.iter().flat_map(|(_, results)| &results.results);
    if results.any(|one| one.changed) {
        context.out.note(RUNS_KEEP_IT);
    }
    Ok(exit)
}

/// The definitions of the file, with the flags on top of each.
fn file_of(args: &Args, definitions: Vec<Definition>) -> Result<Vec<Described>, Failure> {
    let is_several = definitions.len() > 1;
    let each = definitions.into_iter().map(|mut definition| {
        args.spec.apply(&mut definition)?;
        let name = register::name(args.name.as_ref(), &definition, is_several)?;
        Described::new(name, definition)
    });
    each.collect()
}

/// The hosts of the command line, else of the file, else the only one.
fn file_hosts(
    client: &Client,
    all: bool,
    rolls: bool,
    named: &[HostRef],
    one: &mut Described,
) -> Result<Vec<HostRef>, Failure> {
    match (all, named, one.hosts.is_empty()) {
        (false, [_, ..], _) => Ok(named.to_vec()),
        (false, [], false) => Ok(std::mem::take(&mut one.hosts)),
        (all, ..) => Registered::read(client, &one.name)?.hosts(client, all || rolls),
    }
}

/// What is registered under a name: its definitions, and which host has which.
#[derive(Debug)]
pub(super) struct Registered {
    pub(super) name: FullName,
    pub(super) definitions: Vec<DefinitionView<'static>>,
    pub(super) rows: Vec<ProcessView<'static>>,
}

impl Registered {
    /// Empty where the process is registered nowhere.
    pub(super) fn read(client: &Client, name: &FullName) -> Result<Self, Failure> {
        let detail: ProcessDetail = match client.process(name) {
            Ok(detail) => detail,
            Err(failure) if failure.kind == Kind::NotFound => ProcessDetail::default(),
            Err(failure) => return Err(failure),
        };
        let rows = match detail.definitions.is_empty() {
            true => Vec::new(),
            false => {
                let page = client.pages(&processes_named(name), "processes", None)?;
                page.rows
            }
        };
        Ok(Self {
            name: name.clone(),
            definitions: detail.definitions,
            rows,
        })
    }

    fn hosts(&self, client: &Client, all: bool) -> Result<Vec<HostRef>, Failure> {
        let hosts: Vec<String> = self.rows.iter().map(|row| row.host.to_string()).collect();
        match (hosts.as_slice(), all) {
            ([], true) => Err(target::unknown(&self.name)),
            ([], false) => Ok(vec![target::only_host(client)?]),
            ([_, _, ..], false) => Err(target::several_hosts(&self.name, &hosts)),
            _ => hosts.iter().map(|host| target::parse_host(host)).collect(),
        }
    }

    /// The definition of each host that is chosen; hosts with the same one stand together.
    fn chosen(
        &self,
        client: &Client,
        all: bool,
        named: Vec<HostRef>,
    ) -> Result<Vec<(Vec<HostRef>, Definition)>, Failure> {
        let hosts = match named.is_empty() {
            true => self.hosts(client, all)?,
            false => named,
        };
        let mut chosen: Vec<(Option<u32>, Vec<HostRef>)> = Vec::new();
        for host in hosts {
            let row = self.rows.iter().find(|row| is_host(&host, row));
            let definition = match (row, self.definitions.as_slice()) {
                (Some(row), _) => Some(row.definition),
                (None, []) => None,
                (None, [only]) => Some(only.id),
                (None, several) => {
                    return Err(Failure::usage(format!(
                        "{} is not registered on {}, and has {} elsewhere: flags alone do not say which one to use",
                        self.name,
                        host_text(&host),
                        counted(several.len(), "different definition")
                    ))
                    .advise("give the whole definition with --file FILE; muster export writes one"));
                }
            };
            match chosen.iter_mut().find(|(known, _)| *known == definition) {
                Some((_, hosts)) => hosts.push(host),
                None => chosen.push((definition, vec![host])),
            }
        }
        let each = chosen.into_iter().map(|(definition, hosts)| {
            let Some(id) = definition else {
                let mut definition = Definition::default();
                definition.fill_in(register::caller_defaults());
                return Ok((hosts, definition));
            };
            let view = self.definition(id)?;
            let definition = Definition::of(view.spec.clone().into_owned(), &view.labels);
            Ok((hosts, definition))
        });
        each.collect()
    }

    pub(super) fn definition(&self, id: u32) -> Result<&DefinitionView<'static>, Failure> {
        let mut definitions = self.definitions.iter();
        definitions.find(|view| view.id == id).ok_or_else(|| {
            let what = format!("{} was changed while it was read", self.name);
            Failure::new(Kind::Failed, what).advise("nothing was done; try again")
        })
    }
}
