//! Polls a task or a job until it is over, and shows its progress meanwhile.

use std::time::{Duration, Instant};

use api::{Counts, TaskDetail};

use crate::client::Client;
use crate::failure::{Failure, Kind};
use crate::format::lasted;
use crate::interrupt::Interrupt;
use crate::out::Out;
use crate::progress::{Progress, remark};

/// How long one request may wait on the server for the end of the task.
const LONG_WAIT: Duration = Duration::from_secs(25);
/// The same where a line of progress is redrawn.
pub const LIVE_WAIT: Duration = Duration::from_secs(1);
/// How long the server may be unreachable while we follow: tasks outlive its restart.
const MAX_UNREACHABLE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_secs(1);

/// What one poll found.
#[derive(Debug)]
pub enum Poll<T> {
    Over(T),
    GoingOn(Counts),
}

/// Polls until it is over, or until `timeout`. `poll` gets the longest time that it may wait.
pub fn until_over<T>(
    out: &Out,
    name: &str,
    advice: &str,
    timeout: Option<Duration>,
    mut poll: impl FnMut(Duration) -> Result<Poll<T>, Failure>,
) -> Result<T, Failure> {
    let _interrupt = Interrupt::catch(out, name, advice.to_owned());
    let started = Instant::now();
    let mut progress = Progress::new(out);
    let mut last = Counts::default();
    let mut reached = Instant::now();
    loop {
        let left = timeout.map_or(Duration::MAX, |t| t.saturating_sub(started.elapsed()));
        match poll(left) {
            Ok(Poll::Over(ended)) => return Ok(ended),
            Ok(Poll::GoingOn(counts)) => {
                reached = Instant::now();
                last = counts;
                if counts.total > 1 || started.elapsed() > LIVE_WAIT {
                    progress.show(counts);
                }
            }
            Err(failure)
                if failure.kind == Kind::Unreachable && reached.elapsed() < MAX_UNREACHABLE =>
            {
                progress.clear();
                out.note(format!("{}; trying again", failure.what()));
                std::thread::sleep(RETRY);
            }
            Err(failure) => return Err(failure),
        }
        if timeout.is_some_and(|timeout| started.elapsed() >= timeout) {
            progress.clear();
            let after = lasted(started.elapsed());
            let what = format!("{name} has not ended after {after}: {}", remark(last));
            return Err(Failure::new(Kind::TimedOut, what).advise(advice));
        }
    }
}

/// The task once every target has ended.
pub fn task(
    client: &Client,
    out: &Out,
    id: &str,
    timeout: Option<Duration>,
) -> Result<TaskDetail<'static>, Failure> {
    let wait = match out.is_live() {
        true => LIVE_WAIT,
        false => LONG_WAIT,
    };
    let advice = format!("it is not cancelled; see how it ends with: muster task {id}");
    until_over(out, id, &advice, timeout, |left| {
        let task = client.task(id, wait.min(left))?;
        Ok(match &*task.state {
            "finished" => Poll::Over(task),
            _ => Poll::GoingOn(task.counts),
        })
    })
}
