//! Health checks and dependencies of a compose service.

use serde_json::Value;

use super::compose::ServiceSetting;
use super::draft::{Draft, scalar};
use super::ledger::{EntryId, Ledger};
use super::words;

/// `healthcheck`: its command becomes `control.health_cmd`, with the agent's own times.
pub(super) fn health_check(
    draft: &mut Draft,
    one: &ServiceSetting,
    entries: &[ServiceSetting],
    ledger: &mut Ledger,
) {
    let is_off = entries
        .iter()
        .any(|one| one.key == "healthcheck.disable" && one.value == Value::Bool(true));
    match (one.key.as_str(), &one.value) {
        _ if is_off => ledger.no_effect(one.id, "there is no health check"),
        ("healthcheck.test", Value::Array(items)) => {
            let words: Vec<String> = items.iter().filter_map(scalar).collect();
            let command = match words.split_first() {
                Some((kind, rest)) if kind == "CMD-SHELL" => rest.join(" "),
                Some((kind, rest)) if kind == "CMD" => words::join(rest),
                Some((kind, _)) if kind == "NONE" => {
                    ledger.no_effect(one.id, "there is no health check");
                    return;
                }
                _ => {
                    ledger.not_carried(one.id, "must begin with CMD, CMD-SHELL or NONE");
                    return;
                }
            };
            draft.control().health_cmd = Some(command);
            draft.carry(ledger, one.id, "control.health_cmd");
        }
        ("healthcheck.test", Value::String(text)) => {
            draft.control().health_cmd = Some(text.clone());
            draft.carry(ledger, one.id, "control.health_cmd");
        }
        ("healthcheck.interval", Value::String(text)) if words::seconds(text, 1000) == Ok(30) => {
            ledger.no_effect(one.id, "the agent checks every 30 s, too");
        }
        ("healthcheck.retries", Value::Number(n)) if n.as_u64() == Some(3) => {
            ledger.no_effect(one.id, "three failures count here, too");
        }
        ("healthcheck.disable", _) => ledger.no_effect(one.id, "is the default"),
        _ => ledger.not_carried(
            one.id,
            "the agent checks every 30 s, waits 10 s, and acts after 3 failures",
        ),
    }
}

/// `depends_on`.
pub(super) fn order_of_services(ledger: &mut Ledger, id: EntryId) {
    ledger.not_carried(
        id,
        "the order of starts and what depends on what are not carried over",
    );
}
