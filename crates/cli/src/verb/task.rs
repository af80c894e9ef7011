//! `muster task`: the progress and the results of an operation.

use std::time::Duration;

use api::{Operated, TaskList, TaskRetryBody};
use clap::builder::PossibleValuesParser;
use model::{FullName, Op, TaskId};

use super::Context;
use crate::args::value_name;
use crate::client::{Path, task_path};
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::failure_groups::{self, FailureArgs};
use crate::follow;
use crate::format::{age, count, counted, now, parse_duration, user_and_app};
use crate::report::{Strictness, report};
use crate::table::{Cell, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster task                                 the last tasks
  muster task GSETASK:000066A1B2C3D4E5        follow it to its end, then show its results
  muster task 000066A1B2C3D4E5 --no-wait      as it is now
  muster task GSETASK:000066A1B2C3D4E5 -o json
  muster task 000066A1B2C3D4E5 --failures     why targets failed, alike reasons in one line
  muster task retry 000066A1B2C3D4E5          the failed targets again, in a new task
  muster task retry 000066A1B2C3D4E5 --code 117 --host 10.0.0.1
  muster task --process web/nginx --op stop --since 24h    who stopped it
  muster task --user ann --state running

It ends as the operation would have: 0 all ok, 1 some target failed, 4 no such task, 5 timed out.";

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// The task's id as an operation printed it, or `list`
    #[arg(value_name = "ID", default_value = "list", value_parser = parse_selector)]
    selector: Selector,
    /// Show the task as it is now
    #[arg(long)]
    no_wait: bool,
    /// Wait no longer than this (90s, 5m, 1h) [default: until every target has ended]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "no_wait")]
    timeout: Option<Duration>,
    /// Count already running (828) and already stopped (829) as failures
    #[arg(long)]
    strict: bool,
    /// Show its failures so far in groups of one code and alike reasons
    #[arg(long)]
    failures: bool,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Which tasks are listed")]
struct ListArgs {
    /// Only with a target in these namespaces, separated by commas
    #[arg(short, long, value_name = "NAMESPACE", value_delimiter = ',')]
    namespace: Vec<String>,
    /// Only with a target of this process
    #[arg(long, value_name = "NAMESPACE/NAME")]
    process: Option<FullName>,
    /// Only with this operation
    #[arg(long, value_name = "OP", value_parser = PossibleValuesParser::new(Op::ALL.map(Op::as_str)))]
    op: Option<String>,
    /// Only those of this user
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Only those of this app
    #[arg(long, value_name = "APP")]
    app: Option<String>,
    /// Only in this state
    #[arg(long, value_enum)]
    state: Option<StateArg>,
    /// Only those begun as long ago as this or later (90s, 15m, 1h, 7d)
    #[arg(long, value_name = "DURATION")]
    since: Option<String>,
    /// Only those begun longer ago than this (90s, 15m, 1h, 7d)
    #[arg(long, value_name = "DURATION")]
    until: Option<String>,
    /// How many tasks are listed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// List those that came before this one
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    before: Option<TaskId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StateArg {
    Running,
    Finished,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Operate on the failed targets again, in a new task, and follow it
    #[command(after_help = EXAMPLES)]
    Retry(RetryArgs),
}

#[derive(Debug, clap::Args)]
struct RetryArgs {
    /// The task's id as an operation printed it
    #[arg(value_name = "ID", value_parser = parse_id)]
    id: TaskId,
    #[command(flatten)]
    failures: FailureArgs,
    /// Print the new task's id and do not wait for its end
    #[arg(long)]
    no_wait: bool,
    /// Wait no longer than this (90s, 5m, 1h) [default: until every target has ended]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "no_wait")]
    timeout: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Selector {
    List,
    Task(TaskId),
}

fn parse_selector(text: &str) -> Result<Selector, String> {
    match text {
        "list" => Ok(Selector::List),
        id => parse_id(id).map(Selector::Task),
    }
}

/// The prefix may be left out.
fn parse_id(text: &str) -> Result<TaskId, String> {
    text.parse()
        .or_else(|_| format!("GSETASK:{text}").parse())
        .map_err(|e: model::Invalid| e.rule)
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    if let Some(Action::Retry(args)) = &args.action {
        return retry(context, args);
    }
    let Selector::Task(id) = &args.selector else {
        if args.failures {
            return Err(Failure::usage("--failures is about one task: name it"));
        }
        let path = args.list.path();
        out.response(client.get(&path)?, |list| {
            out.table_or(&table(&list), "no tasks")
        })?;
        return Ok(Exit::Ok);
    };
    let id = id.to_string();
    if args.failures {
        return failure_groups::show(&client, out, task_path(&id));
    }
    let task = match args.no_wait {
        true => client.task(&id, Duration::ZERO)?,
        false => follow::task(&client, out, &id, args.timeout)?,
    };
    if !out.is_document() {
        let age = age(task.created_at, now());
        let by = user_and_app(&task.user, &task.app);
        let retries = task.retries.as_ref();
        let retries = retries.map_or_else(String::new, |id| format!(", again what failed of {id}"));
        out.note(format!("{id}: {} {age} ago by {by}{retries}", task.state));
    }
    report(&client, out, &task, Strictness::of(args.strict))
}

impl ListArgs {
    fn path(&self) -> Path {
        let path = Path::new("tasks")
            .query("limit", self.limit)
            .maybe("before", self.before)
            .maybe("process", self.process.as_ref())
            .maybe("op", self.op.as_ref())
            .maybe("user", self.user.as_ref())
            .maybe("app", self.app.as_ref())
            .maybe("state", self.state.map(value_name))
            .maybe("since", self.since.as_ref())
            .maybe("until", self.until.as_ref());
        let namespaces = self.namespace.iter();
        namespaces.fold(path, |path, namespace| path.query("namespace", namespace))
    }
}

fn retry(context: &Context, args: &RetryArgs) -> Result<Exit, Failure> {
    let (client, out) = (context.client()?, &context.out);
    let body = TaskRetryBody {
        codes: args.failures.codes(),
        reason: args.failures.reason(),
        hosts: args.failures.hosts(),
    };
    let path = task_path(&args.id.to_string()).join("retry");
    let operated: Operated = client.post(&path, &body)?;
    if args.no_wait {
        match out.is_document() {
            true => out.document(&operated)?,
            false => out.line(&operated.task_id)?,
        }
        return Ok(Exit::Ok);
    }
    let targets = counted(operated.targets, "target");
    out.note(format!(
        "{}: {targets} of {} again",
        operated.task_id, args.id
    ));
    let task = follow::task(&client, out, &operated.task_id, args.timeout)?;
    report(&client, out, &task, Strictness::Usual)
}

fn table(list: &TaskList) -> TextTable {
    let now = now();
    let mut table = TextTable::new("TASK|>AGE|OP|~PROCESS|STATE|>TARGETS|>OK|>FAILED|BY");
    for row in &list.tasks {
        let failed = row.ended.saturating_sub(row.ok);
        let process = match row.processes {
            0 | 1 => row.process.clone(),
            several => format!("{} and {} more", row.process, count(several - 1)),
        };
        let (style, state) = match row.ended >= row.targets {
            true => (Style::Plain, "finished"),
            false => (Style::Warn, "running"),
        };
        table.row([
            Cell::from(row.id.as_str()),
            age(row.created_at, now).into(),
            row.op.as_deref().unwrap_or("several").into(),
            process.into(),
            Cell::styled(style, state),
            count(row.targets).into(),
            count(row.ok).into(),
            Cell::styled(Style::bad_if(failed > 0), count(failed)),
            user_and_app(&row.user, &row.app).into(),
        ]);
    }
    table
}
