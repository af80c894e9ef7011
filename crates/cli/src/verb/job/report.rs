//! Shows a job with its tasks: each where they are few, failures where they are many, and a summary line.

use std::time::Duration;

use api::{AuditList, JobCountsView, JobDetail, JobTaskView, JobVersionView, JobView};
use model::UnixMillis;
use serde_json::{Value, json};

use super::super::Context;
use super::follow::is_over;
use super::list::{say_paused, selected, shown_status, status};
use super::no_job;
use crate::client::{Client, Path, job_path};
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::failure_groups;
use crate::format::{clean, count, millis, moment, now, user_and_app};
use crate::out::Out;
use crate::selection::pasteable;
use crate::table::{Cell, TextTable};
use crate::version_counts::{self, VersionCount};

/// Up to this many tasks, each is shown.
const FEW: u32 = 20;
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
    /// Show failures in groups of one code and alike reasons
    #[arg(long, conflicts_with_all = ["failed", "with_output"])]
    failures: bool,
}

pub(super) fn run(context: &Context, args: &ShowArgs) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    if args.failures {
        return failure_groups::show(&client, out, job_path(args.id)).map_err(no_job);
    }
    let tasks = job_path(args.id).maybe("status", args.failed.then_some("failed"));
    if out.is_document() {
        return show_json(&client, out, args.id, &tasks);
    }
    let detail: JobDetail = client.job(args.id, Duration::ZERO, None).map_err(no_job)?;
    let job = detail.job;
    about(&client, out, &job)?;
    if !detail.versions.is_empty() {
        out.line(format!("  hosts     {}", have(&detail.versions)))?;
    }
    let tasks: Vec<JobTaskView> = client.pages(&tasks, "tasks", None)?.rows;
    match args.with_output {
        true => outputs(out, &tasks)?,
        false => out.table_if_any(&table(&tasks))?,
    }
    sum_up(out, &job)
}

fn show_json(client: &Client, out: &Out, id: u32, tasks: &Path) -> Result<Exit, Failure> {
    let mut job: Value = client.job(id, Duration::ZERO, None).map_err(no_job)?;
    let tasks = client.pages::<Value>(tasks, "tasks", None)?.rows;
    job["count"] = json!(tasks.len());
    job["tasks"] = Value::Array(tasks);
    say_paused(&mut job);
    out.document(&job)?;
    let failed = job["counts"]["failed"].as_u64();
    Ok(Exit::some_failed(failed.is_some_and(|failed| failed > 0)))
}

/// Shows the results of a job that was followed to its end.
pub(super) fn report(client: &Client, out: &Out, job: &JobView) -> Result<Exit, Failure> {
    let all = job_path(job.id);
    if job.action == "diff" {
        return report_diff(client, out, job, &all);
    }
    if out.is_document() {
        return show_json(client, out, job.id, &all);
    }
    let is_few = job.counts.total <= FEW;
    let (path, limit) = match is_few {
        true => (all, None),
        false => (all.query("status", "failed"), Some(MAX_SHOWN)),
    };
    let tasks: Vec<JobTaskView> = client.pages(&path, "tasks", limit)?.rows;
    if !tasks.is_empty() {
        out.table(&table(&tasks))?;
        advice(out, &tasks);
    }
    if !is_few && job.counts.failed as usize > MAX_SHOWN {
        let (id, shown, failed) = (job.id, MAX_SHOWN, count(job.counts.failed));
        out.note(format!(
            "{shown} of {failed} failures shown: muster job show {id} --failed"
        ));
    }
    if job.update.is_some() {
        let detail: JobDetail = client.job(job.id, Duration::ZERO, None).map_err(no_job)?;
        out.line(have(&detail.versions))?;
    }
    sum_up(out, job)
}

/// `38 of 40 hosts have version 7 (new), 2 have version 6 (old)`
fn have(versions: &[JobVersionView]) -> String {
    let counts = versions.iter().map(|version| VersionCount {
        hosts: version.hosts,
        number: version.spec_version,
        note: &version.has,
    });
    version_counts::sentence(counts)
}

/// Shows the tasks that found a difference or failed. Ends with 1 then, as every diff does.
fn report_diff(client: &Client, out: &Out, job: &JobView, all: &Path) -> Result<Exit, Failure> {
    let mut tasks: Vec<JobTaskView> = client.pages(all, "tasks", None)?.rows;
    tasks.retain(|task| !task.reason.is_empty());
    let exit = Exit::some_failed(!tasks.is_empty() || job.counts.failed > 0);
    if out.is_document() {
        show_json(client, out, job.id, all)?;
        return Ok(exit);
    }
    outputs(out, &tasks)?;
    if exit == Exit::Ok {
        out.success("every file is as it was released")?;
    }
    sum_up(out, job)?;
    Ok(exit)
}

fn about(client: &Client, out: &Out, job: &JobView) -> Result<(), Failure> {
    let by = user_and_app(&job.user, &job.app);
    let now = now();
    let (id, action) = (job.id, &job.action);
    out.line(format!(
        "job {id}: {} of {}, {}",
        clean(action),
        clean(&of_what(job)),
        clean(shown_status(job))
    ))?;
    out.line(format!("  selected  {}", clean(&selected(&job.selection))))?;
    out.line(format!(
        "  begun     {} by {by}",
        moment(job.created_at, now)
    ))?;
    if is_over(&job.status) {
        out.line(format!("  ended     {}", moment(job.ended_at, now)))?;
    }
    if let Some(batch) = job.batch.filter(|batch| batch.of > 1) {
        out.line(format!("  batch     {} of {}", batch.number, batch.of))?;
    }
    if let Some(update) = &job.update {
        out.line(format!("  process   {}", clean(&update.process)))?;
        if let Some(number) = update.restores {
            out.line(format!("  restores  version {number}"))?;
        }
        if let Some(id) = update.reverts {
            out.line(format!("  takes back job {id}"))?;
        }
        if let Some(id) = update.reverted_by {
            out.line(format!("  taken back by job {id}"))?;
        }
    }
    if !job.paused_by.is_empty() {
        let at = paused_at(client, job);
        let at = at.map_or(String::new(), |at| format!(", {}", moment(at, now)));
        out.line(format!("  paused    by {}{at}", clean(&job.paused_by)))?;
        out.note(format!("muster job resume {id} goes on"));
    }
    if !job.cancelled_by.is_empty() {
        out.line(format!("  cancelled by {}", clean(&job.cancelled_by)))?;
    }
    Ok(())
}

/// When the job was paused, if the caller may read the audit trail, which is the only one to know.
fn paused_at(client: &Client, job: &JobView) -> Option<UnixMillis> {
    let path = Path::new("audit")
        .query("action", "pause_job")
        .query("object", format!("job {}", job.id));
    let list: AuditList = client.get(&path).ok()?;
    let rows = list.audit.read().ok()?;
    let object = format!("job {}", job.id);
    // Newest first; the filter finds job 12 for job 1, too.
    let mut of_job = rows.into_iter().filter(|row| row.object == object);
    of_job.next().map(|row| row.at)
}

/// What a job acts in: `business 2`, or `namespaces db, web`.
pub(super) fn of_what(job: &JobView) -> String {
    match (job.business, job.action.as_ref()) {
        (Some(business), _) => format!("business {business}"),
        (None, "upgrade_agent") => "agents".to_owned(),
        (None, _) => format!("processes in {}", job.namespaces.join(", ")),
    }
}

/// The expression of an instance, the name of a registered process.
fn name_of(task: &JobTaskView) -> String {
    match task.expression.is_empty() {
        true => task.name.clone(),
        false => pasteable(&task.expression),
    }
}

fn table(tasks: &[JobTaskView]) -> TextTable {
    if tasks.iter().all(|task| task.expression.is_empty()) {
        return plain_table(tasks);
    }
    let mut table = TextTable::new(">TASK|EXPRESSION|>INST|HOST|STATUS|>TOOK|~WHY");
    for task in tasks {
        let inst_id = task.inst_id.map(|id| id.to_string());
        table.row([
            Cell::from(task.ordinal.to_string()),
            name_of(task).into(),
            inst_id.unwrap_or_default().into(),
            task.host.as_str().into(),
            status(&task.status),
            took(task).into(),
            why(task).into(),
        ]);
    }
    table
}

fn plain_table(tasks: &[JobTaskView]) -> TextTable {
    if tasks.iter().any(|task| task.has.is_some()) {
        return update_table(tasks);
    }
    let mut table = TextTable::new(">TASK|PROCESS|HOST|STATUS|>TOOK|~WHY");
    for task in tasks {
        table.row([
            Cell::from(task.ordinal.to_string()),
            task.name.as_str().into(),
            task.host.as_str().into(),
            status(&task.status),
            took(task).into(),
            why(task).into(),
        ]);
    }
    table
}

/// With the version that each host has now.
fn update_table(tasks: &[JobTaskView]) -> TextTable {
    let mut table = TextTable::new(">TASK|PROCESS|HOST|STATUS|>TOOK|VERSION|~WHY");
    for task in tasks {
        let has = task.has.as_deref().unwrap_or_default();
        let version = match task.spec_version {
            Some(number) => format!("{number} ({})", clean(has)),
            None => clean(has),
        };
        table.row([
            Cell::from(task.ordinal.to_string()),
            task.name.as_str().into(),
            task.host.as_str().into(),
            status(&task.status),
            took(task).into(),
            version.into(),
            why(task).into(),
        ]);
    }
    table
}

fn took(task: &JobTaskView) -> String {
    let is_timed =
        task.started_at != model::UnixMillis::NEVER && task.ended_at != model::UnixMillis::NEVER;
    match is_timed {
        true => millis(task.ended_at.millis_since(task.started_at).unsigned_abs()),
        false => String::new(),
    }
}

fn why(task: &JobTaskView) -> String {
    match (task.code, task.reason.as_str()) {
        (0, reason) => reason.to_owned(),
        (code, "") => format!("({code})"),
        (code, reason) => format!("({code}) {reason}"),
    }
}

/// What can be done about it, each once.
fn advice(out: &Out, tasks: &[JobTaskView]) {
    let mut shown: Vec<&str> = Vec::new();
    for solution in tasks.iter().flat_map(|task| &task.solutions) {
        if !shown.contains(&&**solution) {
            shown.push(solution);
            out.note(format!("  {}", clean(solution)));
        }
    }
}

/// Each task with its command and what it printed.
fn outputs(out: &Out, tasks: &[JobTaskView]) -> Result<(), Failure> {
    for task in tasks {
        let head = format!(
            "{} {} on {}: {} {}",
            task.ordinal,
            name_of(task),
            task.host,
            task.status,
            why(task)
        );
        out.line(out.paint(Style::Bold, clean(&head).trim_end()))?;
        if !task.command.is_empty() {
            out.line(format!("  $ {}", clean(&task.command)))?;
        }
        for line in task.output.lines() {
            out.line(format!("  {}", clean(line)))?;
        }
    }
    Ok(())
}

fn sum_up(out: &Out, job: &JobView) -> Result<Exit, Failure> {
    let line = sums(job.counts, &job.cancelled_by);
    match job.counts.failed {
        0 => out.success(out.paint(Style::Good, &line))?,
        _ => out.line(out.paint(Style::Bad, &line))?,
    }
    Ok(Exit::some_failed(job.counts.failed > 0))
}

/// `1,197 ok (7 ignored), 3 failed`.
fn sums(counts: JobCountsView, cancelled_by: &str) -> String {
    let mut text = format!("{} ok", count(counts.succeeded + counts.ignored));
    if counts.ignored > 0 {
        text.push_str(&format!(" ({} ignored)", count(counts.ignored)));
    }
    if counts.failed > 0 {
        text.push_str(&format!(", {} failed", count(counts.failed)));
    }
    let going_on = counts.total.saturating_sub(counts.ended);
    if going_on > 0 {
        text.push_str(&format!(", {} still in progress", count(going_on)));
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
        let task: JobTaskView = serde_json::from_value(json!({
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
        let counts = JobCountsView {
            total: 1210,
            ended: 1200,
            succeeded: 1190,
            failed: 3,
            ignored: 7,
            ..JobCountsView::default()
        };
        assert_eq!(
            sums(counts, "ann"),
            "1,197 ok (7 ignored), 3 failed, 10 still in progress, cancelled by ann"
        );
        assert_eq!(sums(JobCountsView::default(), ""), "0 ok");
    }
}
