//! `muster start`, `stop`, `restart`, `reload`, `kill`, `manage`, `unmanage`, `query`: one request, one task, one report.

use std::time::Duration;

use api::{OperateBody, Operated, SpecBody};
use model::{FullName, Op};

use super::Context;
use crate::client::process_path;
use crate::definition;
use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::follow;
use crate::format::{counted, parse_duration};
use crate::report::{Strictness, report};
use crate::target::{self, TargetArgs, Targets, how_to_register};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process
    #[arg(value_name = "NAMESPACE/NAME")]
    pub name: FullName,
    #[command(flatten)]
    pub targets: TargetArgs,
    /// Register this definition first, as update does, on its hosts unless others are named; - reads standard input
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<String>,
    /// Print the task's id and do not wait for its end
    #[arg(long)]
    pub no_wait: bool,
    /// Wait no longer than this (90s, 5m, 1h) [default: until every target has ended]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "no_wait")]
    pub timeout: Option<Duration>,
    /// Count already running (828) and already stopped (829) as failures
    #[arg(long, conflicts_with = "no_wait")]
    pub strict: bool,
}

pub fn examples(verb: &str) -> String {
    format!(
        "\
Examples:
  muster {verb} web/nginx                  where it is registered on one host only
  muster {verb} web/nginx --host 10.0.0.1,10.0.0.2
  muster {verb} web/nginx --all --timeout 5m
  muster {verb} web/nginx --all --no-wait  print the task's id; muster task ID follows it

{EXIT_CODES}"
    )
}

pub fn run(context: &Context, op: Op, args: &Args) -> Result<Exit, Failure> {
    let mut definition = args.file.as_deref().map(definition::read).transpose()?;
    let spec = match &definition {
        Some(definition) => {
            let (spec, _) = definition.complete(&args.name)?;
            Some(SpecBody::Complete(Box::new(spec)))
        }
        None => None,
    };
    let client = context.client()?;
    let chosen = match &mut definition {
        // It need not be registered yet: the file names the hosts, or there is only one.
        Some(definition) if !args.targets.is_given() => {
            Targets::Hosts(match definition.hosts.is_empty() {
                true => vec![target::only_host(&client)?],
                false => std::mem::take(&mut definition.hosts),
            })
        }
        Some(_) | None => args.targets.choose(&client, &args.name)?,
    };
    let labels = definition
        .map(|definition| definition.labels)
        .unwrap_or_default();
    let (hosts, all) = match chosen {
        Targets::All => (None, Some(true)),
        Targets::Hosts(hosts) => (Some(hosts), None),
    };
    let body = OperateBody {
        op: Some(op.as_str().to_owned()),
        hosts,
        all,
        spec,
        labels,
        process: None,
    };
    let task: Operated = client
        .post(&process_path(&args.name).join("operate"), &body)
        .map_err(|failure| target::not_registered(failure, &args.name))?;
    let out = &context.out;
    if args.no_wait {
        match out.is_json() {
            true => out.json(&task)?,
            false => out.line(&task.task_id)?,
        }
        return Ok(Exit::Ok);
    }
    if task.targets > 1 {
        let targets = counted(task.targets, "host");
        out.note(format!("{}: {op} {} on {targets}", task.task_id, args.name));
    }
    let ended = follow::task(&client, out, &task.task_id, args.timeout)?;
    let exit = report(&client, out, &ended, Strictness::of(args.strict))?;
    if exit == Exit::NotFound {
        out.note(how_to_register(&args.name));
    }
    Ok(exit)
}
