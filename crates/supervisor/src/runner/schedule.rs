//! Wakes periodic processes when their schedule is due, in the host's time zone.

use std::cmp::Reverse;

use chrono::Local;
use model::UnixMillis;
use model::spec::schedule::Missed;

use super::{Key, Runner, SupervisedProcess, Timer};
use crate::machine::{Event, Schedule, wall_time};
use crate::os::clock;

/// The wall clock was set if it moves this far against the boot clock.
const CLOCK_WAS_SET_MS: i64 = 1_000;
/// A timer may fire this much early by the wall clock.
const EARLY_MS: i64 = 500;

impl Runner {
    /// Sets or removes its schedule to match its spec and state.
    pub(super) fn update_schedule(&mut self, key: Key) {
        let now = clock::now();
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        let spec = held.registration.spec.clone();
        let (rule, rules) = (&spec.monitor_policy.crontab_rule, spec.schedule);
        if !held.process.is_scheduled(&held.context(now)) {
            held.schedule = None;
            held.schedule_due_boot_ms = None;
            return;
        }
        let known = held.schedule.as_ref();
        if known.is_some_and(|schedule| schedule.is_of(rule, rules.jitter)) {
            return;
        }
        // The first of an agent: the one before it may have been away when runs were due.
        let may_have_missed = known.is_none() && rules.missed == Missed::Once;
        let seed = format!("{} {}", clock::boot_id(), held.registration.name);
        let seen = held.process.schedule_seen;
        held.schedule = Some(Box::new(Schedule::new(rule, rules.jitter, seed)));
        match may_have_missed && seen != UnixMillis::NEVER {
            true => self.advance_schedule(key, seen.min(now.unix)),
            false => self.advance_schedule(key, now.unix),
        }
    }

    /// Sets the timer for the first time after `after`.
    fn advance_schedule(&mut self, key: Key, after: UnixMillis) {
        let now = clock::now();
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        let Some(schedule) = &mut held.schedule else {
            return;
        };
        schedule.advance(after, &Local);
        held.schedule_due_boot_ms = schedule.next().map(|next| {
            let wait_ms = next.millis_since(now.unix) as u64;
            now.boot_ms + wait_ms
        });
        if let Some(at) = held.schedule_due_boot_ms {
            self.timers.push(Reverse((at, Timer::Schedule(key))));
        }
    }

    pub(super) fn schedule_timer_fired(&mut self, key: Key) {
        let now = clock::unix();
        let Some(held) = self.held.get(&key) else {
            return;
        };
        let next = held.schedule.as_ref().and_then(|schedule| schedule.next());
        let Some(due) = next else {
            return;
        };
        if now.plus_millis(EARLY_MS) < due {
            // The clock was set back meanwhile.
            return self.advance_schedule(key, now);
        }
        self.advance_schedule(key, now.max(due));
        self.drive(key, Event::Scheduled(wall_time(due, &Local)));
    }

    /// Recomputes every next time after the clock was set.
    pub(super) fn check_clock(&mut self) {
        let now = clock::now();
        let lead_ms = now.unix.0 - now.boot_ms as i64;
        let moved_ms = (lead_ms - self.wall_lead_ms).abs();
        self.wall_lead_ms = lead_ms;
        if moved_ms < CLOCK_WAS_SET_MS {
            return;
        }
        let scheduled: Vec<(Key, UnixMillis)> = self
            .held
            .iter()
            .filter(|(_, held)| held.schedule.is_some())
            .map(|(key, held)| (*key, held.missed_from(now.unix)))
            .collect();
        for (key, after) in scheduled {
            self.advance_schedule(key, after);
            self.refresh(key);
        }
    }
}

impl SupervisedProcess {
    /// From when on the times of its schedule count after the clock was set: only from now on, unless one run makes up for
    /// those that were skipped.
    fn missed_from(&self, now: UnixMillis) -> UnixMillis {
        match self.registration.spec.schedule.missed {
            Missed::Skip => now,
            Missed::Once => self.process.schedule_seen.min(now),
        }
    }
}
