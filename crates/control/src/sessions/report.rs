//! Receives agents' frames: statuses go into the fleet when it is their turn, results and events to the recorder.

use fleet::{FleetGuard, PackedStatus};
use model::UnixMillis;
use model::bounds::MAX_MESSAGE;
use model::change::{EventRow, HostId, ProcessId};
use model::text::sanitize_line;
use wire::{EventFrame, Received, ReportBytes, ReportedStatus, ResultFrame, Up, UpKind, WireError};

use super::{Refused, Session, Sessions};
use crate::operations::Record;

impl Session {
    /// Handles one frame. Waits while the recorder's queue is full, which slows this agent and no other.
    pub async fn take(&self, frame: Received) -> Result<(), Refused> {
        match frame {
            Received::Report(report) => self.report(report).await,
            Received::Other(frame) => self.take_other(frame).await,
        }
    }

    async fn take_other(&self, frame: Up) -> Result<(), Refused> {
        let refuse = |reason: &str| Refused::for_now(reason);
        match frame.kind {
            Some(UpKind::Report(report)) => match Received::from(report) {
                Received::Report(report) => self.report(report).await,
                Received::Other(_) => Ok(()),
            },
            Some(UpKind::Result(result)) => self.result(result).await,
            Some(UpKind::Event(event)) => self.event(event).await,
            Some(UpKind::Output(output)) => {
                self.outbox.questions.answer(output);
                Ok(())
            }
            Some(UpKind::Hello(_)) => Err(refuse("a second hello")),
            // A frame of a newer agent: it knows our version and can do without an answer.
            None => Ok(()),
        }
    }

    async fn report(&self, bytes: ReportBytes) -> Result<(), Refused> {
        self.sessions.core.counters.reports.add(1);
        if self.was_superseded() {
            return Err(Refused::for_now(
                "the connection that took the place of this one is gone: connect again",
            ));
        }
        let at = self.sessions.core.now();
        self.sessions.core.fleet().heard(self.host, at);
        if bytes.is_empty() {
            self.answer_heartbeat();
            return Ok(());
        }
        self.take_report(Report { at, bytes }).await
    }

    async fn result(&self, frame: ResultFrame) -> Result<(), Refused> {
        let op = frame
            .op
            .ok_or_else(|| malformed("a result without an operation"))?
            .into();
        let outcome = frame.outcome().map_err(|e| malformed(&e.to_string()))?;
        self.record(Record::Result {
            host: self.host,
            op,
            outcome,
            outbox: self.outbox.clone(),
        })
        .await
    }

    async fn event(&self, frame: EventFrame) -> Result<(), Refused> {
        let event = frame.event().map_err(|e| malformed(&e.to_string()))?;
        let row = EventRow {
            host: self.host,
            seq: frame.seq,
            event,
        };
        self.record(Record::Event {
            row,
            address: self.address,
            outbox: self.outbox.clone(),
        })
        .await
    }

    async fn record(&self, record: Record) -> Result<(), Refused> {
        // A reader of the result finds the status that led to it.
        self.settle().await?;
        self.sessions.record(record).await
    }
}

/// A report whose turn may come later.
#[derive(Debug)]
pub(super) struct Report {
    /// When it arrived.
    pub(super) at: UnixMillis,
    pub(super) bytes: ReportBytes,
}

/// What has to be done about statuses once they are in the fleet.
#[derive(Debug, Default)]
struct Applied {
    n_statuses: u64,
    changed: Vec<ProcessId>,
    moved: Vec<Record>,
    is_surplus: bool,
}

impl Applied {
    fn apply(&mut self, fleet: &mut FleetGuard<'_>, status: PackedStatus) {
        self.n_statuses += 1;
        let host = status.host();
        let Some(observed) = fleet.observe(status) else {
            return;
        };
        if observed.has_changed {
            self.changed.push(observed.id);
            let surplus = fleet.view().surplus();
            self.is_surplus |= observed
                .owner
                .is_some_and(|owner| surplus.contains(owner.0));
        }
        if let Some((flag, managed)) = observed.held
            && let Some(process) = fleet.name(observed.name)
        {
            self.moved.push(Record::Flags {
                host,
                process: process.clone(),
                flag,
                managed,
            });
        }
    }
}

impl Sessions {
    /// Reads the statuses of a host's reports and finds their processes. Adds nothing to `packed` if one is malformed.
    pub(super) fn pack(
        &self,
        host: HostId,
        reports: &[Report],
        packed: &mut Vec<PackedStatus>,
    ) -> Result<(), Refused> {
        let fleet = self.core.fleet();
        let mut here = fleet.host_processes(host);
        let n_before = packed.len();
        let mut pack = |at, reported: Result<ReportedStatus<'_>, WireError>| {
            let reported = reported.map_err(|e| e.to_string())?;
            let process = here.find(reported.namespace, reported.name);
            if process.is_none() {
                reported.full_name().map_err(|e| e.to_string())?;
            }
            let mut status = reported.status;
            // The server's clock, so that ages are comparable between hosts.
            status.reported_at = at;
            packed.push(here.pack(process, status));
            Ok::<_, String>(())
        };
        let mut statuses = reports
            .iter()
            .flat_map(|report| report.bytes.statuses().map(|status| (report.at, status)));
        statuses
            .try_for_each(|(at, status)| pack(at, status))
            .map_err(|what| {
                packed.truncate(n_before);
                malformed(&what)
            })
    }

    /// Puts statuses into the fleet, all at once.
    pub(super) async fn apply(&self, packed: Vec<PackedStatus>) -> Result<(), Refused> {
        let mut applied = Applied::default();
        {
            let mut fleet = self.core.fleet_mut();
            for status in packed {
                applied.apply(&mut fleet, status);
            }
        }
        self.core.counters.statuses.add(applied.n_statuses);
        if applied.is_surplus {
            self.core.retire.notify_one();
        }
        for record in applied.moved {
            self.record(record).await?;
        }
        self.core
            .publish_statuses(&applied.changed, self.core.now());
        Ok(())
    }

    async fn record(&self, record: Record) -> Result<(), Refused> {
        let stopping = || Refused::for_now("the server is stopping");
        let sent = self.operations.records.send(record).await;
        sent.map_err(|_| stopping())
    }
}

/// Shortens the reason, which may quote the frame.
fn malformed(what: &str) -> Refused {
    let mut reason = format!("malformed frame: {what}");
    sanitize_line(&mut reason, MAX_MESSAGE);
    Refused::for_now(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_does_not_repeat_a_whole_frame() {
        let frame = ResultFrame {
            op: None,
            outcome_json: serde_json::to_vec(&"x\n".repeat(100_000)).unwrap(),
        };
        let refused = malformed(&frame.outcome().unwrap_err().to_string());
        assert!(refused.reason.starts_with("malformed frame: outcome: "));
        assert_eq!(refused.reason.chars().count(), MAX_MESSAGE);
    }
}
