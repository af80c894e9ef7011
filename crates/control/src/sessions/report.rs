//! Receives agents' frames: statuses go into the fleet at once, results and events to the recorder.

use fleet::Observed;
use model::bounds::MAX_MESSAGE;
use model::change::EventRow;
use model::text::sanitize_line;
use wire::{EventFrame, Report, ResultFrame, Up, UpKind};

use super::{Refused, Session};
use crate::operations::Record;

impl Session {
    /// Handles one frame. Waits while the recorder's queue is full, which slows this agent and no other.
    pub async fn take(&self, frame: Up) -> Result<(), Refused> {
        let refuse = |reason: &str| Refused::for_now(reason);
        match frame.kind {
            Some(UpKind::Report(report)) => self.report(report).await,
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

    async fn report(&self, report: Report) -> Result<(), Refused> {
        self.sessions.core.counters.reports.add(1);
        if self.was_superseded() {
            return Err(Refused::for_now(
                "the connection that took the place of this one is gone: connect again",
            ));
        }
        let at = self.sessions.core.now();
        if report.statuses.is_empty() {
            self.sessions.core.fleet().heard(self.host, at);
            self.outbox.answer_heartbeat();
            return Ok(());
        }
        let n_statuses = report.statuses.len() as u64;
        let (mut changed, mut moved) = (Vec::new(), Vec::new());
        let mut is_surplus = false;
        {
            let mut fleet = self.sessions.core.fleet_mut();
            fleet.heard(self.host, at);
            for status in report.statuses {
                let name = status.full_name().map_err(|e| malformed(&e.to_string()))?;
                let mut status = status.into_status();
                let held = (status.flag, status.managed);
                // The server's clock, so that ages are comparable between hosts.
                status.reported_at = at;
                let known = fleet.name_id(&name);
                let held_before = known
                    .and_then(|name| fleet.process(self.host, name))
                    .and_then(|row| row.held());
                let observed = fleet.observe(self.host, &name, status);
                if let Observed::Changed(id) = observed {
                    changed.push(id);
                    is_surplus |= fleet
                        .row(id)
                        .and_then(|row| row.owner())
                        .is_some_and(|owner| fleet.view().surplus().contains(owner.0));
                }
                if let Observed::Changed(id) | Observed::Refreshed(id) = observed
                    && let Some(row) = fleet.row(id)
                    && let (Some(flag), Some(managed)) = held
                    // The report before may still wait in the recorder's queue: this one must come after it.
                    && ((row.flag(), row.managed()) != (flag, managed)
                        || held_before.is_some_and(|before| before != (flag, managed)))
                {
                    moved.push(Record::Flags {
                        host: self.host,
                        process: name,
                        flag,
                        managed,
                    });
                }
            }
        }
        self.sessions.core.counters.statuses.add(n_statuses);
        if is_surplus {
            self.sessions.core.retire.notify_one();
        }
        for record in moved {
            self.record(record).await?;
        }
        self.sessions.core.publish_statuses(&changed, at);
        Ok(())
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
        let stopping = || Refused::for_now("the server is stopping");
        self.sessions
            .operations
            .records
            .send(record)
            .await
            .map_err(|_| stopping())
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
