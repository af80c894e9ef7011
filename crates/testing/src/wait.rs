//! Waiting for conditions, never for a time to pass.

use std::time::{Duration, Instant};

/// How long a condition may take before the test fails. Generous: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// What a polled condition returns: `bool`, or an `Option` with a value for the caller.
pub trait Condition {
    type Value;

    fn value(self) -> Option<Self::Value>;
}

impl Condition for bool {
    type Value = ();

    fn value(self) -> Option<()> {
        self.then_some(())
    }
}

impl<T> Condition for Option<T> {
    type Value = T;

    fn value(self) -> Self {
        self
    }
}

/// Polls until the condition holds.
#[track_caller]
pub fn until<C: Condition>(what: &str, mut poll: impl FnMut() -> C) -> C::Value {
    let (started, mut pause) = (Instant::now(), SHORTEST_PAUSE);
    loop {
        if let Some(value) = poll().value() {
            return value;
        }
        check(started, what);
        std::thread::sleep(pause);
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

/// The same, and lets other tasks run between two polls.
pub async fn until_async<C: Condition>(what: &str, mut poll: impl FnMut() -> C) -> C::Value {
    let (started, mut pause) = (Instant::now(), SHORTEST_PAUSE);
    loop {
        if let Some(value) = poll().value() {
            return value;
        }
        check(started, what);
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

#[track_caller]
fn check(started: Instant, what: &str) {
    assert!(
        started.elapsed() < PATIENCE,
        "waited {PATIENCE:?} in vain for: {what}"
    );
}
