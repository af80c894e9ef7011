//! Runs `health_cmd` beside the machine, now and then, as long as a run is up.

use std::cmp::Reverse;

use super::side::NotStarted;
use super::{Due, Key, Runner};
use crate::machine::{Event, Phase};
use crate::os::clock;

impl Runner {
    /// Sets the timer of a run that is new, and none when there is nothing to check.
    pub(super) fn mind_health(&mut self, key: Key) {
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        let wants = !held.hold.spec.control.health_cmd.trim().is_empty();
        let run = match &held.process.phase {
            Phase::Up { current } if wants => Some(current.alive.run),
            Phase::Up { .. }
            | Phase::Unseen
            | Phase::Down
            | Phase::Lost { .. }
            | Phase::Backoff { .. }
            | Phase::Working(_) => None,
        };
        if run != held.health_of {
            held.health_of = run;
            held.health_due_boot_ms = None;
            if run.is_some() {
                // Those that were started together are not all checked together.
                let every_ms = self.options.check_health_every.as_millis() as u64;
                self.arm_health(key, every_ms - every_ms * u64::from(key.0 % 64) / 128);
            }
        }
    }

    fn arm_health(&mut self, key: Key, wait_ms: u64) {
        let at = clock::boot_ms() + wait_ms;
        if let Some(held) = self.held.get_mut(&key) {
            held.health_due_boot_ms = Some(at);
            self.timers.push(Reverse((at, Due::Health(key))));
        }
    }

    pub(super) fn health_rings(&mut self, key: Key) {
        self.arm_health(key, self.options.check_health_every.as_millis() as u64);
        match self.check_health(key) {
            Ok(()) => {}
            Err(NotStarted::Refused(why)) => self.drive(key, Event::HealthChecked(Err(why))),
            // Says nothing about the health of the process.
            Err(NotStarted::Shortage(why)) => {
                tracing::warn!(why, "health_cmd cannot be run: checked again later");
            }
        }
    }
}
