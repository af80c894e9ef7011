//! Paces what agents are told about their processes, so that many changes of one host share a frame.
//!
//! A first change goes to the agent at once. Changes that follow wait until every connected agent could have been told, at
//! [`PER_AGENT`] for each: without that, a hundred registrations on ten thousand hosts are a million frames, and as many reports of what
//! the agents hold now. Whatever else is sent to the agent takes the waiting changes along, before it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Session;
use super::outbox::{ChangedProcesses, Outbox, Pending};

/// What a frame about processes costs the server and its share of the answers.
const PER_AGENT: Duration = Duration::from_micros(100);
/// The longest pause, of 200,000 agents and more.
const MAX_PAUSE: Duration = Duration::from_secs(20);

impl ChangedProcesses {
    fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Adds changes that came later.
    pub(super) fn merge(&mut self, newer: Self) {
        *self = match (std::mem::take(self), newer) {
            (Self::All, _) | (_, Self::All) => Self::All,
            (Self::None, other) | (other, Self::None) => other,
            (Self::Names(mut names), Self::Names(newer)) => {
                names.extend(newer);
                Self::Names(names)
            }
        };
    }
}

impl Outbox {
    /// Puts changes back that are not sent now.
    pub(super) fn keep_desired(&self, desired: ChangedProcesses) {
        let mut now = self.pending();
        let newer = std::mem::replace(&mut now.desired, desired);
        now.desired.merge(newer);
    }

    /// Until when changes of processes wait, if nothing else takes them along.
    fn paused_until(&self) -> Option<Instant> {
        *self.paused_until.lock()
    }
}

impl Session {
    /// Takes changes of processes out of what is sent now, if they have to wait.
    pub(super) fn pace(&self, pending: &mut Pending) {
        if pending.desired.is_none() {
            return;
        }
        let now = Instant::now();
        let may_wait = pending.commands.is_empty()
            && pending.groups.is_empty()
            && pending.dependencies.is_none()
            && !self.outbox.questions.any_to_send();
        if may_wait && self.outbox.paused_until().is_some_and(|until| now < until) {
            self.outbox
                .keep_desired(std::mem::take(&mut pending.desired));
            return;
        }
        let n_agents = u32::try_from(self.sessions.core.outboxes.len()).unwrap_or(u32::MAX);
        let pause = PER_AGENT.saturating_mul(n_agents).min(MAX_PAUSE);
        *self.outbox.paused_until.lock() = Some(now + pause);
    }

    /// Resolves when waiting changes may be sent; never while none wait.
    pub(super) async fn pause(&self) {
        let waits = !self.outbox.pending().desired.is_none();
        match self.outbox.paused_until().filter(|_| waits) {
            Some(until) if !self.outbox.is_behind.load(Ordering::SeqCst) => {
                sleep_until(until).await
            }
            Some(_) | None => std::future::pending().await,
        }
    }
}
