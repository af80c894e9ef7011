//! Waiting for a task to end.

use std::time::{Duration, Instant};

use crate::client::{Client, TaskView};
use crate::failure::{Failure, Kind};
use crate::interrupt::Interrupt;
use crate::out::Out;
use crate::progress::{Progress, remark};
use crate::show::lasted;

/// How long one question to the server may wait for the end of the task.
const LONG_WAIT: Duration = Duration::from_secs(25);
/// The same where somebody looks at a line of progress.
const SHORT_WAIT: Duration = Duration::from_secs(1);
/// How long the server may be away while we follow: tasks outlive its restart.
const MAX_AWAY: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_secs(1);

/// Asks until every target has ended, or until `timeout`.
pub fn until_ended(
    client: &Client,
    out: &Out,
    id: &str,
    timeout: Option<Duration>,
) -> Result<TaskView, Failure> {
    let _interrupt = Interrupt::catch(out, id, goes_on(id));
    let started = Instant::now();
    let mut progress = Progress::new(out);
    let mut last = TaskView::default();
    let mut seen = Instant::now();
    loop {
        let left = timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
        let step = match out.is_live() {
            true => SHORT_WAIT,
            false => LONG_WAIT,
        };
        match client.task(id, step.min(left.unwrap_or(step))) {
            Ok(view) => {
                seen = Instant::now();
                last = view;
                if last.is_finished() {
                    return Ok(last);
                }
                if last.counts.total > 1 || started.elapsed() > SHORT_WAIT {
                    progress.show(last.counts);
                }
            }
            Err(failure) if failure.kind == Kind::Unreachable && seen.elapsed() < MAX_AWAY => {
                progress.clear();
                out.note(format!("{}; trying again", failure.what()));
                std::thread::sleep(RETRY);
            }
            Err(failure) => return Err(failure),
        }
        if timeout.is_some_and(|timeout| started.elapsed() >= timeout) {
            progress.clear();
            return Err(Failure::new(
                Kind::TimedOut,
                format!(
                    "{id} still goes on after {}: {}",
                    lasted(started.elapsed()),
                    remark(last.counts)
                ),
            )
            .advise(goes_on(id)));
        }
    }
}

/// What becomes of a task that nobody waits for any more.
pub fn goes_on(id: &str) -> String {
    format!("it is not cancelled; see how it ends with: muster task {id}")
}
