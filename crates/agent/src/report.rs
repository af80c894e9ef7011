//! The latest status of each process, and which of them are not sent yet.
//!
//! Latest wins: one status per process is kept, however long the server is away. A state change is sent within
//! milliseconds, usage figures within a second, so that several share a frame.

use std::collections::HashMap;
use std::sync::Arc;
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
    /// Names of dirty statuses whose state changed, and perhaps of some that were forgotten since.
    moved: Vec<FullName>,
    /// The same where only usage figures changed.
    used: Vec<FullName>,
    due: Option<Instant>,
}

#[derive(Debug)]
struct Latest {
    status: Arc<Status>,
    dirty: Dirty,
}

/// What was not sent yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Dirty {
    No,
    Usage,
    State,
}

/// How many statuses the server takes now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    /// A server of an earlier version takes all.
    Unlimited,
    Statuses(u32),
}

impl Allowance {
    /// At the begin of a session.
    pub fn new(server_grants: bool) -> Self {
        match server_grants {
            true => Self::Statuses(0),
            false => Self::Unlimited,
        }
    }

    /// Takes a grant of [`wire::Ack::may_report`].
    pub fn grant(&mut self, n: u32) {
        if let Self::Statuses(left) = self
            && n > 0
        {
            *left = n;
        }
    }

    pub fn spend(&mut self, n_statuses: usize) {
        if let Self::Statuses(left) = self {
            *left = left.saturating_sub(u32::try_from(n_statuses).unwrap_or(u32::MAX));
        }
    }

    pub fn may_report(self) -> bool {
        self != Self::Statuses(0)
    }
}

/// Which statuses may go into a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granted {
    All,
    /// Those whose state changed, because a result waits that must not overtake them.
    States,
}

impl Granted {
    /// What may be reported now, if anything.
    pub fn now(allowance: Allowance, is_due: bool, result_waits: bool) -> Option<Self> {
        match allowance.may_report() {
            true => (is_due || result_waits).then_some(Self::All),
            false => result_waits.then_some(Self::States),
        }
    }
}

impl Statuses {
    pub fn update(&mut self, name: FullName, status: Arc<Status>, now: Instant) {
        let known = self.latest.get(&name);
        let only_usage = known.is_some_and(|known| differs_only_in_usage(&known.status, &status));
        let (delay, change) = match only_usage {
            true => (USAGE_DELAY, Dirty::Usage),
            false => (STATE_DELAY, Dirty::State),
        };
        let before = known.map_or(Dirty::No, |known| known.dirty);
        match change {
            _ if change <= before => {}
            Dirty::State => self.moved.push(name.clone()),
            Dirty::Usage | Dirty::No => self.used.push(name.clone()),
        }
        let due = now + delay;
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
        let dirty = before.max(change);
        self.latest.insert(name, Latest { status, dirty });
    }

    pub fn forget(&mut self, name: &FullName) {
        self.latest.remove(name);
    }

    /// Makes every status dirty, for a new connection.
    pub fn rewind(&mut self, now: Instant) {
        self.moved = self.latest.keys().cloned().collect();
        self.used = Vec::new();
        self.latest
            .values_mut()
            .for_each(|known| known.dirty = Dirty::State);
        self.due = (!self.moved.is_empty()).then_some(now);
    }

    /// When the next report is due, if there is one.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The statuses of one frame; the rest stays due.
    pub fn take(&mut self, granted: Granted, budget: usize) -> Option<Report> {
        let mut report = Report::default();
        let mut size = 0;
        while size < budget
            && let Some(name) = self.next_dirty(granted)
        {
            let is_dirty = |known: &&mut Latest| known.dirty != Dirty::No;
            let Some(known) = self.latest.get_mut(&name).filter(is_dirty) else {
                continue;
            };
            known.dirty = Dirty::No;
            let status = ProcessStatus::new(&name, &known.status);
            size += status.encoded_len();
            report.statuses.push(status);
        }
        if self.moved.is_empty() && self.used.is_empty() {
            (self.moved, self.used) = (Vec::new(), Vec::new());
            self.due = None;
        }
        (!report.statuses.is_empty()).then_some(report)
    }

    fn next_dirty(&mut self, granted: Granted) -> Option<FullName> {
        let moved = self.moved.pop();
        moved.or_else(|| match granted {
            Granted::All => self.used.pop(),
            Granted::States => None,
        })
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

    fn running(cpu: f32) -> Arc<Status> {
        Arc::new(Status {
            state: State::Running,
            pid: 7,
            cpu,
            ..Status::default()
        })
    }

    #[test]
    fn only_the_latest_status_of_a_process_is_sent() {
        let (mut statuses, now) = (Statuses::default(), Instant::now());
        statuses.update(name(1), running(1.0), now);
        statuses.update(name(1), running(2.0), now);
        let report = statuses.take(Granted::All, 1000).unwrap();
        assert_eq!(report.statuses.len(), 1);
        assert_eq!(report.statuses[0].cpu, 2.0);
        assert_eq!(statuses.take(Granted::All, 1000), None);
        assert_eq!(statuses.due(), None);
    }

    #[test]
    fn a_state_change_is_due_before_usage_figures() {
        let (mut statuses, now) = (Statuses::default(), Instant::now());
        statuses.update(name(1), running(1.0), now);
        assert_eq!(statuses.due(), Some(now + STATE_DELAY));
        statuses.take(Granted::All, 1000);
        statuses.update(name(1), running(2.0), now);
        assert_eq!(statuses.due(), Some(now + USAGE_DELAY));
        statuses.update(name(1), Arc::default(), now);
        assert_eq!(statuses.due(), Some(now + STATE_DELAY));
    }

    #[test]
    fn a_health_check_with_the_same_result_can_wait() {
        let checked = |ok, at| {
            let health = HealthResult {
                ok,
                checked_at: UnixMillis(at),
                message: String::new(),
            };
            Arc::new(Status {
                health: Some(health),
                ..Status::clone(&running(1.0))
            })
        };
        let (mut statuses, now) = (Statuses::default(), Instant::now());
        statuses.update(name(1), checked(true, 1), now);
        statuses.take(Granted::All, 1000);
        statuses.update(name(1), checked(true, 2), now);
        assert_eq!(statuses.due(), Some(now + USAGE_DELAY));
        statuses.update(name(1), checked(false, 3), now);
        assert_eq!(statuses.due(), Some(now + STATE_DELAY));
    }

    #[test]
    fn a_long_report_is_split_into_frames() {
        let (mut statuses, now) = (Statuses::default(), Instant::now());
        (0..100).for_each(|n| statuses.update(name(n), running(1.0), now));
        while statuses.take(Granted::All, 200).is_some() {}
        statuses.rewind(now);
        let mut seen = Vec::new();
        while let Some(report) = statuses.take(Granted::All, 200) {
            assert!(report.encoded_len() < 400);
            seen.extend(report.statuses.into_iter().map(|s| s.name));
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 100);
    }

    #[test]
    fn a_grant_lasts_for_its_statuses_and_replaces_what_is_left() {
        let mut allowance = Allowance::new(true);
        assert!(!allowance.may_report());
        allowance.grant(3);
        allowance.grant(0);
        allowance.spend(2);
        assert_eq!(allowance, Allowance::Statuses(1));
        allowance.spend(500);
        assert!(!allowance.may_report());
        allowance.grant(3);
        allowance.grant(2);
        assert_eq!(allowance, Allowance::Statuses(2));
        let mut unlimited = Allowance::new(false);
        unlimited.spend(500);
        unlimited.grant(1);
        assert_eq!(unlimited, Allowance::Unlimited);
    }

    #[test]
    fn without_a_grant_only_changed_states_are_sent_and_the_rest_stays_due() {
        let (mut statuses, now) = (Statuses::default(), Instant::now());
        (0..4).for_each(|n| statuses.update(name(n), running(1.0), now));
        while statuses.take(Granted::All, 200).is_some() {}
        statuses.update(name(0), running(2.0), now);
        statuses.update(name(1), running(2.0), now);
        statuses.update(name(1), Arc::default(), now);
        statuses.update(
            name(1),
            Arc::new(Status {
                cpu: 3.0,
                ..Status::default()
            }),
            now,
        );
        statuses.update(name(2), Arc::default(), now);
        let names = |report: Report| {
            let mut names: Vec<_> = report.statuses.into_iter().map(|one| one.name).collect();
            names.sort();
            names
        };
        let states = statuses.take(Granted::States, 1000).unwrap();
        assert_eq!(names(states), ["p1", "p2"]);
        assert_eq!(statuses.take(Granted::States, 1000), None);
        assert!(statuses.due().is_some());
        let rest = statuses.take(Granted::All, 1000).unwrap();
        assert_eq!(names(rest), ["p0"]);
        assert_eq!(statuses.due(), None);
    }

    #[test]
    fn a_forgotten_process_is_not_reported() {
        let (mut statuses, now) = (Statuses::default(), Instant::now());
        statuses.update(name(1), running(1.0), now);
        statuses.forget(&name(1));
        assert_eq!(statuses.take(Granted::All, 1000), None);
        assert_eq!(statuses.due(), None);
    }
}
