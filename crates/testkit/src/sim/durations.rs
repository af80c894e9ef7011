//! How long something took, counted in buckets of one width.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde_json::{Value, json};

/// The last one holds everything slower.
const BUCKETS: usize = 60_000;

#[derive(Debug)]
pub(super) struct Durations {
    buckets: Box<[AtomicU64]>,
    width: Duration,
}

impl Durations {
    pub(super) fn in_buckets_of(width: Duration) -> Self {
        Self {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            width,
        }
    }

    pub(super) fn add(&self, took: Duration) {
        let bucket = took.as_micros() / self.width.as_micros();
        let bucket = usize::try_from(bucket).unwrap_or(BUCKETS).min(BUCKETS - 1);
        self.buckets[bucket].fetch_add(1, Relaxed);
    }

    pub(super) fn clear(&self) {
        for bucket in &self.buckets {
            bucket.store(0, Relaxed);
        }
    }

    /// For a reader that adds up several fleets: the buckets that hold something, with how many.
    pub(super) fn to_buckets(&self) -> Value {
        let counts = self.buckets.iter().map(|count| count.load(Relaxed));
        let filled: Vec<(usize, u64)> = counts.enumerate().filter(|(_, n)| *n > 0).collect();
        json!({"width_us": self.width.as_micros() as u64, "buckets": filled})
    }

    pub(super) fn to_json(&self) -> Value {
        let buckets = self.buckets.iter();
        let counts: Vec<u64> = buckets.map(|bucket| bucket.load(Relaxed)).collect();
        let n: u64 = counts.iter().sum();
        let at = |part: f64| {
            let bucket = quantile(&counts, n, part)?;
            Some(self.width.as_micros() as f64 * bucket as f64 / 1000.0)
        };
        json!({"n": n, "p50_ms": at(0.50), "p99_ms": at(0.99), "max_ms": at(1.0)})
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
        let durations = Durations::in_buckets_of(Duration::from_micros(500));
        assert_eq!(durations.to_json()["p50_ms"], Value::Null);
        (1..=100).for_each(|millis| durations.add(Duration::from_millis(millis)));
        durations.add(Duration::from_micros(700));
        assert_eq!(
            durations.to_json(),
            json!({"n": 101, "p50_ms": 50.0, "p99_ms": 99.0, "max_ms": 100.0})
        );
        durations.clear();
        durations.add(Duration::from_secs(3600));
        assert_eq!(
            durations.to_buckets(),
            json!({"width_us": 500, "buckets": [[59_999, 1]]})
        );
        assert_eq!(
            durations.to_json(),
            json!({"n": 1, "p50_ms": 29_999.5, "p99_ms": 29_999.5, "max_ms": 29_999.5})
        );
    }
}
