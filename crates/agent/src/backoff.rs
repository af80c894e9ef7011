//! Exponential backoff with full jitter, so that a fleet does not reconnect all at once. Pure: the random number is an
//! argument.

use std::time::Duration;

/// The widest window.
const MAX: Duration = Duration::from_secs(30);
/// The first window after an attempt that failed.
const FAILED: Duration = Duration::from_millis(500);
/// The first window after a session: a restarting server is back soon.
const LOST: Duration = Duration::from_secs(1);
/// The window before the next of several servers is tried for the first time: it is probably up.
const NEXT_SERVER: Duration = Duration::from_secs(1);
/// The first window after an attempt that the server's host refused because nothing listens: that costs no server anything, and
/// a restarting one is back soon.
const NOT_LISTENING: Duration = Duration::from_secs(1);
/// After so many of those the window doubles.
const NOT_LISTENING_TRIES: u32 = 8;
/// A session at least this long resets the window.
const GOOD: Duration = Duration::from_secs(5);
/// The shortest delay after a permanent refusal.
const REFUSED: Duration = Duration::from_secs(60);

/// How the last attempt to connect ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// No session began.
    Failed,
    /// Nothing listens at the server's address.
    NotListening,
    /// A session began, and ended after this time.
    Lost(Duration),
    /// The server refused permanently.
    Refused,
}

#[derive(Debug, Default)]
pub struct Backoff {
    /// Attempts that failed since the last session.
    failures: u32,
    /// Attempts since then at whose address nothing listened.
    not_listening: u32,
    /// Sessions in a row shorter than [`GOOD`].
    short_sessions: u32,
}

impl Backoff {
    /// The delay before a server that was not tried yet.
    pub fn next_server(random_fraction: f64) -> Duration {
        NEXT_SERVER.mul_f64(random_fraction)
    }

    /// The delay before the next attempt. `random_fraction` is in 0..1.
    pub fn delay(&mut self, attempt: Attempt, random_fraction: f64) -> Duration {
        match attempt {
            Attempt::Failed => {
                let window = widened(FAILED, self.failures);
                self.failures = self.failures.saturating_add(1);
                window.mul_f64(random_fraction)
            }
            Attempt::NotListening => {
                let window = widened(NOT_LISTENING, self.not_listening / NOT_LISTENING_TRIES);
                self.not_listening = self.not_listening.saturating_add(1);
                window.mul_f64(random_fraction)
            }
            Attempt::Lost(lasted) => {
                self.failures = 0;
                self.not_listening = 0;
                if lasted >= GOOD {
                    self.short_sessions = 0;
                }
                let window = widened(LOST, self.short_sessions);
                self.short_sessions = self.short_sessions.saturating_add(1);
                window.mul_f64(random_fraction)
            }
            Attempt::Refused => REFUSED + MAX.mul_f64(random_fraction),
        }
    }
}

fn widened(first: Duration, times: u32) -> Duration {
    first.saturating_mul(1 << times.min(16)).min(MAX)
}

/// A random number in 0..1.
pub fn random_fraction() -> f64 {
    use ring::rand::SecureRandom;
    let mut bytes = [0; 4];
    match ring::rand::SystemRandom::new().fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALMOST_ONE: f64 = 1.0;

    #[test]
    fn windows_double_up_to_30_seconds() {
        let mut backoff = Backoff::default();
        let waits: Vec<u64> = (0..9)
            .map(|_| backoff.delay(Attempt::Failed, ALMOST_ONE).as_millis() as u64)
            .collect();
        assert_eq!(
            waits,
            [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]
        );
        assert_eq!(backoff.delay(Attempt::Failed, 0.0), Duration::ZERO);
    }

    #[test]
    fn a_lost_session_is_retried_within_a_second() {
        let mut backoff = Backoff::default();
        for _ in 0..20 {
            backoff.delay(Attempt::Failed, 0.5);
        }
        let lost = Attempt::Lost(Duration::from_secs(61));
        assert!(backoff.delay(lost, ALMOST_ONE) <= Duration::from_secs(1));
        assert!(backoff.delay(Attempt::Failed, ALMOST_ONE) <= Duration::from_millis(500));
    }

    #[test]
    fn short_sessions_widen_the_window_until_a_long_one() {
        let mut backoff = Backoff::default();
        let short = Attempt::Lost(Duration::from_secs(1));
        let waits: Vec<u64> = (0..6)
            .map(|_| backoff.delay(short, ALMOST_ONE).as_secs())
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30]);
        let good = Attempt::Lost(Duration::from_secs(60));
        assert_eq!(backoff.delay(good, ALMOST_ONE).as_secs(), 1);
    }

    #[test]
    fn a_server_that_restarts_is_tried_every_second_at_first() {
        let mut backoff = Backoff::default();
        let mut waits = (0..64).map(|_| backoff.delay(Attempt::NotListening, ALMOST_ONE).as_secs());
        let firsts: Vec<u64> = waits.by_ref().step_by(8).collect();
        assert_eq!(firsts, [1, 2, 4, 8, 16, 30, 30, 30]);
        let failed = backoff.delay(Attempt::Failed, ALMOST_ONE);
        assert_eq!(failed, FAILED, "a server that answers is another matter");
        backoff.delay(Attempt::Lost(Duration::from_secs(61)), ALMOST_ONE);
        let again = backoff.delay(Attempt::NotListening, ALMOST_ONE);
        assert_eq!(again, NOT_LISTENING);
    }

    #[test]
    fn a_refusal_delays_a_minute_at_least() {
        assert!(Backoff::default().delay(Attempt::Refused, 0.0) >= Duration::from_secs(60));
    }
}
