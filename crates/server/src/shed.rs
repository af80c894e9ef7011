//! Counts requests and connections that the server sheds (refuses at a limit), by reason, for `/metrics`; logs some of them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Each reason is logged at most so often; a line says how many there were since the one before.
const LOG_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShedReason {
    /// A request beyond the limit of requests under way.
    Requests,
    /// A large body beyond the limit of bodies being received.
    Bodies,
    /// A connection to the API beyond the limit, while none was idle.
    Connections,
    /// The same for one address.
    ConnectionsOfAddress,
    /// An idle connection to the API, evicted for another.
    Idle,
    /// A connection that could not be accepted, for example without free descriptors.
    Accept,
    /// A connection of an agent beyond the limits of its address, or of addresses.
    AgentAddress,
    /// A connection of an agent beyond the limit of unauthenticated ones.
    AgentUnauthenticated,
    /// A connection of an agent beyond the limit by descriptors.
    AgentConnections,
    /// A connection of an agent with a PROXY header that is malformed or not allowed.
    AgentProxyHeader,
}

impl ShedReason {
    const ALL: [Self; 10] = [
        Self::Requests,
        Self::Bodies,
        Self::Connections,
        Self::ConnectionsOfAddress,
        Self::Idle,
        Self::Accept,
        Self::AgentAddress,
        Self::AgentUnauthenticated,
        Self::AgentConnections,
        Self::AgentProxyHeader,
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
            Self::AgentUnauthenticated => "agent_strangers",
            Self::AgentConnections => "agent_room",
            Self::AgentProxyHeader => "agent_proxy_header",
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct ShedCounters([Counter; ShedReason::ALL.len()]);

#[derive(Debug, Default)]
struct Counter {
    n: AtomicU64,
    last_log: Mutex<LastLog>,
}

#[derive(Debug, Default)]
struct LastLog {
    at: Option<Instant>,
    n: u64,
}

impl ShedCounters {
    /// Counts one, and logs `why` unless the reason was logged a moment ago.
    pub(crate) fn count(&self, reason: ShedReason, why: impl std::fmt::Display) {
        let counter = &self.0[reason as usize];
        let n = counter.n.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(since) = counter.due(n, Instant::now()) {
            let message = match reason {
                ShedReason::AgentProxyHeader => "turned away",
                _ => "turned away for want of room",
            };
            let reason = reason.as_str();
            tracing::warn!(reason, since, total = n, %why, "{message}");
        }
    }

    /// Every reason with its count.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let each = ShedReason::ALL.into_iter().zip(&self.0);
        each.map(|(reason, counter)| (reason.as_str(), counter.n.load(Ordering::Relaxed)))
    }
}

impl Counter {
    /// How many there were since the last line, if it is time for the next.
    fn due(&self, n: u64, now: Instant) -> Option<u64> {
        // A thread that is logging right now has counted this one, too.
        let mut last = self.last_log.try_lock().ok()?;
        if last.at.is_some_and(|at| now < at + LOG_EVERY) {
            return None;
        }
        let since = n.saturating_sub(last.n);
        *last = LastLog { at: Some(now), n };
        Some(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_and_few_are_logged() {
        let shed = ShedCounters::default();
        for _ in 0..5 {
            shed.count(ShedReason::Idle, "test");
        }
        let counts: Vec<_> = shed.counts().filter(|(_, n)| *n > 0).collect();
        assert_eq!(counts, [("idle_connections", 5)]);
        for (at, reason) in ShedReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, at);
        }

        let (counter, start) = (Counter::default(), Instant::now());
        assert_eq!(counter.due(1, start), Some(1));
        assert_eq!(counter.due(2, start + LOG_EVERY / 2), None);
        assert_eq!(counter.due(9, start + LOG_EVERY), Some(8));
    }
}
