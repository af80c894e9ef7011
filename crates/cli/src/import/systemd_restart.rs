//! When systemd restarts a service, how long it waits, and when it gives up, as `spec.restart`.
//!
//! systemd refuses a start when there were `StartLimitBurst=` within `StartLimitIntervalSec=`. A service that fails at once is
//! started every `RestartSec=`, so from these three follows whether the limit is ever reached.

use model::spec::raw::MAX_SECS;
use model::spec::restart::GiveUp;

use super::draft::{Draft, ONE_SHOT};
use super::ledger::EntryId;
use super::systemd_service::ServiceReader;
use super::words;

/// What systemd takes where the unit says nothing.
const RESTART_MS: f64 = 100.0;
const LIMIT_INTERVAL_MS: f64 = 10_000.0;
const LIMIT_BURST: u32 = 5;
/// `spec.restart.factor` is written with three digits.
const DIGITS: f64 = 1000.0;

/// The settings that are read here, whatever section they stand in.
pub(super) fn is_one(key: &str) -> bool {
    [
        "Restart",
        "RestartSec",
        "RestartSteps",
        "RestartMaxDelaySec",
        "StartLimitBurst",
        "StartLimitInterval",
        "StartLimitIntervalSec",
    ]
    .contains(&key)
}

impl ServiceReader<'_, '_> {
    /// Reads all of them together.
    pub(super) fn restarts(&mut self, draft: &mut Draft) {
        let is_restarted = self.is_restarted(draft);
        let delay = self.one("RestartSec");
        let steps = self.one("RestartSteps");
        let delay_max = self.one("RestartMaxDelaySec");
        let burst = self.one("StartLimitBurst");
        let interval = self
            .one("StartLimitIntervalSec")
            .or(self.one("StartLimitInterval"));
        if !is_restarted {
            for (id, _) in [delay, steps, delay_max, burst, interval]
                .into_iter()
                .flatten()
            {
                self.ledger
                    .no_effect(id, "counts only for what is restarted");
            }
            return;
        }
        let delay_ms = self.delay(draft, delay);
        self.growth(draft, delay_ms, steps, delay_max);
        self.limit_of_starts(draft, delay_ms, burst, interval);
    }

    /// The last one of a setting, with its specifiers left alone: none of these has some.
    fn one(&self, key: &str) -> Option<(EntryId, String)> {
        let mut settings = self.unit.settings.iter();
        let found = settings
            .find(|one| one.key == key && matches!(one.section.as_str(), "Unit" | "Service"))?;
        Some((found.id, found.value.clone()))
    }

    /// `Restart=`.
    fn is_restarted(&mut self, draft: &mut Draft) -> bool {
        let Some((id, value)) = self.one("Restart") else {
            return false;
        };
        match value.as_str() {
            "always" => draft.carry(self.ledger, id, "monitor_policy.auto_type"),
            "no" => {
                draft.policy().auto_type = Some(ONE_SHOT);
                draft.carry(self.ledger, id, "monitor_policy.auto_type");
                return false;
            }
            "on-failure" | "on-success" | "on-abnormal" | "on-abort" | "on-watchdog" => self
                .ledger
                .not_carried(id, "Muster restarts a resident process after any exit"),
            _ => {
                self.ledger.not_carried(id, "is no value of Restart");
                return false;
            }
        }
        // A one-shot process is never restarted.
        draft.policy().auto_type != Some(ONE_SHOT)
    }

    /// The exact wait in milliseconds.
    fn delay(&mut self, draft: &mut Draft, delay: Option<(EntryId, String)>) -> f64 {
        draft.same_delay(1);
        let Some((id, value)) = delay else {
            return RESTART_MS;
        };
        match self.ledger.seconds(id, &value, 1000, 1) {
            Ok(secs) => {
                draft.same_delay(secs);
                draft.carry(self.ledger, id, "restart.delay");
            }
            Err(rule) => self.ledger.not_carried(id, rule),
        }
        words::milliseconds(&value, 1000).unwrap_or(RESTART_MS)
    }

    /// From `RestartSec=` to `RestartMaxDelaySec=` in `RestartSteps=` equal factors.
    fn growth(
        &mut self,
        draft: &mut Draft,
        delay_ms: f64,
        steps: Option<(EntryId, String)>,
        delay_max: Option<(EntryId, String)>,
    ) {
        let (steps_id, steps_text, max_id, max_text) = match (steps, delay_max) {
            (None, None) => return,
            (Some((steps, steps_text)), Some((max, max_text))) => {
                (steps, steps_text, max, max_text)
            }
            (Some((id, _)), None) | (None, Some((id, _))) => {
                let why = "systemd takes RestartSteps and RestartMaxDelaySec only together";
                return self.ledger.no_effect(id, why);
            }
        };
        let n_steps = match steps_text.parse::<u32>() {
            Ok(0) => {
                let why = "0 steps: the wait stays the same";
                self.ledger.no_effect(steps_id, why);
                return self.ledger.no_effect(max_id, why);
            }
            Ok(n) => n,
            Err(_) => {
                self.ledger.not_carried(steps_id, "is no number");
                return self.ledger.not_carried(max_id, "RestartSteps is no number");
            }
        };
        let first_ms = delay_ms.max(1000.0);
        match self.ledger.seconds(max_id, &max_text, 1000, 1) {
            Ok(secs) if secs as f64 * 1000.0 > first_ms => {
                let growth = secs as f64 * 1000.0 / first_ms;
                let factor = growth.powf(1.0 / f64::from(n_steps));
                draft.restart().factor = Some((factor * DIGITS).round() / DIGITS);
                draft.restart().delay_max = Some(secs);
                draft.carry(self.ledger, steps_id, "restart.factor");
                draft.carry(self.ledger, max_id, "restart.delay_max");
            }
            Ok(_) => {
                let why = "RestartMaxDelaySec is not above RestartSec: the wait stays the same";
                self.ledger.no_effect(steps_id, why);
                self.ledger.no_effect(max_id, why);
            }
            Err(rule) => {
                self.ledger.not_carried(max_id, rule);
                self.ledger
                    .not_carried(steps_id, "RestartMaxDelaySec cannot be read");
            }
        }
    }

    /// When it gives up, and the length of a run after which the count begins anew.
    fn limit_of_starts(
        &mut self,
        draft: &mut Draft,
        delay_ms: f64,
        burst: Option<(EntryId, String)>,
        interval: Option<(EntryId, String)>,
    ) {
        let mut known = Vec::new();
        let mut n_starts = LIMIT_BURST;
        if let Some((id, value)) = burst {
            match value.parse() {
                Ok(n) => {
                    n_starts = n;
                    known.push(id);
                }
                Err(_) => self.ledger.not_carried(id, "is no number"),
            }
        }
        let mut interval_ms = LIMIT_INTERVAL_MS;
        if let Some((id, value)) = interval {
            match (value.as_str(), words::milliseconds(&value, 1000)) {
                ("infinity", _) => {
                    interval_ms = f64::INFINITY;
                    known.push(id);
                }
                (_, Ok(ms)) => {
                    interval_ms = ms;
                    known.push(id);
                }
                (_, Err(rule)) => self.ledger.not_carried(id, rule),
            }
        }
        let all_starts_ms = delay_ms * f64::from(n_starts);
        let is_limited = n_starts > 0 && interval_ms > 0.0 && all_starts_ms < interval_ms;
        let restart = draft.restart();
        match is_limited {
            // The first start is none of the agent's attempts.
            true => {
                restart.give_up = Some(GiveUp::After(n_starts - 1));
                let lasting_ms = interval_ms / f64::from(n_starts) - delay_ms;
                // Of an endless interval, the longest time that Muster takes.
                let lasting = (lasting_ms / 1000.0).ceil().min(MAX_SECS as f64) as i64;
                restart.reset = Some(lasting.max(1));
            }
            false => restart.give_up = Some(GiveUp::Never),
        }
        for id in known {
            draft.carry(self.ledger, id, "restart.give_up");
        }
    }
}
