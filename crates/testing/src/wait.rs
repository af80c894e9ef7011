//! Waiting for conditions, never for a time to pass.

use std::time::{Duration, Instant};

/// How long a condition may take before the test fails. Generous: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(10);

/// Polls until `poll` returns a value.
#[track_caller]
pub fn until<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = poll() {
            return found;
        }
        assert!(
            started.elapsed() < PATIENCE,
            "waited {PATIENCE:?} in vain for: {what}"
        );
        std::thread::sleep(POLL_EVERY);
    }
}

/// Polls until `condition` holds, and lets other tasks run in between.
pub async fn until_async(what: &str, mut condition: impl FnMut() -> bool) {
    let started = tokio::time::Instant::now();
    while !condition() {
        assert!(
            started.elapsed() < PATIENCE,
            "waited {PATIENCE:?} in vain for: {what}"
        );
        tokio::time::sleep(POLL_EVERY).await;
    }
}
