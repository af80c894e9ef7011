//! Follows a job to its end.

use std::time::{Duration, Instant};

use api::{Counts, JobCountsView, JobRetried, JobView, RetryBody};

use super::super::Context;
use super::no_job;
use super::report::{of_what, report};
use crate::client::{Client, job_path};
use crate::failure::{Exit, Failure};
use crate::failure_groups::FailureArgs;
use crate::follow::{LIVE_WAIT, Poll, until_over};
use crate::format::{clean, counted, parse_duration};
use crate::out::Out;

/// How long one request may wait on the server for the job to move.
const WAIT: Duration = Duration::from_secs(10);
/// A job of many tasks moves all the time; it is polled no more often than this.
const MIN_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    /// As `muster job list` shows it
    #[arg(value_name = "ID")]
    id: u32,
    /// Wait no longer than this (90s, 5m, 1h) [default: until it is over]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
}

#[derive(Debug, clap::Args)]
pub struct RetryArgs {
    /// As `muster job list` shows it
    #[arg(value_name = "ID")]
    id: u32,
    /// Only these tasks, by their numbers, separated by commas [default: all that failed]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    task: Vec<u32>,
    #[command(flatten)]
    failures: FailureArgs,
    /// Do not wait for its end
    #[arg(long)]
    no_wait: bool,
    /// Wait no longer than this (90s, 5m, 1h) [default: until it is over]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "no_wait")]
    timeout: Option<Duration>,
}

pub(super) fn watch(context: &Context, args: &WatchArgs) -> Result<Exit, Failure> {
    to_its_end(&context.client()?, &context.out, args.id, args.timeout)
}

pub(super) fn retry(context: &Context, args: &RetryArgs) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let body = RetryBody {
        tasks: (!args.task.is_empty()).then(|| args.task.clone()),
        codes: args.failures.codes(),
        reason: args.failures.reason(),
        hosts: args.failures.hosts(),
    };
    let path = job_path(args.id).join("retry");
    let retried: JobRetried = client.post(&path, &body).map_err(no_job)?;
    if args.no_wait {
        let text = format!(
            "{} of job {} begin again",
            counted(retried.tasks, "task"),
            args.id
        );
        out.result(&retried, text)?;
        return Ok(Exit::Ok);
    }
    to_its_end(&client, out, args.id, args.timeout)
}

/// Shows the progress of a job, then its results. The same of the job that takes it back, if there is one.
pub(crate) fn to_its_end(
    client: &Client,
    out: &Out,
    id: u32,
    timeout: Option<Duration>,
) -> Result<Exit, Failure> {
    let job = until_its_end(client, out, id, timeout)?;
    let reverted_by = job.update.as_ref().and_then(|update| update.reverted_by);
    let Some(revert) = reverted_by else {
        return report(client, out, &job);
    };
    if out.is_document() {
        until_its_end(client, out, revert, timeout)?;
        return report(client, out, &job);
    }
    report(client, out, &job)?;
    out.note(format!("job {id} is taken back by job {revert}"));
    let revert = until_its_end(client, out, revert, timeout)?;
    report(client, out, &revert)?;
    Ok(Exit::some_failed(true))
}

fn until_its_end(
    client: &Client,
    out: &Out,
    id: u32,
    timeout: Option<Duration>,
) -> Result<JobView, Failure> {
    let name = format!("job {id}");
    let advice = format!("it is not cancelled; see how it ends with: muster job watch {id}");
    let mut last: Option<JobCountsView> = None;
    let mut polled: Option<Instant> = None;
    let mut paused_by = String::new();
    until_over(out, &name, &advice, timeout, |left| {
        if let Some(polled) = polled {
            std::thread::sleep(MIN_INTERVAL.saturating_sub(Instant::elapsed(&polled)));
        }
        polled = Some(Instant::now());
        let (wait, ended) = match (&last, out.is_live()) {
            (None, _) => (Duration::ZERO, None),
            (Some(counts), true) => (LIVE_WAIT, Some(counts.ended)),
            (Some(_), false) => (WAIT, None),
        };
        let job: JobView = client.job(id, wait.min(left), ended).map_err(no_job)?;
        if last.replace(job.counts).is_none() {
            let tasks = counted(job.counts.total, "task");
            let (action, what) = (&job.action, clean(&of_what(&job)));
            out.note(format!("{name}: {action} of {what}, {tasks}"));
        }
        if paused_by != job.paused_by {
            paused_by.clone_from(&job.paused_by);
            match paused_by.is_empty() {
                true => out.note(format!("{name}: goes on")),
                false => out.note(format!(
                    "{name}: paused by {}; muster job resume {id} goes on",
                    clean(&paused_by)
                )),
            }
        }
        Ok(match is_over(&job.status) {
            true => Poll::Over(job),
            false => Poll::GoingOn(counts(&job.counts)),
        })
    })
}

/// An ignored task is as good as one that succeeded.
fn counts(counts: &JobCountsView) -> Counts {
    Counts {
        total: counts.total as usize,
        ended: counts.ended as usize,
        ok: (counts.succeeded + counts.ignored) as usize,
        failed: counts.failed as usize,
        running: counts.running as usize,
    }
}

pub(super) fn is_over(status: &str) -> bool {
    !matches!(status, "pending" | "running" | "")
}
