//! How to run a process: who it is, its commands, its limits, and the policy that keeps it alive.
//!
//! [`Spec`] is complete and right. [`raw::RawSpec`] is what callers send; it becomes a `Spec`, or a [`Probe`] where an
//! operation needs no more than to find the process.

use serde::{Deserialize, Serialize, Serializer};

pub mod raw;
pub mod runtime;

pub use raw::RawSpec;
pub use runtime::Runtime;

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
    #[serde(default, skip_serializing_if = "Runtime::is_default")]
    pub runtime: Runtime,
}

/// What the process is called on the host, and where its files are. Optional texts are empty when not given.
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

/// Shell commands; empty means that there is none and the built-in way is used.
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

/// Upper bounds; 0 means none. `cpu` and `mem` are percent of the whole machine.
///
/// `fd`, `disk` and `net` are reserved in the GSE documents, without units: they are kept and shown and limit nothing. The
/// limits that the agent enforces are `runtime.fd_max`, `log_bytes_max` and `net_max`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    pub cpu: f64,
    pub mem: f64,
    pub fd: u64,
    pub disk: u64,
    pub net: u64,
}

/// How long to wait for what, and how often to try again.
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

/// What being managed means for this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum AutoType {
    /// Run by `crontab_rule`; without a rule only when asked.
    Periodic,
    /// Restarted when it dies.
    #[default]
    Resident,
    /// Run once.
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
/// Without `md5` the content at the agent's first look counts as right. Without `path` there is nothing to watch: the entry
/// is kept and does nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFile {
    pub path: String,
    pub md5: String,
}

/// As much of a spec as it takes to find a process on its host. Every text may be empty.
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
    /// The form that is stored, sent to agents and compared: equal specs have equal text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a spec has only string keys")
    }

    /// The form in which callers write specs, and so the one that they are shown: [`RawSpec`] reads it back.
    pub fn to_request_json(&self) -> serde_json::Value {
        let mut written = serde_json::to_value(self).expect("a spec has only string keys");
        if let Some(digits) = self.runtime.umask_digits() {
            written["runtime"]["umask"] = digits.into();
        }
        written
    }
}

/// For `#[serde(serialize_with)]`: a spec as [`Spec::to_request_json`].
pub fn serialize_as_request<S: Serializer>(
    spec: &impl std::borrow::Borrow<Spec>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    spec.borrow().to_request_json().serialize(serializer)
}
