//! `muster task`: the progress and the results of an operation.

use std::time::Duration;

use api::TaskList;
use model::TaskId;

use super::Context;
use crate::client::Path;
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::follow;
use crate::format::{age, count, now, parse_duration, user_and_app};
use crate::report::{Strictness, report};
use crate::table::{Cell, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster task                                 the last tasks
  muster task GSETASK:000066A1B2C3D4E5        follow it to its end, then show its results
  muster task 000066A1B2C3D4E5 --no-wait      as it is now
  muster task GSETASK:000066A1B2C3D4E5 -o json

It ends as the operation would have: 0 all ok, 1 some target failed, 4 no such task, 5 timed out.";

#[derive(Debug, clap::Args)]
pub struct Args {
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
    /// How many tasks are listed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// List those that came before this one
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    before: Option<TaskId>,
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
    let Selector::Task(id) = &args.selector else {
        let path = Path::new("tasks")
            .query("limit", args.limit)
            .maybe("before", args.before);
        out.response(client.get(&path)?, |list| {
            out.table_or(&table(&list), "no tasks")
        })?;
        return Ok(Exit::Ok);
    };
    let id = id.to_string();
    let task = match args.no_wait {
        true => client.task(&id, Duration::ZERO)?,
        false => follow::task(&client, out, &id, args.timeout)?,
    };
    if !out.is_document() {
        let age = age(task.created_at, now());
        let by = user_and_app(&task.user, &task.app);
        out.note(format!("{id}: {} {age} ago by {by}", task.state));
    }
    report(&client, out, &task, Strictness::of(args.strict))
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
