//! `depends_on` of compose services.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::compose::ServiceSetting;
use super::draft::scalar;
use super::ledger::Ledger;
use super::order::{Rule, Source, Wait, Wish};

/// Each dependency is a setting of its own: `depends_on.db`.
pub(super) const EACH: &str = "depends_on.";

/// The dependencies of a service.
fn each(entries: &[ServiceSetting]) -> impl Iterator<Item = (&str, &ServiceSetting)> {
    let named = |one| {
        let one: &ServiceSetting = one;
        Some((one.key.strip_prefix(EACH)?, one))
    };
    entries.iter().filter_map(named)
}

/// The services that others wait for to complete.
pub(super) fn completing<'e>(entries: &'e [ServiceSetting]) -> BTreeSet<&'e str> {
    let of = |(name, one): (&'e str, &'e ServiceSetting)| {
        let condition = one.value.get("condition").and_then(Value::as_str);
        (condition == Some("service_completed_successfully")).then_some(name)
    };
    each(entries).filter_map(of).collect()
}

/// What a service asks for.
pub(super) fn wishes(
    file: &str,
    service: &str,
    entries: &[ServiceSetting],
    ledger: &mut Ledger,
) -> Vec<Wish> {
    for one in entries.iter().filter(|one| one.key == "depends_on") {
        ledger.not_carried(one.id, "must be a list of services, or a table of them");
    }
    let mut wishes = Vec::new();
    for (name, one) in each(entries) {
        match rule(&one.value) {
            Ok((rule, lost)) => {
                if rule.restart {
                    ledger.note(format!(
                        "{}: {service} is restarted when {name} was started anew, after a crash, too; compose does so only when it updates {name} itself",
                        ledger.place(one.id)
                    ));
                }
                wishes.push(Wish {
                    entries: vec![(one.id, (!lost.is_empty()).then(|| lost.join("; ")))],
                    dependent: Source::new(file, service),
                    dependency: Source::new(file, name),
                    rule,
                });
            }
            Err(why) => ledger.not_carried(one.id, why),
        }
    }
    wishes
}

/// The rule of a dependency, and what is lost of it. An item of a list has no value.
fn rule(value: &Value) -> Result<(Rule, Vec<String>), String> {
    let empty = Map::new();
    let table = match value {
        Value::Null => &empty,
        Value::Object(table) => table,
        _ => return Err("must be a table with a condition".to_owned()),
    };
    let mut rule = Rule::of(Wait::Started);
    let mut lost = Vec::new();
    for (key, value) in table {
        match (key.as_str(), value) {
            ("condition", value) => {
                rule.wait = match scalar(value).as_deref() {
                    Some("service_started") => Wait::Started,
                    Some("service_healthy") => Wait::Healthy,
                    Some("service_completed_successfully") => Wait::Completed,
                    _ => return Err(format!("condition: {value} is not known here")),
                }
            }
            ("restart", Value::Bool(restart)) => rule.restart = *restart,
            ("required", Value::Bool(true)) => {}
            ("required", Value::Bool(false)) => lost.push(
                "required: false is not carried over: it waits without end, unless patience says how long"
                    .to_owned(),
            ),
            (key, _) => lost.push(format!("{key} is not known here")),
        }
    }
    Ok((rule, lost))
}
