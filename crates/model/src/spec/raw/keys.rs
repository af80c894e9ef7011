//! The keys of a spec that is written by hand: an unknown one is refused, as it is probably a typing error.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{RawCommands, RawConfigFile, RawIdentity, RawLimits, RawPolicy, RawWarnReport};
use crate::Invalid;
use crate::spec::after::RawDependency;
use crate::spec::probes::{RawHttpTarget, RawProbeRule, RawProbes, RawTcpTarget};
use crate::spec::restart::RawRestart;
use crate::spec::runtime::RawRuntime;
use crate::spec::schedule::RawScheduleRules;
use crate::spec::stop::RawStop;

/// The parts of a spec.
pub const SECTIONS: [&str; 13] = [
    "identity",
    "control",
    "resource",
    "monitor_policy",
    "alive_monitor_policy",
    "warn_report_policy",
    "configmap",
    "runtime",
    "restart",
    "stop",
    "schedule",
    "probes",
    "after",
];

/// Refuses unknown sections, and unknown keys in them.
pub fn check_keys(spec: &Map<String, Value>) -> Result<(), Invalid> {
    for (section, value) in spec {
        let known = match section.as_str() {
            "identity" => keys_of(&RawIdentity::default()),
            "control" => keys_of(&RawCommands::default()),
            "resource" => keys_of(&RawLimits::default()),
            "monitor_policy" | "alive_monitor_policy" => keys_of(&RawPolicy::default()),
            "warn_report_policy" => keys_of(&RawWarnReport::default()),
            "configmap" => keys_of(&RawConfigFile::default()),
            "runtime" => keys_of(&RawRuntime::default()),
            "restart" => keys_of(&RawRestart::default()),
            "stop" => keys_of(&RawStop::default()),
            "schedule" => keys_of(&RawScheduleRules::default()),
            "probes" => keys_of(&RawProbes::default()),
            "after" => keys_of(&RawDependency::default()),
            _ => {
                let rule = format!("is no part of a spec: {}", SECTIONS.join(", "));
                return Err(Invalid::new(format!("spec.{section}"), rule));
            }
        };
        let tables = match value {
            Value::Array(items) => items.iter().filter_map(Value::as_object).collect(),
            value => Vec::from_iter(value.as_object()),
        };
        for table in tables {
            check_table(&format!("spec.{section}"), table, &known)?;
        }
        if section == "probes" {
            check_probes(value)?;
        }
    }
    Ok(())
}

fn check_table(
    field: &str,
    table: &Map<String, Value>,
    known: &Map<String, Value>,
) -> Result<(), Invalid> {
    let unknown = table.keys().find(|key| !known.contains_key(*key));
    unknown.map_or(Ok(()), |key| {
        let known = Vec::from_iter(known.keys().map(String::as_str)).join(", ");
        let rule = format!("is unknown; there are {known}");
        Err(Invalid::new(format!("{field}.{key}"), rule))
    })
}

/// Probes have tables in tables.
fn check_probes(probes: &Value) -> Result<(), Invalid> {
    let rule_keys = keys_of(&RawProbeRule::default());
    let targets = [
        ("tcp", keys_of(&RawTcpTarget::default())),
        ("http", keys_of(&RawHttpTarget::default())),
    ];
    for (kind, rule) in probes.as_object().into_iter().flatten() {
        let field = format!("spec.probes.{kind}");
        let Some(rule) = rule.as_object() else {
            continue;
        };
        check_table(&field, rule, &rule_keys)?;
        for (target, known) in &targets {
            if let Some(table) = rule.get(*target).and_then(Value::as_object) {
                check_table(&format!("{field}.{target}"), table, known)?;
            }
        }
    }
    Ok(())
}

/// The fields of a struct, read from its serialised form.
fn keys_of(section: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(section) {
        Ok(Value::Object(keys)) => keys,
        _ => Map::new(),
    }
}
