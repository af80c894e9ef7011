//! Counters of the fleet, and how long its targets and heartbeats took.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde_json::{Value, json};

use super::durations::Durations;

#[derive(Debug)]
pub(super) struct Counters {
    pub(super) connected: AtomicI64,
    pub(super) connects: Count,
    pub(super) failed_connects: Count,
    pub(super) lost: Count,
    pub(super) refused: Count,
    pub(super) moved: Count,
    pub(super) reports: Count,
    pub(super) statuses: Count,
    pub(super) events: Count,
    pub(super) commands: Count,
    pub(super) results: Count,
    /// From the creation of a task until its result was acknowledged, which means durable.
    pub(super) targets: Durations,
    /// From a heartbeat until its answer.
    pub(super) heartbeats: Durations,
}

#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, n: usize) {
        self.0.fetch_add(n as u64, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            connected: AtomicI64::new(0),
            connects: Count::default(),
            failed_connects: Count::default(),
            lost: Count::default(),
            refused: Count::default(),
            moved: Count::default(),
            reports: Count::default(),
            statuses: Count::default(),
            events: Count::default(),
            commands: Count::default(),
            results: Count::default(),
            targets: Durations::in_buckets_of(Duration::from_millis(1)),
            heartbeats: Durations::in_buckets_of(Duration::from_micros(50)),
        }
    }
}

impl Counters {
    /// Clears the durations of targets and heartbeats.
    pub(super) fn reset(&self) {
        self.targets.clear();
        self.heartbeats.clear();
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "connected": self.connected.load(Relaxed),
            "connects": self.connects.get(),
            "failed_connects": self.failed_connects.get(),
            "lost": self.lost.get(),
            "refused": self.refused.get(),
            "moved": self.moved.get(),
            "reports": self.reports.get(),
            "statuses": self.statuses.get(),
            "events": self.events.get(),
            "commands": self.commands.get(),
            "results_acknowledged": self.results.get(),
            "targets": self.targets.to_json(),
            "heartbeats": self.heartbeats.to_json(),
        })
    }
}
