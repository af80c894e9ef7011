//! Following a job to its end.

use std::time::{Duration, Instant};

use super::super::Context;
use super::no_job;
use super::report::report;
use crate::client::{Client, JobRow};
use crate::failure::{Exit, Failure, Kind};
use crate::interrupt::Interrupt;
use crate::out::Out;
use crate::progress::{Progress, remark};
use crate::show::{counted, lasted, parse_duration};

/// How long one question to the server may wait for the job to move.
const WAIT: Duration = Duration::from_secs(10);
/// The same where somebody looks at a line of progress.
const LIVE_WAIT: Duration = Duration::from_secs(1);
/// A job of many tasks moves all the time; it is looked at no more often than this.
const PACE: Duration = Duration::from_millis(200);
/// How long the server may be away while we follow: jobs outlive its restart.
const MAX_AWAY: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_secs(1);

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
    let tasks = (!args.task.is_empty()).then_some(args.task.as_slice());
    let retried = client.retry_job(args.id, tasks).map_err(no_job)?;
    if args.no_wait {
        let text = format!(
            "{} of job {} begin again",
            counted(retried.tasks, "task"),
            args.id
        );
        out.did(&retried, text)?;
        return Ok(Exit::Ok);
    }
    to_its_end(&client, out, args.id, args.timeout)
}

/// Shows how it goes, then how it ended.
pub(super) fn to_its_end(
    client: &Client,
    out: &Out,
    id: u32,
    timeout: Option<Duration>,
) -> Result<Exit, Failure> {
    let job = until_over(client, out, id, timeout)?;
    report(client, out, &job)
}

fn until_over(
    client: &Client,
    out: &Out,
    id: u32,
    timeout: Option<Duration>,
) -> Result<JobRow, Failure> {
    let named = format!("job {id}");
    let _interrupt = Interrupt::catch(out, &named, goes_on(id));
    let started = Instant::now();
    let mut progress = Progress::new(out);
    let mut last = JobRow::default();
    let mut seen = Instant::now();
    let mut is_announced = false;
    loop {
        let asked = Instant::now();
        let left = timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
        let (wait, ended) = match (is_announced, out.is_live()) {
            (false, _) => (Duration::ZERO, None),
            (true, true) => (LIVE_WAIT, Some(last.counts.ended)),
            (true, false) => (WAIT, None),
        };
        match client.job::<JobRow>(id, wait.min(left.unwrap_or(wait)), ended) {
            Ok(job) => {
                seen = Instant::now();
                last = job;
                if !std::mem::replace(&mut is_announced, true) {
                    let tasks = counted(last.counts.total, "task");
                    out.note(format!(
                        "{named}: {} of business {}, {tasks}",
                        last.action, last.business
                    ));
                }
                if last.is_over() {
                    return Ok(last);
                }
                progress.show(last.counts.into());
            }
            Err(failure) if failure.kind == Kind::Unreachable && seen.elapsed() < MAX_AWAY => {
                progress.clear();
                out.note(format!("{}; trying again", failure.what()));
                std::thread::sleep(RETRY);
            }
            Err(failure) => return Err(no_job(failure)),
        }
        if timeout.is_some_and(|timeout| started.elapsed() >= timeout) {
            progress.clear();
            let after = lasted(started.elapsed());
            let what = format!(
                "{named} still goes on after {after}: {}",
                remark(last.counts.into())
            );
            return Err(Failure::new(Kind::TimedOut, what).advise(goes_on(id)));
        }
        std::thread::sleep(PACE.saturating_sub(asked.elapsed()));
    }
}

/// What becomes of a job that nobody waits for any more.
fn goes_on(id: u32) -> String {
    format!("it is not cancelled; see how it ends with: muster job watch {id}")
}
