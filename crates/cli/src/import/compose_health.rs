//! Health checks of a compose service, as the ready probe of its process.
//!
//! A container engine shows the result and restarts nothing, which is what a ready probe does; `service_healthy` of a
//! dependent waits for it.

use model::spec::probes::RawProbeRule;
use serde_json::Value;

use super::compose::ServiceSetting;
use super::draft::{Draft, scalar};
use super::ledger::{EntryId, Ledger};
use super::words;

/// What an engine takes where the file says nothing: seconds between checks, seconds that one may take, failures that count.
const DEFAULTS: (i64, i64, i64) = (30, 30, 3);
/// How long a start waits for readiness where no longer time is needed, in seconds.
const OP_TIMEOUT: i64 = 60;

/// `healthcheck`.
pub(super) fn health_check(draft: &mut Draft, entries: &[ServiceSetting], ledger: &mut Ledger) {
    let settings: Vec<(&str, &ServiceSetting)> = entries
        .iter()
        .filter(|one| one.key.starts_with("healthcheck"))
        .map(|one| {
            (
                one.key.strip_prefix("healthcheck.").unwrap_or_default(),
                one,
            )
        })
        .collect();
    let value = |key: &str| {
        settings
            .iter()
            .find(|one| one.0 == key)
            .map(|one| &one.1.value)
    };
    let is_off = value("disable") == Some(&Value::Bool(true))
        || matches!(value("test"), Some(Value::Array(items)) if items.first() == Some(&"NONE".into()));
    if is_off {
        for (_, one) in settings {
            ledger.no_effect(one.id, "there is no health check");
        }
        return;
    }
    let mut command = None;
    for (_, one) in settings.iter().filter(|(key, _)| *key == "test") {
        match test(&one.value) {
            Ok(text) => {
                command = Some(text);
                draft.carry(ledger, one.id, "probes.ready");
            }
            Err(why) => ledger.not_carried(one.id, why),
        }
    }
    let Some(command) = command else {
        for (key, one) in settings {
            match key {
                "" => ledger.not_carried(one.id, "must be a table"),
                "disable" => ledger.no_effect(one.id, "is the default"),
                _ => ledger.not_carried(
                    one.id,
                    "there is no test that could be read, and that of the image is not known",
                ),
            }
        }
        return;
    };
    let mut rule = RawProbeRule {
        exec: Some(command),
        interval: Some(DEFAULTS.0),
        timeout: Some(DEFAULTS.1),
        failures: Some(DEFAULTS.2),
        ..RawProbeRule::default()
    };
    let mut start_period = None;
    for (key, one) in &settings {
        match *key {
            "interval" => time(
                draft,
                one,
                "probes.ready.interval",
                &mut rule.interval,
                ledger,
            ),
            "timeout" => time(
                draft,
                one,
                "probes.ready.timeout",
                &mut rule.timeout,
                ledger,
            ),
            "retries" => match scalar(&one.value).map(|text| text.parse::<i64>()) {
                Some(Ok(0)) => ledger.no_effect(one.id, "0 takes the default"),
                Some(Ok(n)) => {
                    rule.failures = Some(n);
                    draft.carry(ledger, one.id, "probes.ready.failures");
                }
                _ => ledger.not_carried(one.id, "is no number"),
            },
            "start_period" => {
                let text = scalar(&one.value).unwrap_or_default();
                match ledger.seconds(one.id, &text, 1000, 0) {
                    Ok(secs) => start_period = Some((one.id, secs)),
                    Err(why) => ledger.not_carried(one.id, why),
                }
            }
            "start_interval" => ledger.no_effect(
                one.id,
                "while a start waits for readiness, the agent probes each second",
            ),
            "disable" => ledger.no_effect(one.id, "is the default"),
            _ => {}
        }
    }
    if let Some((id, secs)) = start_period {
        patience_of_a_start(draft, id, secs, &rule, ledger);
    }
    draft.spec.probes.get_or_insert_default().ready = Some(rule);
}

fn time(
    draft: &mut Draft,
    one: &ServiceSetting,
    field: &str,
    known: &mut Option<i64>,
    ledger: &mut Ledger,
) {
    let text = scalar(&one.value).unwrap_or_default();
    match ledger.seconds(one.id, &text, 1000, 0) {
        Ok(0) => ledger.no_effect(one.id, "0 takes the default"),
        Ok(secs) => {
            *known = Some(secs);
            draft.carry(ledger, one.id, field);
        }
        Err(why) => ledger.not_carried(one.id, why),
    }
}

/// `start_period`: failures do not count so long. A start of Muster waits for readiness until `op_timeout`.
fn patience_of_a_start(
    draft: &mut Draft,
    id: EntryId,
    start_period: i64,
    rule: &RawProbeRule,
    ledger: &mut Ledger,
) {
    let (interval, failures) = (rule.interval.unwrap_or(0), rule.failures.unwrap_or(0));
    let needed = start_period.saturating_add(interval.saturating_mul(failures));
    let known = draft.policy().op_timeout.unwrap_or(OP_TIMEOUT);
    if needed > known {
        draft.policy().op_timeout = Some(needed);
        draft.carry(ledger, id, "monitor_policy.op_timeout");
    } else {
        let why = format!(
            "failures during a start do not count: it waits {known} s for readiness (op_timeout)"
        );
        ledger.no_effect(id, why);
    }
}

/// The command of a test, for a shell.
fn test(value: &Value) -> Result<String, String> {
    let command = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let texts: Option<Vec<String>> = items.iter().map(scalar).collect();
            let texts = texts.ok_or("must be texts")?;
            match texts.split_first() {
                Some((kind, [command])) if kind == "CMD-SHELL" => command.clone(),
                Some((kind, _)) if kind == "CMD-SHELL" => {
                    return Err("CMD-SHELL takes one text".to_owned());
                }
                Some((kind, words)) if kind == "CMD" => words::join(words),
                _ => return Err("must begin with CMD, CMD-SHELL or NONE".to_owned()),
            }
        }
        _ => return Err("must be a text or a list".to_owned()),
    };
    match command.trim().is_empty() {
        true => Err("is empty: the test of the image is not known".to_owned()),
        false => Ok(command),
    }
}
