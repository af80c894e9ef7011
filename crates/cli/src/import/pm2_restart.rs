//! How long pm2 waits before it restarts an app, and when it gives up, as `spec.restart`.
//!
//! pm2 counts runs that were shorter than `min_uptime`, as long as the app is younger than `min_uptime` × `max_restarts`. So an
//! app that is started again more slowly than every `min_uptime` is never given up.

use model::spec::restart::GiveUp;
use serde_json::Value;

use super::draft::{Draft, scalar};
use super::ledger::{EntryId, Ledger};
use super::words;

/// What pm2 takes where the file says nothing.
const MIN_UPTIME_MS: f64 = 1000.0;
const MAX_RESTARTS: u32 = 16;
/// pm2 multiplies a back-off by this, up to so many seconds, and begins anew after a run of so many.
const FACTOR: f64 = 1.5;
const DELAY_MAX: i64 = 15;
const BACKOFF_RESET: i64 = 30;

/// The settings that are read here.
pub(super) const SETTINGS: [&str; 4] = [
    "restart_delay",
    "exp_backoff_restart_delay",
    "max_restarts",
    "min_uptime",
];

/// Reads all of them together.
pub(super) fn restarts(
    draft: &mut Draft,
    entries: &[(String, Value, EntryId)],
    is_restarted: bool,
    ledger: &mut Ledger,
) {
    let one = |key: &str| {
        let found = entries.iter().find(|(name, _, _)| name == key);
        let found =
            found.filter(|(_, value, _)| !matches!(value, Value::Null | Value::Bool(false)));
        found.map(|(_, value, id)| (*id, scalar(value).unwrap_or_default()))
    };
    for (_, value, id) in entries
        .iter()
        .filter(|one| SETTINGS.contains(&one.0.as_str()))
    {
        if !is_restarted {
            ledger.no_effect(*id, "counts only for what is restarted");
        } else if matches!(value, Value::Null | Value::Bool(false)) {
            ledger.no_effect(*id, "is off");
        }
    }
    if !is_restarted {
        return;
    }
    draft.same_delay(1);
    let mut delay_ms = 0.0;
    if let Some((id, text)) = one("restart_delay") {
        match (text.as_str(), ledger.seconds(id, &text, 1, 0)) {
            (_, Ok(0)) => ledger.no_effect(id, "is the default"),
            (_, Ok(secs)) => {
                draft.same_delay(secs);
                draft.carry(ledger, id, "restart.delay");
                delay_ms = words::milliseconds(&text, 1).unwrap_or(0.0);
            }
            (_, Err(rule)) => ledger.not_carried(id, rule),
        }
    }
    let backoff = one("exp_backoff_restart_delay");
    let mut min_uptime_ms = MIN_UPTIME_MS;
    if let Some((id, text)) = one("min_uptime") {
        match ledger.seconds(id, &text, 1, 1) {
            Ok(_) => {
                min_uptime_ms = words::milliseconds(&text, 1).unwrap_or(MIN_UPTIME_MS);
                draft.carry(ledger, id, "restart.reset");
            }
            Err(rule) => ledger.not_carried(id, rule),
        }
    }
    let mut max_restarts = MAX_RESTARTS;
    if let Some((id, text)) = one("max_restarts") {
        match text.parse() {
            Ok(n) => {
                max_restarts = n;
                draft.carry(ledger, id, "restart.give_up");
            }
            Err(_) => ledger.not_carried(id, "is no number"),
        }
    }
    let restart = draft.restart();
    restart.reset = Some(((min_uptime_ms / 1000.0).ceil() as i64).max(1));
    restart.give_up = Some(match delay_ms < min_uptime_ms && backoff.is_none() {
        // pm2 counts the exits, the agent its attempts.
        true => GiveUp::After(max_restarts.saturating_sub(1)),
        false => GiveUp::Never,
    });
    if let Some((id, text)) = backoff {
        match ledger.seconds(id, &text, 1, 1) {
            Ok(secs) => {
                let restart = draft.restart();
                (restart.delay, restart.factor) = (Some(secs), Some(FACTOR));
                restart.delay_max = Some(secs.max(DELAY_MAX));
                restart.reset = Some(BACKOFF_RESET);
                draft.carry(ledger, id, "restart.delay");
            }
            Err(rule) => ledger.not_carried(id, rule),
        }
    }
}
