//! Definitions in files: our own form in TOML or JSON, and the body of a GSE `register_proc_info` call.

use std::collections::BTreeMap;

use api::HostRef;
use clap::ValueEnum;
use model::spec::RawSpec;
use model::spec::raw::{
    RawCommands, RawConfigFile, RawIdentity, RawLimits, RawPolicy, RawWarnReport,
};
use model::spec::runtime::RawRuntime;
use model::{FullName, Host};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Definition;
use super::flags::{AutoTypeArg, parse_secs, parse_size};
use crate::failure::Failure;
use crate::input::read_text;
use crate::target::parse_host;

const MAX_FILE: u64 = 64 * 1024 * 1024;
/// The parts of a spec, which may also stand at the top of a file.
const SECTIONS: [&str; 8] = [
    "identity",
    "control",
    "resource",
    "monitor_policy",
    "alive_monitor_policy",
    "warn_report_policy",
    "configmap",
    "runtime",
];

/// Fields that a file may write with a unit, such as `memory_max = "100M"` and `op_timeout = "2m"`.
type UnitFields = (
    &'static str,
    &'static [&'static str],
    fn(&str) -> Result<i64, String>,
);
const TIMES: &[&str] = &[
    "start_check_secs",
    "stop_check_secs",
    "start_interval",
    "op_timeout",
];
const UNITS: &[UnitFields] = &[
    ("monitor_policy", TIMES, parse_secs),
    ("alive_monitor_policy", TIMES, parse_secs),
    (
        "runtime",
        &[
            "memory_max",
            "core",
            "log_bytes_max",
            "net_max",
            "log_max_bytes",
        ],
        parse_size,
    ),
];

/// Reads one definition; `-` is standard input.
pub fn read(file: &str) -> Result<Definition, Failure> {
    let text = read_text(file, MAX_FILE)
        .map_err(|e| Failure::usage(format!("{file}: cannot be read: {e}")))?;
    parse(file, &text).map_err(|rule| Failure::usage(format!("{file}: {rule}")))
}

/// By the file name, else by the first character.
fn is_json(file: &str, text: &str) -> bool {
    let file = file.to_ascii_lowercase();
    file.ends_with(".json") || (!file.ends_with(".toml") && text.trim_start().starts_with('{'))
}

fn parse(file: &str, text: &str) -> Result<Definition, String> {
    let value: Value = match is_json(file, text) {
        true => serde_json::from_str(text).map_err(|e| format!("is no JSON: {e}"))?,
        false => toml::from_str(text).map_err(|e| {
            let start = e.span().map_or(0, |span| span.start);
            let line = 1 + text.get(..start).unwrap_or_default().matches('\n').count();
            format!("is no TOML: line {line}: {}", e.message())
        })?,
    };
    match value {
        Value::Object(top) if top.contains_key("meta") => gse(top),
        Value::Object(top) => native(top),
        _ => Err("must hold one definition (namespace, name, spec)".to_owned()),
    }
}

/// Our own form. An unknown key is refused, as it is probably a typing error.
fn native(mut top: Map<String, Value>) -> Result<Definition, String> {
    let mut spec = match top.remove("spec") {
        None => Map::new(),
        Some(Value::Object(spec)) => spec,
        Some(_) => return Err("spec: must be a table".to_owned()),
    };
    for section in SECTIONS {
        if let Some(value) = top.remove(section)
            && spec.insert(section.to_owned(), value).is_some()
        {
            return Err(format!("{section}: stands both at the top and in spec"));
        }
    }
    let name = name_of(&top)?;
    let labels = labels_of(top.get("labels"))?;
    let hosts = hosts_of(top.get("hosts"))?;
    let known = ["namespace", "name", "labels", "hosts"];
    if let Some(key) = top.keys().find(|key| !known.contains(&key.as_str())) {
        let known = [&known[..], &["spec"], &SECTIONS].concat().join(", ");
        return Err(format!("{key}: is no key of a definition: {known}"));
    }
    check_keys(&spec)?;
    Ok(Definition {
        name,
        hosts,
        labels,
        spec: spec_of(spec)?,
    })
}

/// The body of a register_proc_info call. Unknown fields are ignored, as the API does.
fn gse(mut top: Map<String, Value>) -> Result<Definition, String> {
    let Some(Value::Object(meta)) = top.remove("meta") else {
        return Err("meta: must be an object".to_owned());
    };
    let spec = match top.remove("spec") {
        Some(Value::Object(spec)) => spec,
        None => Map::new(),
        Some(_) => return Err("spec: must be an object".to_owned()),
    };
    let agents = top.get("agent_id_list").filter(|list| !list.is_null());
    Ok(Definition {
        name: name_of(&meta)?,
        hosts: match agents {
            Some(list) => agents_of(list)?,
            None => hosts_of(top.get("hosts"))?,
        },
        labels: labels_of(meta.get("labels"))?,
        spec: spec_of(spec)?,
    })
}

fn name_of(table: &Map<String, Value>) -> Result<Option<FullName>, String> {
    match (table.get("namespace"), table.get("name")) {
        (None, None) => Ok(None),
        (Some(Value::String(namespace)), Some(Value::String(name))) => {
            FullName::parse(namespace, name)
                .map(Some)
                .map_err(|e| e.to_string())
        }
        _ => Err("namespace and name: both must be given, as text".to_owned()),
    }
}

fn labels_of(value: Option<&Value>) -> Result<BTreeMap<String, String>, String> {
    model::lenient::labels(value.unwrap_or(&Value::Null)).map_err(|e| format!("labels: {e}"))
}

#[derive(Deserialize)]
#[serde(untagged)]
enum HostForm {
    Text(String),
    Table {
        #[serde(
            default,
            alias = "bk_cloud_id",
            deserialize_with = "model::lenient::int"
        )]
        cloud_id: Option<i64>,
        ip: String,
    },
    Agent {
        #[serde(alias = "bk_agent_id")]
        agent_id: String,
    },
}

fn hosts_of(value: Option<&Value>) -> Result<Vec<HostRef>, String> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(Vec::new());
    };
    let list = value.as_array().ok_or("hosts: must be a list")?;
    let read = |(index, value): (usize, &Value)| {
        let form = HostForm::deserialize(value)
            .map_err(|_| "must be \"IP\", \"CLOUD:IP\", {ip, cloud_id} or {agent_id}".to_owned());
        form.and_then(|form| match form {
            HostForm::Text(text) => parse_host(&text).map_err(|e| e.what().to_owned()),
            HostForm::Table { cloud_id, ip } => Host::parse(cloud_id.unwrap_or(0), &ip)
                .map(HostRef::from)
                .map_err(|e| e.to_string()),
            HostForm::Agent { agent_id } => agent(&agent_id),
        })
        .map_err(|rule| format!("hosts[{index}]: {rule}"))
    };
    list.iter().enumerate().map(read).collect()
}

/// GSE 2.0 callers put `cloud:ip` where they have no id.
fn agents_of(value: &Value) -> Result<Vec<HostRef>, String> {
    let list: Vec<String> =
        Vec::deserialize(value).map_err(|_| "agent_id_list: must be a list of texts".to_owned())?;
    let read = |text: &String| match text.contains(':') {
        true => parse_host(text).map_err(|e| e.what().to_owned()),
        false => agent(text),
    };
    list.iter()
        .map(|text| read(text).map_err(|rule| format!("agent_id_list: {rule}")))
        .collect()
}

fn agent(id: &str) -> Result<HostRef, String> {
    model::AgentId::parse(id)
        .map(HostRef::from)
        .map_err(|e| e.to_string())
}

fn spec_of(mut spec: Map<String, Value>) -> Result<RawSpec, String> {
    for policy in ["monitor_policy", "alive_monitor_policy"] {
        let auto_type = spec
            .get_mut(policy)
            .and_then(|policy| policy.get_mut("auto_type"));
        if let Some(value) = auto_type
            && let Some(word) = value.as_str()
            && let Ok(named) = AutoTypeArg::from_str(word, true)
        {
            *value = named.number().into();
        }
    }
    for (section, keys, parse) in UNITS {
        let Some(Value::Object(fields)) = spec.get_mut(*section) else {
            continue;
        };
        for key in *keys {
            let Some(value) = fields.get_mut(*key) else {
                continue;
            };
            if let Some(text) = value.as_str().filter(|text| !text.trim().is_empty()) {
                let number = parse(text).map_err(|rule| format!("spec.{section}.{key}: {rule}"))?;
                *value = number.into();
            }
        }
    }
    // Section by section, so that an error can say where it is.
    let mut whole = Map::new();
    for (section, value) in spec {
        serde_json::from_value::<RawSpec>(Value::Object(Map::from_iter([(
            section.clone(),
            value.clone(),
        )])))
        .map_err(|e| format!("spec.{section}: {e}"))?;
        whole.insert(section, value);
    }
    serde_json::from_value(Value::Object(whole)).map_err(|e| format!("spec: {e}"))
}

fn check_keys(spec: &Map<String, Value>) -> Result<(), String> {
    for (section, value) in spec {
        let known = match section.as_str() {
            "identity" => keys_of(&RawIdentity::default()),
            "control" => keys_of(&RawCommands::default()),
            "resource" => keys_of(&RawLimits::default()),
            "monitor_policy" | "alive_monitor_policy" => keys_of(&RawPolicy::default()),
            "warn_report_policy" => keys_of(&RawWarnReport::default()),
            "configmap" => keys_of(&RawConfigFile::default()),
            "runtime" => keys_of(&RawRuntime::default()),
            _ => {
                return Err(format!(
                    "spec.{section}: is no part of a spec: {}",
                    SECTIONS.join(", ")
                ));
            }
        };
        let tables = match value {
            Value::Array(items) => items.iter().filter_map(Value::as_object).collect(),
            value => Vec::from_iter(value.as_object()),
        };
        for key in tables.into_iter().flat_map(Map::keys) {
            if !known.contains_key(key) {
                let known = Vec::from_iter(known.keys().map(String::as_str)).join(", ");
                return Err(format!(
                    "spec.{section}.{key}: is unknown; there are {known}"
                ));
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

#[cfg(test)]
mod tests;
