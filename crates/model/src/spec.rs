//! How to run a process: identity, commands, limits, and the policy that keeps it alive.
//!
//! [`Spec`] is complete and valid. Callers send a [`raw::RawSpec`]; it becomes a `Spec`, or a [`Probe`] if an operation only
//! needs to find the process.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use crate::rare::Rare;
use crate::shared_default;

pub mod after;
mod crontab;
mod extension;
pub mod probes;
pub mod raw;
pub mod restart;
pub mod runtime;
pub mod schedule;
pub mod stop;

pub use after::Dependency;
pub use extension::{SpecExtension, SpecExtensions};
pub use probes::{ProbeAction, ProbeKind, Probes};
pub use raw::RawSpec;
pub use restart::Restart;
pub use runtime::Runtime;
pub use schedule::ScheduleRules;
pub use stop::Stop;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    pub identity: Identity,
    #[serde(default)]
    pub control: Commands,
    #[serde(default)]
    pub resource: Limits,
    #[serde(default)]
    pub monitor_policy: Policy,
    #[serde(default)]
    pub warn_report_policy: WarnReport,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configmap: Vec<ConfigFile>,
    #[serde(default, skip_serializing_if = "Rare::is_default")]
    pub runtime: Rare<Runtime>,
    #[serde(default, skip_serializing_if = "Rare::is_default")]
    pub restart: Rare<Restart>,
    #[serde(default, skip_serializing_if = "Stop::is_default")]
    pub stop: Stop,
    #[serde(default, skip_serializing_if = "ScheduleRules::is_default")]
    pub schedule: ScheduleRules,
    #[serde(default, skip_serializing_if = "Rare::is_default")]
    pub probes: Rare<Probes>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Dependency>,
}

shared_default!(Runtime, Restart, Probes);

/// Name and paths of the process on its host. Absent optional texts are empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    #[serde(default)]
    pub index_key: String,
    /// Base name of the binary or script, checked against `/proc/PID`.
    pub proc_name: String,
    /// Working directory of every command.
    pub setup_path: String,
    pub pid_path: String,
    #[serde(default)]
    pub config_path: String,
    #[serde(default)]
    pub log_path: String,
    pub user: String,
}

/// Shell commands. For an empty command the agent uses its built-in method.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Commands {
    pub start_cmd: String,
    pub stop_cmd: String,
    pub restart_cmd: String,
    pub reload_cmd: String,
    pub kill_cmd: String,
    pub version_cmd: String,
    pub health_cmd: String,
}

/// Upper limits; 0 means none. `cpu` and `mem` are percent of the whole machine.
///
/// `fd`, `disk` and `net` are reserved in the GSE documents, without units: they are stored and shown but not enforced. The
/// enforced limits are `runtime.fd_max`, `log_bytes_max` and `net_max`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    pub cpu: f64,
    pub mem: f64,
    pub fd: u64,
    pub disk: u64,
    pub net: u64,
}

/// Timeouts and retries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    pub auto_type: AutoType,
    pub start_check_secs: u32,
    pub stop_check_secs: u32,
    pub start_retries: u32,
    pub start_interval: u32,
    pub crontab_rule: String,
    pub op_timeout: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            auto_type: AutoType::Resident,
            start_check_secs: 5,
            stop_check_secs: 0,
            start_retries: 4,
            start_interval: 10,
            crontab_rule: String::new(),
            op_timeout: 60,
        }
    }
}

/// What the agent does for a managed process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum AutoType {
    /// Runs by `crontab_rule`; without a rule only on request.
    Periodic,
    /// Restarted when it exits.
    #[default]
    Resident,
    /// Runs once.
    OneShot,
}

impl TryFrom<u8> for AutoType {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        match number {
            0 => Ok(Self::Periodic),
            1 => Ok(Self::Resident),
            2 => Ok(Self::OneShot),
            _ => Err("must be 0 (periodic), 1 (resident) or 2 (one-shot)".to_owned()),
        }
    }
}

impl From<AutoType> for u8 {
    fn from(auto_type: AutoType) -> Self {
        match auto_type {
            AutoType::Periodic => 0,
            AutoType::Resident => 1,
            AutoType::OneShot => 2,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WarnReport {
    pub report_id: i64,
}

/// A configuration file whose content is watched.
///
/// Without `md5` the content that the agent reads first counts as right. An entry without `path` is stored and has no
/// effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFile {
    pub path: String,
    pub md5: String,
}

/// The part of a spec that finds a process on its host. Every text may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Probe {
    pub proc_name: String,
    pub setup_path: String,
    pub pid_path: String,
    pub user: String,
    pub version_cmd: String,
}

impl From<&Spec> for Probe {
    fn from(spec: &Spec) -> Self {
        Self {
            proc_name: spec.identity.proc_name.clone(),
            setup_path: spec.identity.setup_path.clone(),
            pid_path: spec.identity.pid_path.clone(),
            user: spec.identity.user.clone(),
            version_cmd: spec.control.version_cmd.clone(),
        }
    }
}

impl Spec {
    /// The form that is stored, sent to agents and compared: equal specs have equal texts.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a spec has only string keys")
    }

    /// Digest of what takes effect only when the process is started: a run whose digest differs needs a restart. Commands other
    /// than the start command, limits, policies, labels and watched files apply to a run at once. Agents keep it with each run,
    /// so it must never change: a new field must be left out while it has its default.
    pub fn launch_digest(&self) -> u64 {
        let Self {
            identity,
            control,
            runtime,
            ..
        } = self;
        let launch = Launch {
            proc_name: &identity.proc_name,
            setup_path: &identity.setup_path,
            pid_path: &identity.pid_path,
            log_path: &identity.log_path,
            user: &identity.user,
            start_cmd: &control.start_cmd,
            env: &runtime.env,
            limits: [runtime.nofile, runtime.core, runtime.nproc],
            umask: runtime.umask,
            nice: runtime.nice,
        };
        let text = serde_json::to_string(&launch).expect("a spec has only string keys");
        // 0 means that the digest of a run is not known.
        crate::digest::text_hash(&text).max(1)
    }

    /// The form of API requests, which responses use too: [`RawSpec`] reads it back.
    pub fn to_request_json(&self) -> serde_json::Value {
        let mut json = serde_json::to_value(self).expect("a spec has only string keys");
        if let Some(digits) = self.runtime.umask_digits() {
            json["runtime"]["umask"] = digits.into();
        }
        json
    }
}

/// See [`Spec::launch_digest`].
#[derive(Serialize)]
struct Launch<'a> {
    proc_name: &'a str,
    setup_path: &'a str,
    pid_path: &'a str,
    log_path: &'a str,
    user: &'a str,
    start_cmd: &'a str,
    env: &'a BTreeMap<String, String>,
    limits: [Option<u64>; 3],
    umask: Option<u32>,
    nice: Option<i32>,
}

/// For `#[serde(serialize_with)]`, see [`Spec::to_request_json`].
pub fn serialize_as_request<S: Serializer>(
    spec: &impl std::borrow::Borrow<Spec>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    spec.borrow().to_request_json().serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Spec {
        let text =
            r#"{"identity":{"proc_name":"p","setup_path":"/p","pid_path":"/p/pid","user":"root"}}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn only_changes_that_need_a_restart_change_the_launch_digest() {
        type Change = fn(&mut Spec);
        let digest = spec().launch_digest();
        let changes: [(&str, bool, Change); 13] = [
            ("start_cmd", true, |spec| spec.control.start_cmd.push('x')),
            ("user", true, |spec| spec.identity.user.push('x')),
            ("log_path", true, |spec| spec.identity.log_path.push('x')),
            ("env", true, |spec| {
                spec.runtime.env.insert("A".into(), "b".into());
            }),
            ("nofile", true, |spec| spec.runtime.nofile = Some(9)),
            ("umask", true, |spec| spec.runtime.umask = Some(7)),
            ("stop_cmd", false, |spec| spec.control.stop_cmd.push('x')),
            ("health_cmd", false, |spec| {
                spec.control.health_cmd.push('x');
            }),
            ("cpu", false, |spec| spec.resource.cpu = 5.0),
            ("memory_max", false, |spec| {
                spec.runtime.memory_max = Some(1 << 20);
            }),
            ("policy", false, |spec| {
                spec.monitor_policy.start_retries = 9;
            }),
            ("after", false, |spec| {
                let after = r#"[{"process":"a/b"}]"#;
                spec.after = serde_json::from_str(after).unwrap();
            }),
            ("log_keep", false, |spec| spec.runtime.log_keep = Some(3)),
        ];
        for (what, needs_restart, change) in changes {
            let mut changed = spec();
            change(&mut changed);
            assert_eq!(changed.launch_digest() != digest, needs_restart, "{what}");
        }
        assert_eq!(
            digest, 10_329_707_049_907_877_547,
            "agents in the field hold these"
        );
    }
}
