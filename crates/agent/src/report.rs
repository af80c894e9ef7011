//! The latest status of each process, and which of them are not sent yet.
//!
//! Latest wins: one status per process is kept, however long the server is away. A state change is sent within
//! milliseconds, usage figures within a second, so that several share a frame.

use std::collections::HashMap;
use std::time::Duration;

use model::status::HealthResult;
use model::{FullName, Status};
use prost::Message;
use tokio::time::Instant;
use wire::{ProcessStatus, Report};

/// How long a state change waits for others.
const STATE_DELAY: Duration = Duration::from_millis(5);
/// How long usage figures wait. The supervisor decides how often they come.
const USAGE_DELAY: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub struct Statuses {
    latest: HashMap<FullName, Latest>,
    /// Names of dirty statuses, and perhaps of some that were forgotten since.
    dirty: Vec<FullName>,
    due: Option<Instant>,
}

#[derive(Debug)]
struct Latest {
    status: Status,
    dirty: bool,
}

impl Statuses {
    pub fn update(&mut self, name: FullName, status: Status, now: Instant) {
        let known = self.latest.get(&name);
        let delay = match known.is_some_and(|known| differs_only_in_usage(&known.status, &status)) {
            true => USAGE_DELAY,
            false => STATE_DELAY,
        };
        if !known.is_some_and(|known| known.dirty) {
            self.dirty.push(name.clone());
        }
        let due = now + delay;
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
        let dirty = true;
        self.latest.insert(name, Latest { status, dirty });
    }

    pub fn forget(&mut self, name: &FullName) {
        self.latest.remove(name);
    }

    /// Makes every status dirty, for a new connection.
    pub fn rewind(&mut self, now: Instant) {
        self.dirty = self.latest.keys().cloned().collect();
        self.latest
            .values_mut()
            .for_each(|known| known.dirty = true);
        self.due = (!self.dirty.is_empty()).then_some(now);
    }

    /// When the next report is due, if there is one.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The statuses of one frame; the rest stays due.
    pub fn take(&mut self, budget: usize) -> Option<Report> {
        let mut report = Report::default();
        let mut size = 0;
        while size < budget
            && let Some(name) = self.dirty.pop()
        {
            let Some(known) = self.latest.get_mut(&name).filter(|known| known.dirty) else {
                continue;
            };
            known.dirty = false;
            let status = ProcessStatus::new(&name, &known.status);
            size += status.encoded_len();
            report.statuses.push(status);
        }
        if self.dirty.is_empty() {
            self.dirty = Vec::new();
            self.due = None;
        }
        (!report.statuses.is_empty()).then_some(report)
    }
}

/// Whether only usage figures changed, or the time of the last health check.
fn differs_only_in_usage(old: &Status, new: &Status) -> bool {
    old.state == new.state
        && old.process_state == new.process_state
        && old.next_at == new.next_at
        && old.restarts == new.restarts
        && old.last_exit == new.last_exit
        && old.restart_needed == new.restart_needed
        && words(old) == words(new)
        && !old.probes.differs(&new.probes)
        && old.pid == new.pid
        && old.started_at == new.started_at
        && old.version == new.version
        && old.message == new.message
        && old.flag == new.flag
        && old.managed == new.managed
}

/// What the last health check said.
fn words(status: &Status) -> Option<(bool, &str)> {
    status.health.as_ref().map(HealthResult::words)
}

#[cfg(test)]
mod tests {
    use model::{State, UnixMillis};

    use super::*;

    fn name(n: usize) -> FullName {
        FullName::parse("gse", &format!("p{n}")).unwrap()
    }

    fn running(cpu: f32) -> Status {
        Status {
            state: State::Running,
            pid: 7,
            cpu,
            ..Status::default()
        }
    }

    #[test]
    fn only_the_latest_status_of_a_process_is_sent() {
        let (mut statuses, now) = (Statuses::default(), Instant::now());
        statuses.update(name(1), running(1.0), now);
        statuses.update(name(1), running(2.0), now);
        let report = statuses.take(1000).unwrap();
        assert_eq!(report.statuses.len(), 1);
        assert_eq!(report.statuses[0].cpu, 2.0);
        assert_eq!(statuses.take(1000), None);
        assert_eq!(statuses.due(), None);
    }

    #[test]
    fn a_state_change_is_due_before_usage_figures() {
        let (mut statuses, now) = (Statuses::default(), Instant::now());
        statuses.update(name(1), running(1.0), now);
        assert_eq!(statuses.due(), Some(now + STATE_DELAY));
        statuses.take(1000);
        statuses.update(name(1), running(2.0), now);
        assert_eq!(statuses.due(), Some(now + USAGE_DELAY));
        statuses.update(name(1), Status::default(), now);
        assert_eq!(statuses.due(), Some(now + STATE_DELAY));
    }

    #[test]
    fn a_health_check_with_the_same_result_can_wait() {
        let checked = |ok, at| Status {
            health: Some(HealthResult {
                ok,
                checked_at: UnixMillis(at),
                message: String::new(),
            }),
            ..running(1.0)
        };
        let (mut statuses, now) = (Statuses::default(), Instant::now());
        statuses.update(name(1), checked(true, 1), now);
        statuses.take(1000);
        statuses.update(name(1), checked(true, 2), now);
        assert_eq!(statuses.due(), Some(now + USAGE_DELAY));
        statuses.update(name(1), checked(false, 3), now);
        assert_eq!(statuses.due(), Some(now + STATE_DELAY));
    }

    #[test]
    fn a_long_report_is_split_into_frames() {
        let (mut statuses, now) = (Statuses::default(), Instant::now());
        (0..100).for_each(|n| statuses.update(name(n), running(1.0), now));
        while statuses.take(200).is_some() {}
        statuses.rewind(now);
        let mut seen = Vec::new();
        while let Some(report) = statuses.take(200) {
            assert!(report.encoded_len() < 400);
            seen.extend(report.statuses.into_iter().map(|s| s.name));
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 100);
    }

    #[test]
    fn a_forgotten_process_is_not_reported() {
        let (mut statuses, now) = (Statuses::default(), Instant::now());
        statuses.update(name(1), running(1.0), now);
        statuses.forget(&name(1));
        assert_eq!(statuses.take(1000), None);
        assert_eq!(statuses.due(), None);
    }
}
