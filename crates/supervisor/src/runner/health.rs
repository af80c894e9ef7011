//! Runs `health_cmd` periodically while a run is up.

use std::cmp::Reverse;

use super::side_command::StartError;
use super::{Key, Runner, Timer};
use crate::machine::{Event, Phase};
use crate::os::clock;

impl Runner {
    /// Sets the timer of a new run; clears it if there is nothing to check.
    pub(super) fn update_health_timer(&mut self, key: Key) {
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        let wants = !held.registration.spec.control.health_cmd.trim().is_empty();
        let run = match &held.process.phase {
            Phase::Up { current } if wants => Some(current.alive.run),
            Phase::Up { .. }
            | Phase::Unobserved
            | Phase::Down
            | Phase::Lost { .. }
            | Phase::Backoff { .. }
            | Phase::Working(_) => None,
        };
        if run != held.health_of {
            held.health_of = run;
            held.health = None;
            held.health_due_boot_ms = None;
            if run.is_some() {
                // Spread the checks of runs that were started together.
                let every_ms = self.options.check_health_every.as_millis() as u64;
                self.arm_health(key, every_ms - every_ms * u64::from(key.0 % 64) / 128);
            }
        }
    }

    fn arm_health(&mut self, key: Key, wait_ms: u64) {
        let at = clock::boot_ms() + wait_ms;
        if let Some(held) = self.held.get_mut(&key) {
            held.health_due_boot_ms = Some(at);
            self.timers.push(Reverse((at, Timer::Health(key))));
        }
    }

    pub(super) fn health_checked(&mut self, key: Key, result: Result<(), String>) {
        if let Some(held) = self.held.get_mut(&key) {
            held.note_health(&result, clock::unix());
        }
        self.drive(key, Event::HealthChecked(result));
    }

    pub(super) fn health_timer_fired(&mut self, key: Key) {
        self.arm_health(key, self.options.check_health_every.as_millis() as u64);
        match self.check_health(key) {
            Ok(()) => {}
            Err(StartError::Refused(why)) => self.health_checked(key, Err(why)),
            // A shortage says nothing about the health of the process.
            Err(StartError::Shortage(why)) => {
                tracing::warn!(why, "health_cmd cannot be run: checked again later");
            }
        }
    }
}
