//! Counters of the fleet, and how long its targets took.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use serde_json::{Value, json};

/// One bucket per millisecond; the last one holds everything slower.
const BUCKETS: usize = 60_000;

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
    took: Box<[AtomicU64]>,
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
            took: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Counters {
    pub(super) fn target_took(&self, millis: i64) {
        let bucket = usize::try_from(millis).unwrap_or(0).min(BUCKETS - 1);
        self.took[bucket].fetch_add(1, Relaxed);
    }

    /// Clears the durations of targets.
    pub(super) fn reset(&self) {
        self.took.iter().for_each(|bucket| bucket.store(0, Relaxed));
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
            "targets": self.took(),
        })
    }

    fn took(&self) -> Value {
        let counts: Vec<u64> = self
            .took
            .iter()
            .map(|bucket| bucket.load(Relaxed))
            .collect();
        let n: u64 = counts.iter().sum();
        json!({
            "n": n,
            "p50_ms": quantile(&counts, n, 0.50),
            "p99_ms": quantile(&counts, n, 0.99),
            "max_ms": quantile(&counts, n, 1.0),
        })
    }
}

/// By nearest rank; `None` without values.
fn quantile(counts: &[u64], n: u64, part: f64) -> Option<usize> {
    let rank = ((n as f64 * part).ceil() as u64).max(1);
    let mut seen = 0;
    counts.iter().position(|count| {
        seen += count;
        n > 0 && seen >= rank
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let counters = Counters::default();
        assert_eq!(counters.to_json()["targets"]["p50_ms"], Value::Null);
        (1..=100).for_each(|millis| counters.target_took(millis));
        let targets = counters.to_json()["targets"].clone();
        assert_eq!(
            targets,
            json!({"n": 100, "p50_ms": 50, "p99_ms": 99, "max_ms": 100})
        );
        counters.reset();
        assert_eq!(counters.to_json()["targets"]["n"], 0);
    }
}
