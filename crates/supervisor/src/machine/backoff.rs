//! How long the agent waits before each attempt, and when it gives up. Pure: the jitter comes from a seed.

use model::Spec;
use model::digest::text_hash;
use model::spec::restart::{
    DEFAULT_DELAY_MAX, DEFAULT_FACTOR, DEFAULT_JITTER, DEFAULT_RESET, GiveUp,
};

use super::Context;

/// The waits of a spec, with every default filled in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Backoff {
    /// Before the first attempt.
    delay_ms: u64,
    factor: f64,
    delay_max_ms: u64,
    jitter_percent: u32,
    /// A run of this length is followed by an attempt without a wait.
    no_wait_after_ms: u64,
    /// That holds for the first attempt only.
    only_the_first: bool,
    /// A run of this length clears the count of failed attempts.
    pub(super) reset_ms: u64,
    pub(super) give_up: GiveUp,
}

impl Backoff {
    pub(super) fn of(spec: &Spec) -> Self {
        let policy = &spec.monitor_policy;
        let interval_ms = u64::from(policy.start_interval) * 1000;
        let retries = GiveUp::After(policy.start_retries);
        let restart = &spec.restart;
        if restart.is_default() {
            // As the GSE documents say.
            return Self {
                delay_ms: interval_ms,
                factor: 1.0,
                delay_max_ms: interval_ms,
                jitter_percent: 0,
                no_wait_after_ms: interval_ms,
                only_the_first: false,
                reset_ms: u64::from(DEFAULT_RESET) * 1000,
                give_up: retries,
            };
        }
        // An interval of 0 would never grow.
        let delay_ms = restart
            .delay
            .map_or(interval_ms.max(1000), |secs| u64::from(secs) * 1000);
        let delay_max_ms = u64::from(restart.delay_max.unwrap_or(DEFAULT_DELAY_MAX)) * 1000;
        let reset_ms = u64::from(restart.reset.unwrap_or(DEFAULT_RESET)) * 1000;
        Self {
            delay_ms,
            factor: restart.factor.unwrap_or(DEFAULT_FACTOR),
            delay_max_ms: match restart.delay_max {
                Some(_) => delay_max_ms,
                None => delay_max_ms.max(delay_ms),
            },
            jitter_percent: restart.jitter.unwrap_or(DEFAULT_JITTER),
            no_wait_after_ms: reset_ms,
            only_the_first: true,
            reset_ms,
            give_up: restart.give_up.unwrap_or(retries),
        }
    }

    /// The wait before the attempt with this number, from 1, by a seed that differs from host to host.
    pub(super) fn wait_ms(&self, attempt: u32, seed: u64) -> u64 {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let grown = self.delay_ms as f64 * self.factor.powi(exponent);
        // Infinity is capped as well.
        let wait = grown.min(self.delay_max_ms as f64);
        let spread = wait * f64::from(self.jitter_percent) / 100.0;
        // From -1 to 1.
        let at = (seed % 2001) as f64 / 1000.0 - 1.0;
        (wait + spread * at).max(0.0) as u64
    }

    /// The same after a run of this length.
    pub(super) fn wait_after_ms(&self, lasted_ms: u64, attempt: u32, seed: u64) -> u64 {
        let may_be_at_once = attempt <= 1 || !self.only_the_first;
        match may_be_at_once && lasted_ms >= self.no_wait_after_ms {
            true => 0,
            false => self.wait_ms(attempt, seed),
        }
    }

    /// `attempt 2 of 4`, and `attempt 2` if the agent never gives up.
    pub(super) fn attempt_words(&self, attempt: u32) -> String {
        match self.give_up {
            GiveUp::Never => format!("attempt {attempt}"),
            GiveUp::After(retries) => format!("attempt {attempt} of {retries}"),
        }
    }
}

/// A number that differs between processes, hosts and moments.
pub(super) fn seed(cx: &Context<'_>) -> u64 {
    text_hash(&format!("{} {} {}", cx.name, cx.now.boot_ms, cx.now.unix.0))
}

#[cfg(test)]
mod tests {
    use model::spec::Restart;
    use proptest::prelude::*;

    use super::*;
    use crate::machine::tests_spec;

    fn backoff(restart: Restart) -> Backoff {
        let mut spec = tests_spec();
        spec.monitor_policy.start_interval = 10;
        spec.monitor_policy.start_retries = 4;
        spec.restart = restart.into();
        Backoff::of(&spec)
    }

    /// The seed without any jitter.
    const MIDDLE: u64 = 1000;

    #[test]
    fn without_a_section_the_interval_of_the_gse_documents_counts() {
        let backoff = backoff(Restart::default());
        assert_eq!(backoff.give_up, GiveUp::After(4));
        for attempt in [1, 2, 50] {
            for seed in [0, 17, u64::MAX] {
                assert_eq!(backoff.wait_ms(attempt, seed), 10_000);
                assert_eq!(backoff.wait_after_ms(9_999, attempt, seed), 10_000);
                assert_eq!(backoff.wait_after_ms(10_000, attempt, seed), 0);
            }
        }
    }

    #[test]
    fn waits_grow_by_the_factor_up_to_the_cap() {
        let given = Restart {
            delay: Some(1),
            factor: Some(3.0),
            delay_max: Some(60),
            ..Restart::default()
        };
        let waits = |restart| [1, 2, 3, 4, 5, 6].map(|n| backoff(restart).wait_ms(n, MIDDLE));
        assert_eq!(waits(given), [1000, 3000, 9000, 27_000, 60_000, 60_000]);
        let constant = Restart {
            factor: Some(1.0),
            ..given
        };
        assert_eq!(waits(constant), [1000; 6]);
        let defaults = Restart {
            give_up: Some(GiveUp::Never),
            ..Restart::default()
        };
        assert_eq!(
            waits(defaults),
            [10_000, 20_000, 40_000, 80_000, 160_000, 300_000]
        );
    }

    #[test]
    fn only_the_first_attempt_after_a_lasting_run_has_no_wait() {
        let backoff = backoff(Restart {
            delay: Some(2),
            reset: Some(30),
            ..Restart::default()
        });
        assert_eq!(backoff.wait_after_ms(29_999, 1, MIDDLE), 2000);
        assert_eq!(backoff.wait_after_ms(30_000, 1, MIDDLE), 0);
        assert_eq!(backoff.wait_after_ms(30_000, 2, MIDDLE), 4000);
    }

    proptest! {
        #[test]
        fn waits_never_shrink_and_stay_within_cap_and_jitter(
            delay in 1_u32..3600,
            over in 0_u32..80_000,
            factor in 1.0_f64..100.0,
            jitter in 0_u32..=100,
            seed in any::<u64>(),
        ) {
            let backoff = backoff(Restart {
                delay: Some(delay),
                factor: Some(factor),
                delay_max: Some(delay + over),
                jitter: Some(jitter),
                ..Restart::default()
            });
            let share = f64::from(jitter) / 100.0;
            let mut before = 0;
            for attempt in [1, 2, 3, 10, 1000, u32::MAX] {
                let middle = backoff.wait_ms(attempt, MIDDLE);
                prop_assert!((before..=backoff.delay_max_ms).contains(&middle));
                before = middle;
                let wait = backoff.wait_ms(attempt, seed) as f64;
                let middle = middle as f64;
                prop_assert!(wait >= middle * (1.0 - share) - 1.0 && wait <= middle * (1.0 + share) + 1.0);
            }
        }
    }
}
