//! `muster rm`: stops processes and forgets them.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{Results, TargetResult};
use model::{Code, FullName, Op};
use serde_json::json;

use super::operate::begin;
use super::{Context, register, unregister};
use crate::client::task_path;
use crate::confirm::ConfirmArgs;
use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::follow;
use crate::format::{clean, counted, parse_duration};
use crate::out::Out;
use crate::processes::{Chosen, ChosenProcess, HOSTS_HELP, NAMES_HELP, ProcessArgs, Unregistered};
use crate::report::{Strictness, Verdict, report};
use crate::target::parse_host;

pub fn examples() -> String {
    format!(
        "\
Examples:
  muster rm web/nginx                      stop it, then forget it
  muster rm web/nginx --host 10.0.0.1      there only
  muster rm 'app/*' -l tier=old --yes      without asking, as a script must
  muster rm web/nginx --all --force        forget it also where it could not be stopped

{NAMES_HELP}
{HOSTS_HELP}
Where a process cannot be stopped, for example because the agent of its host is not connected, it
stays registered and the command ends with 1: run it again when the agent is back. With --force it
is forgotten there all the same; what runs there goes on running, unmanaged, and the agent learns
when it is back that it is not registered. muster unregister forgets without stopping.
Asks first; without a terminal it needs --yes.

{EXIT_CODES}"
    )
}

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    processes: ProcessArgs,
    /// Forget it also where it could not be stopped
    #[arg(long)]
    force: bool,
    /// Only list the processes that it would stop and forget
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
    /// Wait no longer than this for the stop (90s, 5m); nothing is forgotten then
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let out = &context.out;
    let client = context.client()?;
    let chosen = args.processes.choose(&client, Unregistered::Refused)?;
    if args.dry_run {
        chosen.list(out, "remove", None)?;
        return Ok(Exit::Ok);
    }
    chosen.announce(out, "stop and forget");
    args.confirm
        .ask(&format!("stop and forget {}", chosen.words()))?;
    let task = begin(&client, Op::Stop, &chosen, None)?;
    let ended = follow::task(&client, out, &task.task_id, args.timeout)?;
    let path = task_path(&task.task_id);
    let results = client.pages::<TargetResult>(&path, "results", None)?.rows;
    let (failed, stopped): (Vec<TargetResult>, Vec<TargetResult>) = results
        .into_iter()
        .partition(|one| Strictness::Usual.judge(one.code) == Verdict::Failed);
    if !failed.is_empty() && !out.is_document() {
        report(&client, out, &ended, Strictness::Usual)?;
    }
    let (forgotten, kept): (Vec<&TargetResult>, Vec<&TargetResult>) = match args.force {
        true => (stopped.iter().chain(&failed).collect(), Vec::new()),
        false => (stopped.iter().collect(), failed.iter().collect()),
    };
    let sent = unregister::forget(&client, &grouped(&forgotten)?)?;
    if out.is_document() {
        let row = |one: &&TargetResult| json!({"process": one.process, "host": one.host, "code": one.code, "message": one.message});
        let rows = |all: &[&TargetResult]| all.iter().map(row).collect::<Vec<_>>();
        out.document(
            &json!({"task_id": task.task_id, "forgotten": rows(&forgotten), "kept": rows(&kept)}),
        )?;
    } else if !forgotten.is_empty() {
        register::report_all(out, done(args.force && !failed.is_empty()), &sent)?;
    }
    say_what_is_left(out, &failed, args.force);
    let is_unknown = |one: &&TargetResult| one.code == Code::NOT_REGISTERED.0;
    Ok(
        match (
            kept.is_empty(),
            forgotten.is_empty() && kept.iter().all(is_unknown),
        ) {
            (true, _) => Exit::some_failed(has_failures(&sent)),
            (false, true) => Exit::NotFound,
            (false, false) => Exit::SomeFailed,
        },
    )
}

fn done(is_forced: bool) -> &'static str {
    match is_forced {
        true => "forgot",
        false => "stopped and forgot",
    }
}

fn has_failures(sent: &[(FullName, Results)]) -> bool {
    let mut results = sent.iter().flat_map(|(_, results)| &results.results);
    results.any(|one| one.code != Code::OK.0)
}

/// What was operated on, by name.
fn grouped(results: &[&TargetResult]) -> Result<Chosen, Failure> {
    let mut chosen: Vec<ChosenProcess> = Vec::new();
    for result in results {
        let name = FullName::try_from(result.process.clone())?;
        let host = parse_host(&result.host)?;
        match chosen.iter_mut().find(|one| one.name == name) {
            Some(one) => one.hosts.push(host),
            None => chosen.push(ChosenProcess {
                name,
                hosts: vec![host],
            }),
        }
    }
    Ok(Chosen(chosen))
}

/// Explains what happened to processes that could not be stopped.
fn say_what_is_left(out: &Out, failed: &[TargetResult], is_forced: bool) {
    let mut hosts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in failed
        .iter()
        .filter(|one| one.code != Code::NOT_REGISTERED.0)
    {
        hosts.entry(&one.process).or_default().push(&one.host);
    }
    for (name, hosts) in hosts {
        let hosts = match hosts.as_slice() {
            [one] => clean(one),
            several => counted(several.len(), "host"),
        };
        let name = clean(name);
        match is_forced {
            true => out.warn(format!(
                "{name} could not be stopped on {hosts}: if it runs there, it goes on running"
            )),
            false => out.note(format!(
                "{name} stays registered on {hosts}, where it could not be stopped: run this again later, or --force"
            )),
        }
    }
}
