//! Waiting for conditions, never for a time to pass.

use std::time::{Duration, Instant};

/// How long anything may take before a test calls it lost. Generous: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Looks again and again until there is an answer.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            started.elapsed() < PATIENCE,
            "waited {PATIENCE:?} in vain for: {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}
