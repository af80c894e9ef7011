//! `muster task`: how an operation goes, or went.

use std::time::Duration;

use model::TaskId;

use super::{Context, rows};
use crate::client::TaskRow;
use crate::failure::{Exit, Failure};
use crate::follow::until_ended;
use crate::report::{Strictness, report};
use crate::show::{age, count, now, parse_duration};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

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
    #[arg(value_name = "ID", default_value = "list", value_parser = parse_what)]
    what: What,
    /// Show the task as it is now
    #[arg(long)]
    no_wait: bool,
    /// Wait no longer than this (90s, 5m, 1h) [default: until every target has ended]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "no_wait")]
    timeout: Option<Duration>,
    /// Already running (828) and not running (829) are failures
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
enum What {
    List,
    Task(TaskId),
}

fn parse_what(text: &str) -> Result<What, String> {
    match text {
        "list" => Ok(What::List),
        id => parse_id(id).map(What::Task),
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
    let What::Task(id) = &args.what else {
        let before = args.before.map(|id| id.to_string());
        let answer = client.tasks(usize::from(args.limit), before.as_deref())?;
        return list(context, &answer);
    };
    let id = id.to_string();
    let view = match args.no_wait {
        true => client.task(&id, Duration::ZERO)?,
        false => until_ended(&client, out, &id, args.timeout)?,
    };
    if !out.is_json() {
        let by = match view.user.is_empty() {
            true => view.app.clone(),
            false => format!("{} ({})", view.user, view.app),
        };
        out.note(format!(
            "{id}: {} {} ago by {}",
            view.state,
            age(view.created_at, now()),
            crate::show::clean(&by)
        ));
    }
    let strictness = match args.strict {
        true => Strictness::Strict,
        false => Strictness::Usual,
    };
    report(&client, out, &view, strictness)
}

fn list(context: &Context, answer: &serde_json::Value) -> Result<Exit, Failure> {
    let out = &context.out;
    if out.is_json() {
        out.json(answer)?;
        return Ok(Exit::Ok);
    }
    let now = now();
    let mut table = Table::new([
        Column::text("TASK"),
        Column::number("AGE"),
        Column::text("STATE"),
        Column::number("TARGETS"),
        Column::number("OK"),
        Column::number("NOT OK"),
        Column::text("USER"),
        Column::text("APP"),
    ]);
    for row in rows::<TaskRow>(answer, "tasks")? {
        let failed = row.ended.saturating_sub(row.ok);
        let (tone, state) = match row.ended >= row.targets {
            true => (Tone::Plain, "finished"),
            false => (Tone::Warn, "running"),
        };
        table.row([
            Cell::from(row.id.as_str()),
            age(row.created_at, now).into(),
            Cell::toned(tone, state),
            count(row.targets).into(),
            count(row.ok).into(),
            Cell::toned(
                if failed > 0 { Tone::Bad } else { Tone::Plain },
                count(failed),
            ),
            row.user.as_str().into(),
            row.app.as_str().into(),
        ]);
    }
    match table.is_empty() {
        true => out.note("no tasks"),
        false => out.table(&table)?,
    }
    Ok(Exit::Ok)
}
