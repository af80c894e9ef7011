//! A warning that is logged at most every few seconds, with how many there were since the last line.

use std::fmt::Display;
use std::time::{Duration, Instant};

use locks::Mutex;

const LOG_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct LimitedLog(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    since: u64,
}

impl LimitedLog {
    pub(crate) fn warn(&self, message: &'static str, why: impl Display) {
        if let Some(times) = self.due(Instant::now()) {
            tracing::warn!(times, %why, "{message}");
        }
    }

    /// Counts one; how many there were since the last line, if it is time for the next.
    fn due(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock();
        state.since += 1;
        if state.last.is_some_and(|last| now < last + LOG_EVERY) {
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_stands_for_many() {
        let (log, start) = (LimitedLog::default(), Instant::now());
        assert_eq!(log.due(start), Some(1));
        assert_eq!(log.due(start + LOG_EVERY / 2), None);
        assert_eq!(log.due(start + LOG_EVERY / 2), None);
        assert_eq!(log.due(start + LOG_EVERY), Some(3));
    }
}
