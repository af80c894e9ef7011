//! `muster register`: describes a process and names its hosts.

use api::{HostRef, HostResult, Results};
use model::{Code, FullName, Labels, Spec};
use serde_json::{Value, json};

use super::Context;
use crate::client::process_path;
use crate::colors::Style;
use crate::definition::{self, CallerDefaults, Definition, SpecArgs};
use crate::failure::{Exit, Failure};
use crate::format::{clean, count, counted};
use crate::home;
use crate::out::Out;
use crate::target::{self, HostArgs};

pub const EXAMPLES: &str = "\
Examples:
  On the one host that is connected, from the current directory:
    muster register demo/sleeper --start 'sleep 1000'
  A daemon on two hosts:
    muster register web/nginx --host 10.0.0.1,10.0.0.2 --setup-path /opt/nginx \\
      --pid-path /run/nginx.pid --user root --start ./sbin/nginx \\
      --reload './sbin/nginx -s reload' --label tier=front
  From a file, for every host of a list:
    muster register --file nginx.toml --host @hosts.txt
  What muster export wrote, for one process or for many:
    muster register --file all.toml
  The body of a GSE register_proc_info call:
    muster register --file body.json

A file in TOML (the same keys in YAML or JSON):
  namespace = \"web\"
  name = \"nginx\"
  hosts = [\"10.0.0.1\", \"0:10.0.0.2\"]
  [identity]
  setup_path = \"/opt/nginx\"
  user = \"root\"
  [control]
  start_cmd = \"./sbin/nginx\"
  [monitor_policy]
  auto_type = \"resident\"

Several of them stand under processes: [[processes]] before each, [processes.identity] and so on.
Flags win over the file. To register an equal spec again is fine; a different one is
refused: see muster update.";

/// How many hosts that failed are listed.
const MAX_FAILURES: usize = 50;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the process; may be in the file instead
    #[arg(value_name = "NAMESPACE/NAME")]
    pub name: Option<FullName>,
    /// A definition in TOML, YAML or JSON; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<String>,
    #[command(flatten)]
    pub hosts: HostArgs,
    #[command(flatten)]
    pub spec: SpecArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    // Check everything before the first request.
    let mut described = described(args)?;
    let client = context.client()?;
    for one in described.iter_mut().filter(|one| one.hosts.is_empty()) {
        one.hosts.push(target::only_host(&client)?);
    }
    let mut sent = Vec::new();
    for one in described {
        let body = definition::body(one.hosts, &one.labels, one.spec);
        let results = client.post(&process_path(&one.name), &body)?;
        sent.push((one.name, results));
    }
    report_all(&context.out, "registered", &sent)
}

/// A complete definition, with its name and hosts.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) name: FullName,
    pub(super) hosts: Vec<HostRef>,
    pub(super) labels: Labels,
    pub(super) spec: Spec,
}

impl Described {
    pub(super) fn new(name: FullName, definition: Definition) -> Result<Self, Failure> {
        let (spec, labels) = definition.complete(&name)?;
        Ok(Self {
            name,
            hosts: definition.hosts,
            labels,
            spec,
        })
    }
}

/// Combines file, flags and the defaults of the caller.
fn described(args: &Args) -> Result<Vec<Described>, Failure> {
    let definitions = match &args.file {
        Some(file) => definition::read(file)?,
        None => vec![Definition::default()],
    };
    let hosts = args.hosts.read()?;
    let is_several = definitions.len() > 1;
    let each = definitions.into_iter().map(|mut definition| {
        args.spec.apply(&mut definition)?;
        if !hosts.is_empty() {
            definition.hosts.clone_from(&hosts);
        }
        if args.file.is_none() {
            definition.fill_in(caller_defaults());
        }
        let name = name(args.name.as_ref(), &definition, is_several)?;
        Described::new(name, definition)
    });
    each.collect()
}

/// The name on the command line, else the one in the file.
pub(super) fn name(
    given: Option<&FullName>,
    definition: &Definition,
    is_several: bool,
) -> Result<FullName, Failure> {
    if given.is_some() && is_several {
        return Err(
            Failure::usage("the file holds several definitions, each with its name")
                .advise("leave NAMESPACE/NAME out"),
        );
    }
    let name = given.or(definition.name.as_ref()).cloned();
    name.ok_or_else(|| {
        Failure::usage("the process has no name")
            .advise("give NAMESPACE/NAME on the command line, or namespace and name in the file")
    })
}

pub(super) fn caller_defaults() -> CallerDefaults {
    let directory = std::env::current_dir().ok();
    CallerDefaults {
        directory: directory.and_then(|path| path.to_str().map(str::to_owned)),
        user: home::current_user(),
    }
}

/// Shows the results of one or several processes. A process may stand there more than once, with different hosts.
pub(super) fn report_all(
    out: &Out,
    done: &str,
    sent: &[(FullName, Results)],
) -> Result<Exit, Failure> {
    let mut by_name: Vec<(&FullName, Vec<HostResult>)> = Vec::new();
    for (name, results) in sent {
        let results = results.results.iter().cloned();
        match by_name.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.extend(results),
            None => by_name.push((name, results.collect())),
        }
    }
    if out.is_document() && by_name.len() != 1 {
        let processes: Vec<Value> = by_name
            .iter()
            .map(|(name, results)| json!({"process": name, "results": results}))
            .collect();
        let is_failed = |results: &[HostResult]| results.iter().any(|one| one.code != Code::OK.0);
        out.document(&json!({ "processes": processes }))?;
        return Ok(Exit::some_failed(
            by_name.iter().any(|(_, results)| is_failed(results)),
        ));
    }
    let mut exit = Exit::Ok;
    for (name, results) in by_name {
        match report(out, done, name, &Results { results })? {
            Exit::Ok => {}
            other => exit = other,
        }
    }
    Ok(exit)
}

/// Shows the result of each host.
pub(super) fn report(
    out: &Out,
    done: &str,
    name: &FullName,
    results: &Results,
) -> Result<Exit, Failure> {
    let failed = failed(results);
    let exit = Exit::some_failed(!failed.is_empty());
    if out.is_document() {
        out.document(results)?;
        return Ok(exit);
    }
    show_failures(out, &failed)?;
    if failed.iter().any(|result| result.code == Code::EXISTS.0) {
        out.note(format!(
            "{name} is already registered there with another spec: muster status {name} shows it, muster update replaces it"
        ));
    }
    let n_done = results.results.len() - failed.len();
    let n_changed = results.results.iter().filter(|one| one.changed).count();
    match (failed.len(), n_changed) {
        (0, 0) => {
            let hosts = counted(n_done, "host");
            out.success(format!("{name} is the same on {hosts}: nothing changed"))?;
        }
        (0, _) => {
            let rest = match n_done - n_changed {
                0 => String::new(),
                rest => format!("; {} had the same already", counted(rest, "host")),
            };
            let hosts = counted(n_changed, "host");
            out.success(format!("{done} {name} on {hosts}{rest}"))?;
        }
        (n_failed, _) => out.line(format!("{} ok, {} failed", count(n_done), count(n_failed)))?,
    }
    Ok(exit)
}

pub(super) fn failed<'r, 'a>(results: &'r Results<'a>) -> Vec<&'r HostResult<'a>> {
    let results = results.results.iter();
    results.filter(|one| one.code != Code::OK.0).collect()
}

/// Shows the first failures, and how many more there are.
pub(super) fn show_failures(out: &Out, failed: &[&HostResult<'_>]) -> Result<(), Failure> {
    for result in failed.iter().take(MAX_FAILURES) {
        let host = out.paint(Style::Bad, &clean(&result.host));
        out.line(format!(
            "{host}  failed ({}): {}",
            result.code,
            clean(&result.message)
        ))?;
    }
    if failed.len() > MAX_FAILURES {
        out.line(format!("… and {} more", count(failed.len() - MAX_FAILURES)))?;
    }
    Ok(())
}
