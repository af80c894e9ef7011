//! What the agents of a simulated fleet share.

use std::time::Duration;

use locks::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::counters::Counters;
use super::names::Names;
use super::options::Options;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) names: Names,
    pub(super) counters: Counters,
    pub(super) load: watch::Sender<Load>,
    next_start: Mutex<Option<Instant>>,
}

/// The present load of the whole fleet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    pub(super) statuses_per_sec: f64,
    pub(super) events_per_sec: f64,
    /// Incremented to cut all connections.
    pub(super) cuts: u32,
}

impl Shared {
    pub(super) fn new(options: Options) -> Self {
        let load = Load {
            statuses_per_sec: options.status_rate,
            events_per_sec: options.event_rate,
            cuts: 0,
        };
        Self {
            options,
            names: Names::default(),
            counters: Counters::default(),
            load: watch::Sender::new(load),
            next_start: Mutex::new(None),
        }
    }

    /// When the next agent may connect for the first time.
    pub(super) fn start_at(&self) -> Instant {
        let now = Instant::now();
        if self.options.connect_rate == 0 {
            return now;
        }
        let pace = Duration::from_secs(1) / self.options.connect_rate;
        let mut next = self.next_start.lock();
        let at = next.unwrap_or(now).max(now);
        *next = Some(at + pace);
        at
    }
}
