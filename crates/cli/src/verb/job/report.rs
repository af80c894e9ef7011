//! A job with its tasks: each where they are few, those that failed where they are many, and a line that sums it up.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::Context;
use super::list::{selected, status};
use super::no_job;
use crate::client::{Client, JobCounts, JobRow, JobTaskRow};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::show::{clean, count, millis, moment, now};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

/// Up to this many tasks, each is shown.
const FEW: u64 = 20;
/// How many failed tasks are shown when a job ends.
const MAX_SHOWN: usize = 100;

#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// As `muster job list` shows it
    #[arg(value_name = "ID")]
    id: u32,
    /// Only tasks that failed
    #[arg(long)]
    failed: bool,
    /// Also the command of each task, and what it printed
    #[arg(long = "with-output", visible_alias = "outputs")]
    with_output: bool,
}

pub(super) fn run(context: &Context, args: &ShowArgs) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let wanted = args.failed.then_some("failed");
    if out.is_json() {
        return show_json(&client, out, args.id, wanted);
    }
    let job: JobRow = client.job(args.id, Duration::ZERO, None).map_err(no_job)?;
    about(out, &job)?;
    let tasks = client.job_tasks::<JobTaskRow>(args.id, wanted, None)?.rows;
    match args.with_output {
        true => outputs(out, &tasks)?,
        false if tasks.is_empty() => {}
        false => out.table(&table(&tasks))?,
    }
    sum_up(out, &job)
}

fn show_json(client: &Client, out: &Out, id: u32, wanted: Option<&str>) -> Result<Exit, Failure> {
    let mut job: Value = client.job(id, Duration::ZERO, None).map_err(no_job)?;
    let tasks = client.job_tasks::<Value>(id, wanted, None)?.rows;
    job["count"] = json!(tasks.len());
    job["tasks"] = Value::Array(tasks);
    out.json(&job)?;
    Ok(exit_of(&job["counts"]["failed"]))
}

fn exit_of(failed: &Value) -> Exit {
    match failed.as_u64() {
        Some(0) | None => Exit::Ok,
        Some(_) => Exit::SomeFailed,
    }
}

/// What is told when a job that was followed is over.
pub(super) fn report(client: &Client, out: &Out, job: &JobRow) -> Result<Exit, Failure> {
    if out.is_json() {
        return show_json(client, out, job.id, None);
    }
    let is_diff = job.action == "diff";
    let is_few = job.counts.total <= FEW;
    let (wanted, limit) = match is_few || is_diff {
        true => (None, None),
        false => (Some("failed"), Some(MAX_SHOWN)),
    };
    let tasks = client.job_tasks::<JobTaskRow>(job.id, wanted, limit)?.rows;
    if is_diff {
        let differing: Vec<JobTaskRow> = tasks
            .into_iter()
            .filter(|task| !task.reason.is_empty())
            .collect();
        outputs(out, &differing)?;
        if differing.is_empty() && job.counts.failed == 0 {
            out.done("every file is as it was released")?;
        }
    } else if !tasks.is_empty() {
        out.table(&table(&tasks))?;
        advice(out, &tasks);
    }
    if !is_few && job.counts.failed > MAX_SHOWN as u64 {
        let (id, shown, failed) = (job.id, MAX_SHOWN, count(job.counts.failed));
        out.note(format!(
            "{shown} of {failed} failures shown: muster job show {id} --failed"
        ));
    }
    sum_up(out, job)
}

fn about(out: &Out, job: &JobRow) -> Result<(), Failure> {
    let by = match job.user.is_empty() {
        true => job.app.clone(),
        false => format!("{} ({})", job.user, job.app),
    };
    let now = now();
    let (id, action, business) = (job.id, &job.action, job.business);
    out.line(format!(
        "job {id}: {} of business {business}, {}",
        clean(action),
        clean(&job.status)
    ))?;
    out.line(format!("  selected  {}", clean(&selected(&job.selection))))?;
    out.line(format!(
        "  begun     {} by {}",
        moment(job.created_at, now),
        clean(&by)
    ))?;
    if job.is_over() {
        out.line(format!("  ended     {}", moment(job.ended_at, now)))?;
    }
    if !job.cancelled_by.is_empty() {
        out.line(format!("  cancelled by {}", clean(&job.cancelled_by)))?;
    }
    Ok(())
}

fn table(tasks: &[JobTaskRow]) -> Table {
    let mut table = Table::new([
        Column::number("TASK"),
        Column::elastic("EXPRESSION"),
        Column::number("INST"),
        Column::text("HOST"),
        Column::text("STATUS"),
        Column::number("TOOK"),
        Column::elastic("WHY"),
    ]);
    for task in tasks {
        table.row([
            Cell::from(task.ordinal.to_string()),
            task.expression.as_str().into(),
            task.inst_id.to_string().into(),
            task.host.as_str().into(),
            status(&task.status),
            took(task).into(),
            why(task).into(),
        ]);
    }
    table
}

fn took(task: &JobTaskRow) -> String {
    let is_timed =
        task.started_at != model::UnixMillis::NEVER && task.ended_at != model::UnixMillis::NEVER;
    match is_timed {
        true => millis(task.ended_at.millis_since(task.started_at).unsigned_abs()),
        false => String::new(),
    }
}

fn why(task: &JobTaskRow) -> String {
    match (task.code, task.reason.as_str()) {
        (0, reason) => reason.to_owned(),
        (code, "") => format!("({code})"),
        (code, reason) => format!("({code}) {reason}"),
    }
}

/// What can be done about it, each once.
fn advice(out: &Out, tasks: &[JobTaskRow]) {
    let mut told: Vec<&str> = Vec::new();
    for solution in tasks.iter().flat_map(|task| &task.solutions) {
        if !told.contains(&solution.as_str()) {
            told.push(solution);
            out.note(format!("  {}", clean(solution)));
        }
    }
}

/// Each task with its command and what it printed.
fn outputs(out: &Out, tasks: &[JobTaskRow]) -> Result<(), Failure> {
    for task in tasks {
        let head = format!(
            "{} {} on {}: {} {}",
            task.ordinal,
            task.expression,
            task.host,
            task.status,
            why(task)
        );
        out.line(out.paint(Tone::Bold, clean(&head).trim_end()))?;
        if !task.command.is_empty() {
            out.line(format!("  $ {}", clean(&task.command)))?;
        }
        for line in task.output.lines() {
            out.line(format!("  {}", clean(line)))?;
        }
    }
    Ok(())
}

fn sum_up(out: &Out, job: &JobRow) -> Result<Exit, Failure> {
    let line = sums(job.counts, &job.cancelled_by);
    match job.counts.failed {
        0 => out.done(out.paint(Tone::Good, &line))?,
        _ => out.line(out.paint(Tone::Bad, &line))?,
    }
    Ok(match job.counts.failed {
        0 => Exit::Ok,
        _ => Exit::SomeFailed,
    })
}

/// `1,197 ok (7 ignored), 3 failed`.
fn sums(counts: JobCounts, cancelled_by: &str) -> String {
    let mut text = format!("{} ok", count(counts.succeeded + counts.ignored));
    if counts.ignored > 0 {
        text.push_str(&format!(" ({} ignored)", count(counts.ignored)));
    }
    if counts.failed > 0 {
        text.push_str(&format!(", {} failed", count(counts.failed)));
    }
    let going_on = counts.total.saturating_sub(counts.ended);
    if going_on > 0 {
        text.push_str(&format!(", {} still going on", count(going_on)));
    }
    if !cancelled_by.is_empty() {
        text.push_str(&format!(", cancelled by {}", clean(cancelled_by)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_a_line_with_its_reason() {
        let task: JobTaskRow = serde_json::from_value(json!({
            "ordinal": 3, "inst_id": 1, "expression": "zone-1.login.x.login.7", "host": "0:10.0.0.1",
            "status": "failed", "code": 117, "reason": "agent not connected", "solutions": ["wait"],
            "started_at": 1_700_000_000_000_i64, "ended_at": 1_700_000_000_312_i64,
        }))
        .unwrap();
        let text = table(&[task]).render(None, false);
        assert!(
            text.ends_with(
                "   3  zone-1.login.x.login.7     1  0:10.0.0.1  failed  312 ms  (117) agent not connected\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn all_tasks_are_in_the_sum() {
        let counts = JobCounts {
            total: 1210,
            ended: 1200,
            succeeded: 1190,
            failed: 3,
            ignored: 7,
        };
        assert_eq!(
            sums(counts, "ann"),
            "1,197 ok (7 ignored), 3 failed, 10 still going on, cancelled by ann"
        );
        assert_eq!(sums(JobCounts::default(), ""), "0 ok");
    }
}
