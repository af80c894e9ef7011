//! `muster register`: describes a process and names its hosts.

use api::{HostResult, Results};
use model::{Code, FullName};

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
    muster register -f nginx.toml --host @hosts.txt
  The body of a GSE register_proc_info call:
    muster register -f body.json

A file in TOML (the same keys in JSON):
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

Flags win over the file. To register an equal spec again is fine; a different one is
refused: see muster update.";

/// How many hosts that failed are listed.
const MAX_FAILURES: usize = 50;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the process; may be in the file instead
    #[arg(value_name = "NAMESPACE/NAME")]
    pub name: Option<FullName>,
    /// A definition in TOML or JSON; - reads standard input
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<String>,
    #[command(flatten)]
    pub hosts: HostArgs,
    #[command(flatten)]
    pub spec: SpecArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let (name, mut definition) = described(args)?;
    // Check everything before the first request.
    let (spec, labels) = definition.complete(&name)?;
    let client = context.client()?;
    if definition.hosts.is_empty() {
        definition.hosts.push(target::only_host(&client)?);
    }
    let body = definition::body(std::mem::take(&mut definition.hosts), &labels, spec);
    let results = client.post(&process_path(&name), &body)?;
    report(&context.out, "registered", &name, &results)
}

/// Combines file, flags and the defaults of the caller.
fn described(args: &Args) -> Result<(FullName, Definition), Failure> {
    let mut definition = match &args.file {
        Some(file) => definition::read(file)?,
        None => Definition::default(),
    };
    args.spec.apply(&mut definition)?;
    let hosts = args.hosts.read()?;
    if !hosts.is_empty() {
        definition.hosts = hosts;
    }
    if args.file.is_none() {
        definition.fill_in(caller_defaults());
    }
    let name = name(args.name.as_ref(), &definition)?;
    Ok((name, definition))
}

/// The name on the command line, else the one in the file.
pub(super) fn name(given: Option<&FullName>, definition: &Definition) -> Result<FullName, Failure> {
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

/// Shows the result of each host.
pub(super) fn report(
    out: &Out,
    done: &str,
    name: &FullName,
    results: &Results,
) -> Result<Exit, Failure> {
    let failed = failed(results);
    let exit = Exit::some_failed(!failed.is_empty());
    if out.is_json() {
        out.json(results)?;
        return Ok(exit);
    }
    show_failures(out, &failed)?;
    if failed.iter().any(|result| result.code == Code::EXISTS.0) {
        out.note(format!(
            "{name} is already registered there with another spec: muster status {name} shows it, muster update replaces it"
        ));
    }
    let n_done = results.results.len() - failed.len();
    match failed.len() {
        0 => out.success(format!("{done} {name} on {}", counted(n_done, "host")))?,
        n_failed => out.line(format!("{} ok, {} failed", count(n_done), count(n_failed)))?,
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
