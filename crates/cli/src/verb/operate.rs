//! `muster start`, `stop`, `restart`, `reload`, `kill`, `manage`, `unmanage`, `query`: one request, one task, one report.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{HostRef, JobBody, OperateBody, Operated, OperationPlanView, OperationsBody, SpecBody};
use model::job::JobAction;
use model::lenient::Object;
use model::{Code, FullName, Op};
use serde_json::{Map, Value};

use super::Context;
use super::job::begin_chosen;
use crate::client::{Client, Path, process_path};
use crate::confirm::ConfirmArgs;
use crate::definition::{self, Definition};
use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::follow;
use crate::format::parse_duration;
use crate::pace::PaceArgs;
use crate::processes::{Chosen, ChosenProcess, HOSTS_HELP, NAMES_HELP, ProcessArgs, Unregistered};
use crate::report::{Strictness, report};
use crate::target::{self, how_to_register};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub processes: ProcessArgs,
    /// Register this definition first, as update does, on its hosts unless others are named; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<String>,
    /// Only show what it would touch and run: processes, environments, what is so already, agents that are away, commands
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    /// Print the task's id and do not wait for its end
    #[arg(long)]
    pub no_wait: bool,
    /// Wait no longer than this (90s, 5m, 1h) [default: until every target has ended]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "no_wait")]
    pub timeout: Option<Duration>,
    /// Count already running (828) and already stopped (829) as failures
    #[arg(long, conflicts_with = "no_wait")]
    pub strict: bool,
    #[command(flatten)]
    pub pace: PaceArgs,
}

pub fn examples(op: Op) -> String {
    let verb = op.as_str();
    let asks = match interrupts(op) {
        true => {
            "It asks first where it would touch more than one process; without a terminal it needs --yes then.\n"
        }
        false => "",
    };
    let rolls = match op {
        Op::Start | Op::Restart | Op::Reload => format!(
            "  muster {verb} 'web/*' -l tier=front --canary 1 --batch 10% --gate ready:30s --max-failures 2\n"
        ),
        Op::Stop | Op::Kill | Op::Manage | Op::Unmanage => {
            format!("  muster {verb} 'web/*' -l tier=front --batch 10% --pause 30s\n")
        }
        Op::Query => String::new(),
    };
    format!(
        "\
Examples:
  muster {verb} web/nginx                  where it is registered on one host only
  muster {verb} web/nginx --host 10.0.0.1,10.0.0.2
  muster {verb} web/nginx --all --timeout 5m
  muster {verb} 'app/*' db/redis -l tier=front
  muster {verb} 'app/*' --dry-run          what it would touch and run
  muster {verb} web/nginx --all --no-wait  print the task's id; muster task ID follows it
{rolls}
{NAMES_HELP}
{HOSTS_HELP}
What it touches is shown before, where it is more than one process; all of it is one task. With a
flag of pace it is a job, which goes on by itself: muster job pause, resume, cancel and retry.
{asks}
{EXIT_CODES}"
    )
}

/// Whether the operation stops processes that run.
fn interrupts(op: Op) -> bool {
    match op {
        Op::Stop | Op::Restart | Op::Kill => true,
        Op::Start | Op::Query | Op::Manage | Op::Unmanage | Op::Reload => false,
    }
}

pub fn run(context: &Context, op: Op, args: &Args) -> Result<Exit, Failure> {
    let definition = args.file.as_deref().map(definition::read_one).transpose()?;
    let inline = definition
        .as_ref()
        .map(|definition| Inline::new(args, definition))
        .transpose()?;
    let client = context.client()?;
    let chosen = match (&inline, definition) {
        // It need not be registered yet: the file names the hosts, or there is only one.
        (Some(inline), Some(definition)) if !args.processes.targets.is_given() => {
            let hosts = match definition.hosts.is_empty() {
                true => vec![target::only_host(&client)?],
                false => definition.hosts,
            };
            let name = inline.name.clone();
            Chosen(vec![ChosenProcess { name, hosts }])
        }
        _ => args.processes.choose(&client, Unregistered::Refused)?,
    };
    let out = &context.out;
    let filter = match &inline {
        Some(_) => None,
        None => args.processes.filter()?,
    };
    if args.dry_run {
        let filter = filter.or_else(|| chosen.filter().filter(|_| inline.is_none()));
        let plan = filter.map(|filter| plan(&client, op, filter)).transpose()?;
        chosen.list(out, op.as_str(), plan.as_ref())?;
        return Ok(Exit::Ok);
    }
    if op != Op::Query {
        chosen.announce(out, op.as_str());
    }
    if interrupts(op) && chosen.n_targets() > 1 {
        args.confirm.ask(&format!("{op} {}", chosen.words()))?;
    }
    if args.pace.is_given() {
        if inline.is_some() {
            return Err(Failure::usage(
                "--file: a job operates what is registered; muster update FILE first",
            ));
        }
        return roll(context, &client, op, args, &chosen);
    }
    let task = match filter {
        Some(filter) => begin_matching(&client, op, filter, chosen.n_targets())?,
        None => begin(&client, op, &chosen, inline)?,
    };
    if args.no_wait {
        match out.is_document() {
            true => out.document(&task)?,
            false => out.line(&task.task_id)?,
        }
        return Ok(Exit::Ok);
    }
    if task.targets > 1 {
        out.note(format!("{}: {op} {}", task.task_id, chosen.words()));
    }
    let ended = follow::task(&client, out, &task.task_id, args.timeout)?;
    let exit = report(&client, out, &ended, Strictness::of(args.strict))?;
    if exit == Exit::NotFound
        && let [only] = chosen.0.as_slice()
    {
        out.note(how_to_register(&only.name));
    }
    Ok(exit)
}

/// Operates what is chosen as a job: in batches, with gates and pauses.
fn roll(
    context: &Context,
    client: &Client,
    op: Op,
    args: &Args,
    chosen: &Chosen,
) -> Result<Exit, Failure> {
    let Some(action) = JobAction::of_op(op) else {
        return Err(Failure::usage(format!(
            "{op} asks every agent at once: leave the flags of pace out"
        )));
    };
    let filter = match args.processes.filter()? {
        Some(filter) => Some(filter),
        None => chosen.registered_filter(args.processes.targets.hosts.read()?.as_slice()),
    };
    let filter = filter.ok_or_else(|| {
        Failure::usage("a job knows hosts by their address: name them as IP or CLOUD:IP")
    })?;
    let mut options = args.pace.options();
    if !args.strict {
        let so_already = [Code::ALREADY_RUNNING, Code::NOT_RUNNING];
        let codes = so_already.iter().map(|code| i64::from(code.0));
        options
            .ignore_error_codes
            .get_or_insert_default()
            .extend(codes);
    }
    let body = JobBody {
        action: action.as_str().into(),
        filter: Some(filter),
        expect_count: Some(chosen.n_targets() as i64),
        options: Some(options),
        ..JobBody::default()
    };
    begin_chosen(context, client, &body, (args.no_wait, args.timeout))
}

/// The definition of a file that is registered first.
#[derive(Debug)]
pub(super) struct Inline {
    name: FullName,
    spec: SpecBody,
    labels: BTreeMap<String, String>,
}

impl Inline {
    fn new(args: &Args, definition: &Definition) -> Result<Self, Failure> {
        let name = args.processes.names.only().ok_or_else(|| {
            Failure::usage("--file: goes with one NAMESPACE/NAME, without wildcards and labels")
        })?;
        let (spec, _) = definition.complete(&name)?;
        Ok(Self {
            name,
            spec: SpecBody::Complete(Box::new(spec)),
            labels: definition.labels.clone(),
        })
    }
}

/// What the operation would do.
fn plan(client: &Client, op: Op, filter: Map<String, Value>) -> Result<OperationPlanView, Failure> {
    let body = OperationsBody {
        op: Some(op.as_str().to_owned()),
        filter: Some(filter),
        dry_run: Some(true),
        ..OperationsBody::default()
    };
    client.post(&Path::new("operate"), &body)
}

/// Begins one task for everything that matches, if it is still as many as were shown.
fn begin_matching(
    client: &Client,
    op: Op,
    filter: Map<String, Value>,
    n_targets: usize,
) -> Result<Operated, Failure> {
    let body = OperationsBody {
        op: Some(op.as_str().to_owned()),
        filter: Some(filter),
        expect_count: Some(n_targets as u64),
        ..OperationsBody::default()
    };
    client.post(&Path::new("operate"), &body)
}

/// Begins one task for everything that is chosen.
pub(super) fn begin(
    client: &Client,
    op: Op,
    chosen: &Chosen,
    inline: Option<Inline>,
) -> Result<Operated, Failure> {
    let body = |hosts: &[HostRef]| OperateBody {
        op: Some(op.as_str().to_owned()),
        hosts: Some(hosts.to_vec()),
        ..OperateBody::default()
    };
    if let [only] = chosen.0.as_slice() {
        let (spec, labels) = match inline {
            Some(inline) => (Some(inline.spec), inline.labels),
            None => (None, BTreeMap::new()),
        };
        let body = OperateBody {
            spec,
            labels,
            ..body(&only.hosts)
        };
        let path = process_path(&only.name).join("operate");
        let operated = client.post(&path, &body);
        return operated.map_err(|failure| target::not_registered(failure, &only.name));
    }
    let operations = chosen.0.iter().map(|one| {
        Object(OperateBody {
            process: Some(one.name.to_string()),
            ..body(&one.hosts)
        })
    });
    let body = OperationsBody {
        operations: Some(operations.collect()),
        ..OperationsBody::default()
    };
    client.post(&Path::new("operate"), &body)
}
