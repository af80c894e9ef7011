//! Definitions in files: our own form in TOML, YAML or JSON, and the body of a GSE `register_proc_info` call.

use std::collections::BTreeMap;

use api::HostRef;
use clap::ValueEnum;
use model::selector::LabelSelector;
use model::spec::RawSpec;
use model::spec::raw::{SECTIONS, check_keys};
use model::{FullName, Host};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::flags::{AutoTypeArg, parse_secs, parse_size};
use super::{Definition, HostSelection};
use crate::failure::Failure;
use crate::input::read_text;
use crate::target::parse_host;

const MAX_FILE: u64 = 64 * 1024 * 1024;
/// The key of a file that holds several definitions.
pub(super) const SEVERAL: &str = "processes";

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
const PROBE_TIMES: &[&str] = &["interval", "timeout", "delay"];
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
    ("restart", &["delay", "delay_max", "reset"], parse_secs),
    ("stop", &["grace"], parse_secs),
    ("schedule", &["jitter"], parse_secs),
    ("probes.ready", PROBE_TIMES, parse_secs),
    ("probes.live", PROBE_TIMES, parse_secs),
    ("after", &["patience"], parse_secs),
];

/// Reads every definition of a file; `-` is standard input.
pub fn read(file: &str) -> Result<Vec<Definition>, Failure> {
    let text = read_text(file, MAX_FILE)
        .map_err(|e| Failure::usage(format!("{file}: cannot be read: {e}")))?;
    parse(file, &text).map_err(|rule| Failure::usage(format!("{file}: {rule}")))
}

/// Reads a file that holds one definition.
pub fn read_one(file: &str) -> Result<Definition, Failure> {
    let mut definitions = read(file)?;
    match (definitions.pop(), definitions.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err(Failure::usage(format!(
            "{file}: must hold one definition here, not several"
        ))),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syntax {
    Json,
    Toml,
    Yaml,
}

impl Syntax {
    /// By the file name, else by the first line that is no comment: `{`, `key = …`, `[table]`, or `key:`.
    fn of(file: &str, text: &str) -> Self {
        let named = file.rsplit('.').next().unwrap_or_default();
        match named.to_ascii_lowercase().as_str() {
            "json" => return Self::Json,
            "toml" => return Self::Toml,
            "yaml" | "yml" => return Self::Yaml,
            _ => {}
        }
        let mut lines = text.lines().map(str::trim);
        let first = lines
            .find(|line| !line.is_empty() && !line.starts_with('#'))
            .unwrap_or_default();
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let after_key = first.trim_start_matches(is_key);
        match first.chars().next() {
            Some('{') => Self::Json,
            _ if first == "---" || after_key.starts_with(':') => Self::Yaml,
            _ => Self::Toml,
        }
    }
}

pub(super) fn parse(file: &str, text: &str) -> Result<Vec<Definition>, String> {
    let value: Value = match Syntax::of(file, text) {
        Syntax::Json => serde_json::from_str(text).map_err(|e| format!("is no JSON: {e}"))?,
        Syntax::Yaml => serde_norway::from_str(text).map_err(|e| format!("is no YAML: {e}"))?,
        Syntax::Toml => toml::from_str(text).map_err(|e| {
            let start = e.span().map_or(0, |span| span.start);
            let line = 1 + text.get(..start).unwrap_or_default().matches('\n').count();
            format!("is no TOML: line {line}: {}", e.message())
        })?,
    };
    let definitions = match value {
        Value::Object(top) if top.contains_key(SEVERAL) => several(top)?,
        Value::Object(top) if top.contains_key("meta") => vec![gse(top)?],
        Value::Object(top) => vec![from_table(top)?],
        _ => return Err("must hold one definition (namespace, name, spec)".to_owned()),
    };
    match definitions.iter().any(|one| one.selects.is_some()) {
        true => {
            Err("hosts: must be a list here; muster apply also takes all and labels".to_owned())
        }
        false => Ok(definitions),
    }
}

/// Definitions under `processes`, each with its name.
fn several(mut top: Map<String, Value>) -> Result<Vec<Definition>, String> {
    let Some(Value::Array(list)) = top.remove(SEVERAL) else {
        return Err(format!("{SEVERAL}: must be a list of definitions"));
    };
    if let Some(key) = top.keys().next() {
        return Err(format!("{key}: must not stand beside {SEVERAL}"));
    }
    if list.is_empty() {
        return Err(format!("{SEVERAL}: is empty"));
    }
    let one = |(index, value): (usize, Value)| {
        let read = match value {
            Value::Object(definition) => from_table(definition),
            _ => Err("must be a definition".to_owned()),
        };
        let named = read.and_then(|definition| match definition.name {
            Some(_) => Ok(definition),
            None => Err("namespace and name: are required here".to_owned()),
        });
        named.map_err(|rule| format!("{SEVERAL}[{index}]: {rule}"))
    };
    list.into_iter().enumerate().map(one).collect()
}

/// Our own form. An unknown key is refused, as it is probably a typing error.
pub fn from_table(mut top: Map<String, Value>) -> Result<Definition, String> {
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
    let (hosts, selects) = hosts_of_value(top.get("hosts"))?;
    let known = ["namespace", "name", "labels", "hosts"];
    if let Some(key) = top.keys().find(|key| !known.contains(&key.as_str())) {
        let all = [&known[..], &["spec"], &SECTIONS].concat();
        let meant = did_you_mean(key, &all);
        return Err(format!(
            "{key}: is no key of a definition: {}{meant}",
            all.join(", ")
        ));
    }
    check_keys(&spec).map_err(|invalid| {
        let key = invalid.field.rsplit('.').next().unwrap_or_default();
        let (_, known) = invalid
            .rule
            .rsplit_once(": ")
            .or_else(|| invalid.rule.rsplit_once("there are "))
            .unwrap_or_default();
        let meant = did_you_mean(key, &known.split(", ").collect::<Vec<_>>());
        format!("{invalid}{meant}")
    })?;
    Ok(Definition {
        name,
        hosts,
        selects,
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
        selects: None,
        labels: labels_of(meta.get("labels"))?,
        spec: spec_of(spec)?,
    })
}

/// `; did you mean user?`, where a known word is near.
pub fn did_you_mean(word: &str, known: &[&str]) -> String {
    let near = similar::get_close_matches(word, known, 1, 0.6);
    near.first()
        .map(|meant| format!("; did you mean {meant}?"))
        .unwrap_or_default()
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

/// A list of hosts, `all`, or `{labels: "zone=a"}`.
pub fn hosts_of_value(
    value: Option<&Value>,
) -> Result<(Vec<HostRef>, Option<HostSelection>), String> {
    let selection = match value {
        Some(Value::String(word)) if word == "all" => HostSelection::All,
        Some(Value::Object(table)) => match (table.get("labels"), table.len()) {
            (Some(Value::String(tests)), 1) => LabelSelector::parse(tests)
                .map(HostSelection::Labels)
                .map_err(|e| format!("hosts.labels: {e}"))?,
            _ => {
                return Err(
                    "hosts: must be a list, all, or {labels: \"zone=a,rack!=7\"}".to_owned(),
                );
            }
        },
        Some(Value::String(_) | Value::Number(_) | Value::Bool(_)) => {
            return Err("hosts: must be a list, all, or {labels: \"zone=a,rack!=7\"}".to_owned());
        }
        value => return Ok((hosts_of(value)?, None)),
    };
    Ok((Vec::new(), Some(selection)))
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
        let mut path = section.split('.');
        let outer = path.next().and_then(|section| spec.get_mut(section));
        let table = path.try_fold(outer, |table, key| Some(table?.get_mut(key)));
        let tables = match table.flatten() {
            Some(Value::Object(fields)) => vec![fields],
            Some(Value::Array(items)) => {
                items.iter_mut().filter_map(Value::as_object_mut).collect()
            }
            _ => continue,
        };
        for fields in tables {
            with_units(fields, keys, *parse)
                .map_err(|(key, rule)| format!("spec.{section}.{key}: {rule}"))?;
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

/// Replaces texts with a unit by numbers; the error names the key.
fn with_units(
    fields: &mut Map<String, Value>,
    keys: &[&'static str],
    parse: fn(&str) -> Result<i64, String>,
) -> Result<(), (&'static str, String)> {
    for key in keys {
        let Some(value) = fields.get_mut(*key) else {
            continue;
        };
        if let Some(text) = value.as_str().filter(|text| !text.trim().is_empty()) {
            let number = parse(text).map_err(|rule| (*key, rule))?;
            *value = number.into();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
