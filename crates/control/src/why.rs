//! Why a process is as it is: one sentence from what is known of it, its last operation, and the output of the run that ended.

mod cause;
mod known;
mod sentence;

use std::time::Duration;

use fleet::Row;
use model::access::{Caller, Permission};
use model::status::LastExit;
use model::{FullName, Host, ProcessState, Reason, UnixMillis};

pub use self::cause::Cause;
use self::known::Known;
use crate::timeline::{TimelineFilter, TimelineWord};
use crate::{Control, ControlError, LogsOf, TimelineEntry};

/// How many of the last operations and events may explain an end.
const MAX_HAPPENED: usize = 20;
/// How many of the last lines are shown.
const LAST_LINES: u32 = 20;
/// The longest output that is shown.
const MAX_OUTPUT: usize = 16 * 1024;
/// How long the agent may take to answer. Without its answer there is no output.
const OUTPUT_WITHIN: Duration = Duration::from_secs(5);

/// Why a process on a host is as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    pub host: Host,
    pub state: ProcessState,
    /// Since when; `NEVER` if that is not known.
    pub since: UnixMillis,
    pub reason: Reason,
    /// A sentence for people.
    pub text: String,
    pub last_exit: Option<LastExit>,
    /// Why the last run ended; none if none has.
    pub cause: Option<Cause>,
    /// How often the agent has started it by itself.
    pub tried: u32,
    /// When it starts next.
    pub next: Option<UnixMillis>,
    /// The last lines of the run that ended; empty if none has, the agent is away, or the caller may not read output.
    pub output: Vec<String>,
}

/// The reason of a row beside its message, for programs; none where everything is as wanted.
pub fn row_reason(row: &Row<'_>) -> Option<Reason> {
    let reason = Known::new(row).reason(None);
    match &*reason.code {
        "running" | "ready" | "starting" | "completed" | "scheduled" | "not_started" => None,
        _ => Some(reason),
    }
}

impl Control {
    /// Of the only host that it is on, or the given one.
    pub async fn why(
        &self,
        caller: &Caller,
        process: &FullName,
        host: Option<Host>,
    ) -> Result<Why, ControlError> {
        let known = self.known(caller, process, host)?;
        let happened = self.happened(caller, process, known.host).await?;
        let mut operations = happened.iter();
        let last = operations.find(|entry| entry.kind == TimelineWord::Operation);
        let reason = known.reason(last);
        Ok(Why {
            since: known.since(last),
            cause: known
                .last_exit
                .map(|last| cause::cause(last, &happened, known.runs())),
            text: known.text(&reason),
            output: self.output(caller, process, &known).await,
            host: known.host,
            state: known.state,
            reason,
            last_exit: known.last_exit,
            tried: known.tried,
            next: known.next,
        })
    }

    fn known(
        &self,
        caller: &Caller,
        process: &FullName,
        host: Option<Host>,
    ) -> Result<Known, ControlError> {
        let viewer = (caller, Permission::View);
        let (address, id) = self.sessions().only_host(viewer, process, host, None)?;
        let fleet = self.0.core.fleet();
        let row = fleet
            .name_id(process)
            .and_then(|name| fleet.process(id, name));
        let row = row.ok_or_else(|| {
            ControlError::NotFound(format!("process {process} is not registered on {address}"))
        })?;
        Ok(Known::new(&row))
    }

    /// The last operations and events, newest first.
    async fn happened(
        &self,
        caller: &Caller,
        process: &FullName,
        host: Host,
    ) -> Result<Vec<TimelineEntry>, ControlError> {
        // The timeline is of a whole namespace.
        if !caller.may(Permission::View, &process.namespace) {
            return Ok(Vec::new());
        }
        let page = |limit: usize, kinds: &[TimelineWord]| TimelineFilter {
            limit,
            process: Some(process.clone()),
            host: Some(host),
            kinds: Some(kinds.to_vec()),
            ..TimelineFilter::default()
        };
        let events = self.events();
        let words = [
            TimelineWord::Operation,
            TimelineWord::Event,
            TimelineWord::Health,
        ];
        let all = page(MAX_HAPPENED, &words);
        let mut all = events.timeline(caller, all).await?.entries;
        if (all.iter()).all(|entry| entry.kind != TimelineWord::Operation) {
            // Many events since do not hide the last operation.
            let last = page(1, &words[..1]);
            all.extend(events.timeline(caller, last).await?.entries);
        }
        Ok(all)
    }

    /// Output is read like logs, which takes another permission. What cannot be read is left out.
    async fn output(&self, caller: &Caller, process: &FullName, known: &Known) -> Vec<String> {
        if known.last_exit.is_none()
            || !known.link.is_up()
            || !(self.registry()).may_process(caller, Permission::Operate, &known.host, process)
        {
            return Vec::new();
        }
        let wanted = LogsOf {
            host: Some(known.host),
            // The last run of a process that does not run is the one that ended.
            previous: known.runs(),
            ..LogsOf::last_lines(process.clone(), LAST_LINES)
        };
        let reading = async {
            let answer = self.sessions().logs(caller, wanted).await?;
            answer.whole().await
        };
        let Ok(Ok(bytes)) = tokio::time::timeout(OUTPUT_WITHIN, reading).await else {
            return Vec::new();
        };
        let skipped = bytes.len().saturating_sub(MAX_OUTPUT);
        let text = String::from_utf8_lossy(&bytes[skipped..]);
        text.lines().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests;
