//! What the server turns away for want of room: counted by reason for `/metrics`, and told in the log, but not each one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A reason is told at most so often; a line says how many there were since the one before.
const TELL_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A request beyond those that may be under way.
    Requests,
    /// A large body beyond those that may be on their way.
    Bodies,
    /// A connection to the API beyond those that there may be, and none of them was idle.
    Connections,
    /// The same for one address.
    ConnectionsOfAddress,
    /// An idle connection to the API that made room for another.
    Idle,
    /// A connection that could not be accepted, for example for want of descriptors.
    Accept,
    /// A connection of an agent whose address has too many, too many new ones, or is one too many.
    AgentAddress,
    /// A connection of an agent beyond those that may shake hands.
    AgentStrangers,
    /// A connection of an agent beyond those that there are descriptors for.
    AgentRoom,
}

impl Reason {
    const ALL: [Self; 9] = [
        Self::Requests,
        Self::Bodies,
        Self::Connections,
        Self::ConnectionsOfAddress,
        Self::Idle,
        Self::Accept,
        Self::AgentAddress,
        Self::AgentStrangers,
        Self::AgentRoom,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Bodies => "bodies",
            Self::Connections => "connections",
            Self::ConnectionsOfAddress => "connections_of_address",
            Self::Idle => "idle_connections",
            Self::Accept => "accept_failed",
            Self::AgentAddress => "agents_of_address",
            Self::AgentStrangers => "agent_strangers",
            Self::AgentRoom => "agent_room",
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Shed([Counted; Reason::ALL.len()]);

#[derive(Debug, Default)]
struct Counted {
    n: AtomicU64,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    at: Option<Instant>,
    n: u64,
}

impl Shed {
    /// Counts one, and tells of it if there was nothing to tell for a while. `why` is for that line.
    pub(crate) fn note(&self, reason: Reason, why: impl std::fmt::Display) {
        let counted = &self.0[reason as usize];
        let n = counted.n.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(since) = counted.to_tell(n, Instant::now()) {
            let reason = reason.as_str();
            tracing::warn!(reason, since, total = n, %why, "turned away for want of room");
        }
    }

    /// Every reason with how often it was the reason.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let each = Reason::ALL.into_iter().zip(&self.0);
        each.map(|(reason, counted)| (reason.as_str(), counted.n.load(Ordering::Relaxed)))
    }
}

impl Counted {
    /// How many there were since the last line, if it is time for one.
    fn to_tell(&self, n: u64, now: Instant) -> Option<u64> {
        // Another thread that is telling has told of this one, too.
        let mut told = self.told.try_lock().ok()?;
        if told.at.is_some_and(|at| now < at + TELL_EVERY) {
            return None;
        }
        let since = n.saturating_sub(told.n);
        *told = Told { at: Some(now), n };
        Some(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_and_few_are_told() {
        let shed = Shed::default();
        for _ in 0..5 {
            shed.note(Reason::Idle, "test");
        }
        let counts: Vec<_> = shed.counts().filter(|(_, n)| *n > 0).collect();
        assert_eq!(counts, [("idle_connections", 5)]);
        for (at, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, at);
        }

        let (counted, start) = (Counted::default(), Instant::now());
        assert_eq!(counted.to_tell(1, start), Some(1));
        assert_eq!(counted.to_tell(2, start + TELL_EVERY / 2), None);
        assert_eq!(counted.to_tell(9, start + TELL_EVERY), Some(8));
    }
}
