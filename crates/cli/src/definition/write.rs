//! Writes registered definitions as files that `register`, `update` and `edit` read back unchanged.

use std::collections::BTreeMap;

use clap::ValueEnum;
use model::spec::RawSpec;
use model::{FullName, Labels, Spec};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::file::{self, SEVERAL};
use super::flags::AutoTypeArg;
use super::{Definition, to_map};
use crate::args::value_name;
use crate::failure::{Failure, Kind};
use crate::processes::host_text;

/// A definition, and the hosts that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    pub name: FullName,
    /// `CLOUD:IP`
    pub hosts: Vec<String>,
    pub labels: Labels,
    pub spec: Spec,
}

/// The order of a file. What has its default is left out.
#[derive(Debug, Serialize)]
struct Written {
    namespace: String,
    name: String,
    hosts: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    control: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    monitor_policy: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warn_report_policy: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    restart: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probes: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    configmap: Option<Value>,
}

#[derive(Debug, Serialize)]
struct Several {
    processes: Vec<Written>,
}

/// TOML. One definition stands at the top, several under `processes`.
pub fn to_text(definitions: &[Exported]) -> Result<String, Failure> {
    let mut written: Vec<Written> = definitions.iter().map(written).collect();
    let text = match written.len() {
        1 => toml::to_string_pretty(&written.remove(0)),
        _ => toml::to_string_pretty(&Several { processes: written }),
    };
    let text = text.map_err(|e| Failure::new(Kind::Failed, format!("cannot be written: {e}")))?;
    // A file that would not be read back as the same is worth nothing.
    match from_text(&text)? == definitions {
        true => Ok(text),
        false => Err(Failure::new(
            Kind::Failed,
            "the definitions cannot be written as a file that is read back as the same",
        )),
    }
}

/// The same as a JSON document.
pub fn to_json(definitions: &[Exported]) -> Value {
    match definitions {
        [one] => json!(written(one)),
        several => {
            let all: Vec<Written> = several.iter().map(written).collect();
            json!({ SEVERAL: all })
        }
    }
}

/// One definition as a table of YAML, with its keys in the order of a file.
pub fn to_table(definition: &Exported) -> Result<serde_norway::Value, Failure> {
    serde_norway::to_value(written(definition))
        .map_err(|e| Failure::new(Kind::Failed, format!("cannot be written: {e}")))
}

/// Reads what [`to_text`] wrote, and what was edited since.
pub fn from_text(text: &str) -> Result<Vec<Exported>, Failure> {
    let definitions = file::parse("", text).map_err(Failure::usage)?;
    let each = definitions.into_iter().map(|definition| {
        let name = definition.name.clone();
        let name = name.ok_or_else(|| Failure::usage("namespace and name: are required"))?;
        let (spec, labels) = definition.complete(&name)?;
        Ok(Exported {
            name,
            hosts: definition.hosts.iter().map(host_text).collect(),
            labels,
            spec,
        })
    });
    each.collect()
}

fn written(definition: &Exported) -> Written {
    let mut sections = essential(definition);
    if let Some(policy) = sections.get_mut("monitor_policy") {
        let number = u8::from(definition.spec.monitor_policy.auto_type);
        let word = AutoTypeArg::value_variants()
            .iter()
            .find(|word| word.number() == i64::from(number));
        if let Some(word) = word {
            policy["auto_type"] = value_name(*word).into();
        }
    }
    let mut section = |name: &str| sections.remove(name);
    Written {
        namespace: definition.name.namespace.to_string(),
        name: definition.name.name.to_string(),
        hosts: definition.hosts.clone(),
        labels: to_map(&definition.labels),
        identity: section("identity"),
        control: section("control"),
        resource: section("resource"),
        monitor_policy: section("monitor_policy"),
        warn_report_policy: section("warn_report_policy"),
        runtime: section("runtime"),
        restart: section("restart"),
        stop: section("stop"),
        schedule: section("schedule"),
        probes: section("probes"),
        after: section("after"),
        configmap: section("configmap"),
    }
}

/// The sections of the spec without each field whose absence means the same.
fn essential(definition: &Exported) -> Map<String, Value> {
    let Value::Object(mut sections) = definition.spec.to_request_json() else {
        return Map::new();
    };
    let fields: Vec<(String, String)> = sections
        .iter()
        .filter_map(|(section, value)| Some((section, value.as_object()?)))
        .flat_map(|(section, fields)| {
            fields
                .iter()
                .map(move |(field, value)| (section, field, value))
        })
        // What everybody looks for stays, even if it could be derived.
        .filter(|(section, field, value)| match section.as_str() {
            "identity" => value.as_str().is_none_or(str::is_empty),
            _ => !matches!(field.as_str(), "start_cmd" | "auto_type"),
        })
        .map(|(section, field, _)| (section.clone(), field.clone()))
        .collect();
    for (section, field) in fields {
        let mut fewer = sections.clone();
        if let Some(fields) = fewer.get_mut(&section).and_then(Value::as_object_mut) {
            fields.remove(&field);
        }
        if means(&fewer, definition) {
            sections = fewer;
        }
    }
    sections.retain(|_, value| match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    });
    sections
}

fn means(sections: &Map<String, Value>, definition: &Exported) -> bool {
    let raw = serde_json::from_value::<RawSpec>(Value::Object(sections.clone()));
    let completed = raw.ok().and_then(|spec| {
        let read = Definition {
            spec,
            ..Definition::default()
        };
        read.complete(&definition.name).ok()
    });
    completed.is_some_and(|(spec, _)| spec == definition.spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exported(name: &str, spec: Value) -> Exported {
        let spec: Spec = serde_json::from_value(spec).unwrap();
        Exported {
            name: name.parse().unwrap(),
            hosts: vec!["0:10.0.0.1".into(), "0:10.0.0.2".into()],
            labels: Labels::default()
                .with("tier", "front")
                .with("a b", "=\"x\"\n"),
            spec,
        }
    }

    fn plain() -> Value {
        json!({"identity": {"proc_name": "sh", "setup_path": "/opt", "pid_path": "/opt/x.pid", "user": "root"},
            "control": {"start_cmd": "sleep 1"}})
    }

    #[test]
    fn a_file_shows_only_what_differs_from_the_defaults() {
        let mut one = exported("web/nginx", plain());
        one.labels = Labels::default().with("tier", "front");
        assert_eq!(
            to_text(&[one]).unwrap(),
            "namespace = \"web\"\nname = \"nginx\"\nhosts = [\n    \"0:10.0.0.1\",\n    \"0:10.0.0.2\",\n]\n\n\
             [labels]\ntier = \"front\"\n\n[identity]\npid_path = \"/opt/x.pid\"\nproc_name = \"sh\"\n\
             setup_path = \"/opt\"\nuser = \"root\"\n\n[control]\nstart_cmd = \"sleep 1\"\n\n\
             [monitor_policy]\nauto_type = \"resident\"\n"
        );
    }

    #[test]
    fn every_field_of_a_spec_is_read_back() {
        let whole = json!({
            "identity": {"index_key": "k", "proc_name": "sh", "setup_path": "/opt", "pid_path": "/opt/x.pid",
                "config_path": "/etc/x", "log_path": "/var/log/x", "user": "me"},
            "control": {"start_cmd": "a\n'b' \"c\" \\d", "stop_cmd": "s", "restart_cmd": "r", "reload_cmd": "l",
                "kill_cmd": "k", "version_cmd": "v", "health_cmd": "h"},
            "resource": {"cpu": 12.5, "mem": 3.0, "fd": 7, "disk": 8, "net": 9},
            "monitor_policy": {"auto_type": 0, "start_check_secs": 1, "stop_check_secs": 2, "start_retries": 3,
                "start_interval": 4, "crontab_rule": "*/5 * * * *", "op_timeout": 6},
            "warn_report_policy": {"report_id": 77},
            "configmap": [{"path": "/etc/x", "md5": "d41d8cd98f00b204e9800998ecf8427e"}],
            "runtime": {"env": {"A": "1", "B": "\t"}, "nofile": 10, "core": 0, "nproc": 11, "umask": 23, "nice": -5,
                "memory_max": 104857600, "cpu_max": 50.5, "pids_max": 12, "fd_max": 13, "log_bytes_max": 14,
                "net_max": 15, "log_max_bytes": 8192, "log_keep": 3},
            "restart": {"delay": 1, "factor": 1.5, "delay_max": 60, "jitter": 0, "reset": 120, "give_up": "never"},
            "stop": {"signals": ["SIGQUIT", "SIGTERM"], "grace": 2},
            "schedule": {"missed": "once", "overlap": "kill", "jitter": 30, "history": 20},
            "after": [{"process": "db/postgres", "restart": true},
                {"process": "db/migrate", "when": "exited_ok", "where": "any", "patience": 30}],
        });
        let mut probed = plain();
        probed["probes"] = json!({
            "ready": {"http": {"port": 80, "path": "/h", "host": "::1", "status": [200, "2xx", "300-308"], "body": "\"up\""},
                "interval": 2, "timeout": 3, "successes": 2, "failures": 4, "delay": 1, "action": "restart"},
            "live": {"tcp": {"port": 81}},
        });
        let all = [
            exported("web/nginx", whole),
            exported("db/业务", plain()),
            exported("web/api", probed),
        ];
        for definitions in [&all[..1], &all[2..], &all[..]] {
            let text = to_text(definitions).unwrap();
            assert_eq!(from_text(&text).unwrap(), definitions, "{text}");
            let json = to_json(definitions).to_string();
            assert_eq!(from_text(&json).unwrap(), definitions, "{json}");
        }
    }
}
