//! What else a spec has: the part of a process document that its own keys cannot say.

use serde_json::{Map, Value};

use super::ProcessDocument;
use crate::spec::raw::{RawSpec, check_keys};
use crate::{Invalid, Labels};

/// Fields of a spec that a process document has keys of its own for.
const OWN_KEYS: [(&str, &str, &str); 11] = [
    ("identity", "proc_name", "bk_func_name"),
    ("identity", "setup_path", "work_path"),
    ("identity", "pid_path", "pid_file"),
    ("identity", "user", "user"),
    ("control", "start_cmd", "start_cmd"),
    ("control", "stop_cmd", "stop_cmd"),
    ("control", "restart_cmd", "restart_cmd"),
    ("control", "reload_cmd", "reload_cmd"),
    ("control", "kill_cmd", "face_stop_cmd"),
    ("monitor_policy", "op_timeout", "timeout"),
    ("monitor_policy", "start_check_secs", "bk_start_check_secs"),
];
/// Labels that every instance has by itself.
const OWN_LABELS: [&str; 2] = ["bk_process_name", "bk_process_id"];

/// The rest of the spec as canonical JSON; empty for none.
pub(super) fn spec(process: &ProcessDocument) -> Result<String, Invalid> {
    let mut spec = process.spec.clone();
    check_keys(&spec)?;
    if spec.contains_key("alive_monitor_policy") {
        let rule = "is written as monitor_policy here";
        return Err(Invalid::new("spec.alive_monitor_policy", rule));
    }
    for (section, field, own) in OWN_KEYS {
        if spec
            .get(section)
            .is_some_and(|fields| fields.get(field).is_some())
        {
            let rule = format!("is written as {own} here");
            return Err(Invalid::new(format!("spec.{section}.{field}"), rule));
        }
    }
    if let Some(auto_type) = spec
        .get_mut("monitor_policy")
        .and_then(|policy| policy.get_mut("auto_type"))
    {
        let number = match auto_type.as_str() {
            Some("periodic") => Some(0),
            Some("resident") => Some(1),
            Some("one-shot") => Some(2),
            _ => None,
        };
        if let Some(number) = number {
            *auto_type = number.into();
        }
    }
    // Section by section, so that an error says where it is.
    for (section, fields) in &spec {
        let alone = Map::from_iter([(section.clone(), fields.clone())]);
        serde_json::from_value::<RawSpec>(Value::Object(alone))
            .map_err(|error| Invalid::new(format!("spec.{section}"), error.to_string()))?;
    }
    prune(&mut spec);
    match spec.is_empty() {
        true => Ok(String::new()),
        false => Ok(Value::Object(spec).to_string()),
    }
}

/// Drops what is null or empty, so that equal specs have equal texts.
fn prune(spec: &mut Map<String, Value>) {
    for value in spec.values_mut() {
        if let Value::Object(fields) = value {
            prune(fields);
        }
    }
    spec.retain(|_, value| match value {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    });
}

pub(super) fn check_labels(process: &ProcessDocument) -> Result<(), Invalid> {
    if let Some(own) = OWN_LABELS
        .iter()
        .find(|own| process.labels.contains_key(**own))
    {
        let rule = "every instance has this label by itself";
        return Err(Invalid::new(format!("labels.{own}"), rule));
    }
    Labels::parse(process.labels.clone()).map(|_| ())
}

/// The document's form of what [`spec`] made.
pub(super) fn sections(spec: &str) -> Map<String, Value> {
    match serde_json::from_str(spec) {
        Ok(Value::Object(sections)) => sections,
        _ => Map::new(),
    }
}
