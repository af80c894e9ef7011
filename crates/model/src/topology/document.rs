//! A business as a document: one file, nested like the view.
//!
//! ```yaml
//! bk_biz_id: 2
//! bk_biz_name: game
//! sets:
//!   - bk_set_name: zone-1
//!     modules:
//!       - bk_module_name: login
//!         hosts: [10.0.0.1, 10.0.0.2]
//!         processes:
//!           - {bk_process_name: login, work_path: /opt/login, pid_file: login.pid, start_cmd: ./start.sh}
//! ```
//!
//! What else a spec has is written under `spec`, and labels under `labels`:
//!
//! ```yaml
//!           - bk_process_name: login
//!             labels: {tier: front}
//!             spec:
//!               identity: {log_path: "/var/log/login/${local_inst_id}.log"}
//!               control: {health_cmd: ./check.sh}
//!               resource: {cpu: 50}
//!               runtime: {env: {MODE: fast}, memory_max: 1073741824}
//! ```
//!
//! Every host of a module runs all of its processes. `service_instances` holds what differs between hosts. Ids are optional:
//! without one, an object is identified by its name. An unknown key is an error, because it is probably a typing mistake.

mod further;
mod read;
mod write;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Attributes, BusinessFacts};
use crate::{Invalid, lenient};

/// The file: one business, or several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TopologyFile {
    Several { businesses: Vec<BusinessDocument> },
    One(Box<BusinessDocument>),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BusinessDocument {
    pub bk_biz_id: u32,
    #[serde(default)]
    pub bk_biz_name: String,
    /// `global_variables` of its templates.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub variables: Attributes,
    /// Names of cloud areas.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clouds: BTreeMap<u32, String>,
    /// Details of hosts beyond their address; hosts without details need not be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostDocument>,
    #[serde(default)]
    pub sets: Vec<SetDocument>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostDocument {
    /// `10.0.0.1` or `CLOUD:IP`.
    pub host: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bk_host_id: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bk_host_innerip_v6: Option<std::net::Ipv6Addr>,
    /// Further addresses by which the host can be found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_innerips: Vec<std::net::IpAddr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bk_agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetDocument {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bk_set_id: Option<u32>,
    pub bk_set_name: String,
    /// 1 test, 2 experience, 3 formal.
    #[serde(default = "formal")]
    pub bk_set_env: u8,
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
    #[serde(default)]
    pub modules: Vec<ModuleDocument>,
}

fn formal() -> u8 {
    super::SetEnv::Formal.number()
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleDocument {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bk_module_id: Option<u32>,
    pub bk_module_name: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub service_template_id: u32,
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
    /// Each of these hosts runs all of `processes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessDocument>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_instances: Vec<ServiceDocument>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceDocument {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_instance_id: Option<u32>,
    /// Default: `{ip}_{module}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub host: String,
    /// In addition to those of the module; one with the same alias replaces it.
    #[serde(default)]
    pub processes: Vec<ProcessDocument>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessDocument {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bk_process_id: Option<u32>,
    pub bk_process_name: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub process_template_id: u32,
    /// The binary; default: the alias.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bk_func_name: String,
    #[serde(default = "one")]
    pub proc_num: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub work_path: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pid_file: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start_cmd: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stop_cmd: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub restart_cmd: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reload_cmd: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub face_stop_cmd: String,
    /// Seconds that an operation may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bk_start_check_secs: Option<u32>,
    /// What else a spec has, in its sections: log_path, health_cmd, limits, policy, runtime. Texts are rendered for each
    /// instance, as the commands are.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub spec: Map<String, Value>,
    #[serde(
        default,
        deserialize_with = "lenient::labels",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub labels: BTreeMap<String, String>,
}

fn one() -> u32 {
    1
}

impl TopologyFile {
    /// The businesses of the file.
    pub fn into_businesses(self) -> Vec<BusinessDocument> {
        match self {
            Self::One(business) => vec![*business],
            Self::Several { businesses } => businesses,
        }
    }
}

impl BusinessDocument {
    /// Validates the document. An error names the field.
    pub fn to_facts(&self) -> Result<BusinessFacts, Invalid> {
        read::facts(self)
    }

    /// The document with these facts.
    pub fn of(facts: &BusinessFacts) -> Self {
        write::document(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(modules: serde_json::Value) -> BusinessDocument {
        serde_json::from_value(serde_json::json!({
            "bk_biz_id": 2, "bk_biz_name": "game",
            "hosts": [{"host": "1:10.0.0.2", "bk_agent_id": "abc"}],
            "sets": [{"bk_set_name": "zone-1", "modules": modules}],
        }))
        .unwrap()
    }

    fn login() -> serde_json::Value {
        serde_json::json!({"bk_process_name": "login", "work_path": "/opt", "pid_file": "p.pid"})
    }

    #[test]
    fn every_host_of_a_module_runs_all_of_its_processes() {
        let document = document(serde_json::json!([{
            "bk_module_name": "login", "hosts": ["10.0.0.1", "1:10.0.0.2"],
            "processes": [login(), {"bk_process_name": "proxy", "proc_num": 2}],
            "service_instances": [{
                "host": "10.0.0.3", "name": "odd one",
                "processes": [{"bk_process_name": "proxy", "proc_num": 9}],
            }],
        }]));
        let facts = document.to_facts().unwrap();
        let names: Vec<&str> = facts.services.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["10.0.0.1_login", "10.0.0.2_login", "odd one"]);
        assert_eq!(facts.hosts.len(), 3);
        let shown: Vec<(usize, &str, u32)> = facts
            .processes
            .iter()
            .map(|row| {
                (
                    row.service,
                    row.program.bk_process_name.as_str(),
                    row.program.proc_num,
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                (0, "login", 1),
                (0, "proxy", 2),
                (1, "login", 1),
                (1, "proxy", 2),
                (2, "login", 1),
                (2, "proxy", 9),
            ]
        );
        let host = facts.services[1].host;
        assert!(
            facts.hosts[host].agent_id.is_some(),
            "the details of a host belong to it"
        );
    }

    #[test]
    fn facts_round_trip_through_a_document() {
        let document = document(serde_json::json!([{
            "bk_module_name": "login", "bk_module_id": 7, "hosts": ["10.0.0.1", "1:10.0.0.2"],
            "processes": [login()],
        }]));
        let facts = document.to_facts().unwrap();
        let again = BusinessDocument::of(&facts).to_facts().unwrap();
        let strip = |mut facts: BusinessFacts| {
            for process in &mut facts.processes {
                process.row = Default::default();
            }
            facts.hosts.sort_by_key(|host| host.ip);
            (
                facts.sets,
                facts.modules,
                facts.hosts,
                facts.processes.len(),
                facts.services.len(),
            )
        };
        assert_eq!(strip(again), strip(facts));
    }

    #[test]
    fn everything_of_a_spec_round_trips_through_a_document() {
        let spec = serde_json::json!({
            "identity": {"log_path": "/l/${local_inst_id}", "config_path": "/c", "index_key": "k"},
            "control": {"health_cmd": "./check", "version_cmd": "./v"},
            "resource": {"cpu": 5.5, "mem": 1, "fd": 2, "disk": 3, "net": 4},
            "monitor_policy": {"auto_type": "periodic", "crontab_rule": "* * * * *", "start_retries": 1,
                "start_interval": 2, "stop_check_secs": 3},
            "warn_report_policy": {"report_id": 7},
            "configmap": [{"path": "/c", "md5": ""}],
            "runtime": {"env": {"A": "b"}, "umask": "027", "memory_max": 2097152, "nofile": null},
        });
        let mut process = login();
        process["spec"] = spec;
        process["labels"] = serde_json::json!({"tier": "front", "weight": 3});
        let modules = |process: &serde_json::Value| {
            serde_json::json!([{"bk_module_name": "login",
            "hosts": ["10.0.0.1"], "processes": [process]}])
        };
        let facts = document(modules(&process)).to_facts().unwrap();
        let program = &facts.processes[0].program;
        assert!(
            program.spec.contains(r#""auto_type":0"#),
            "{}",
            program.spec
        );
        assert!(!program.spec.contains("null"), "{}", program.spec);
        assert_eq!(program.labels["weight"], "3");
        let again = BusinessDocument::of(&facts).to_facts().unwrap();
        assert_eq!(again.processes[0].program, *program);

        for (section, value, why) in [
            (
                "identity",
                serde_json::json!({"setup_path": "/x"}),
                "spec.identity.setup_path: is written as work_path",
            ),
            (
                "alive_monitor_policy",
                serde_json::json!({}),
                "is written as monitor_policy",
            ),
            (
                "runtime",
                serde_json::json!({"envs": {}}),
                "spec.runtime.envs: is unknown",
            ),
            (
                "limits",
                serde_json::json!({}),
                "spec.limits: is no part of a spec",
            ),
            (
                "resource",
                serde_json::json!({"cpu": "much"}),
                "spec.resource: ",
            ),
        ] {
            let mut process = login();
            process["spec"] = serde_json::json!({section: value});
            let error = document(modules(&process)).to_facts().unwrap_err();
            let error = error.to_string();
            assert!(
                error.starts_with("sets[0].modules[0].processes[0].spec."),
                "{error}"
            );
            assert!(error.contains(why), "{error}");
        }
        let mut process = login();
        process["labels"] = serde_json::json!({"bk_process_id": 1});
        let error = document(modules(&process)).to_facts().unwrap_err();
        assert!(
            error.field.ends_with("processes[0].labels.bk_process_id"),
            "{error}"
        );
    }

    #[test]
    fn errors_name_the_field() {
        let wrong = |modules| document(modules).to_facts().unwrap_err().to_string();
        let text = wrong(
            serde_json::json!([{"bk_module_name": "m", "hosts": ["nowhere"], "processes": [login()]}]),
        );
        assert!(
            text.starts_with("sets[0].modules[0].hosts[0].host: must be"),
            "{text}"
        );
        let text = wrong(serde_json::json!([{
            "bk_module_name": "m", "hosts": ["10.0.0.1"],
            "processes": [{"bk_process_name": "p", "proc_num": 0}],
        }]));
        assert!(
            text.starts_with("sets[0].modules[0].processes[0].proc_num: must be"),
            "{text}"
        );
        let text = wrong(serde_json::json!([{"bk_module_name": "m", "hosts": ["10.0.0.1"]}]));
        assert!(text.contains("no processes"), "{text}");
        let misspelled = serde_json::json!({"bk_biz_id": 2, "stes": []});
        assert!(serde_json::from_value::<BusinessDocument>(misspelled).is_err());
    }
}
