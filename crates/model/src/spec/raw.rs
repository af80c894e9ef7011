//! Specs of API requests: every field optional, some with two spellings, numbers also as strings.

mod keys;

use serde::{Deserialize, Serialize};

pub use keys::{SECTIONS, check_keys};

use super::after::{self, RawDependency};
use super::probes::RawProbes;
use super::restart::RawRestart;
use super::runtime::RawRuntime;
use super::schedule::RawScheduleRules;
use super::stop::RawStop;
use super::{
    AutoType, Commands, ConfigFile, Identity, Limits, Policy, Probe, Spec, WarnReport, crontab,
};
use crate::group::RawProcessGroup;
use crate::{Invalid, lenient};

/// The longest command, in bytes.
pub const MAX_COMMAND_LEN: usize = 16 * 1024;
/// The longest path, in bytes (PATH_MAX less its NUL).
pub const MAX_PATH_LEN: usize = 4095;
/// The longest time in a policy: one day.
pub const MAX_SECS: i64 = 86_400;
/// How many configuration files one spec may watch.
pub const MAX_CONFIG_FILES: usize = 64;

/// Which fields are required: the GSE documents require more of a registration than of a spec inside an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecRules {
    /// `resource`, `control` and `monitor_policy.auto_type` are required.
    Registration,
    /// They are optional.
    Inline,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawSpec {
    #[serde(deserialize_with = "lenient::object")]
    pub identity: Option<RawIdentity>,
    #[serde(deserialize_with = "lenient::object")]
    pub control: Option<RawCommands>,
    #[serde(deserialize_with = "lenient::object")]
    pub resource: Option<RawLimits>,
    #[serde(deserialize_with = "lenient::object")]
    pub monitor_policy: Option<RawPolicy>,
    /// The GSE 2.0 spelling of `monitor_policy`.
    #[serde(deserialize_with = "lenient::object")]
    pub alive_monitor_policy: Option<RawPolicy>,
    #[serde(deserialize_with = "lenient::object")]
    pub warn_report_policy: Option<RawWarnReport>,
    #[serde(deserialize_with = "lenient::objects")]
    pub configmap: Option<Vec<Option<RawConfigFile>>>,
    #[serde(deserialize_with = "lenient::objects")]
    pub process_group: Option<Vec<Option<RawProcessGroup>>>,
    /// Extensions of Muster, not in the GSE documents, from here on.
    #[serde(deserialize_with = "lenient::object")]
    pub runtime: Option<RawRuntime>,
    #[serde(deserialize_with = "lenient::object")]
    pub restart: Option<RawRestart>,
    #[serde(deserialize_with = "lenient::object")]
    pub stop: Option<RawStop>,
    #[serde(deserialize_with = "lenient::object")]
    pub schedule: Option<RawScheduleRules>,
    #[serde(deserialize_with = "lenient::object")]
    pub probes: Option<RawProbes>,
    #[serde(deserialize_with = "lenient::objects")]
    pub after: Option<Vec<Option<RawDependency>>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawIdentity {
    pub index_key: Option<String>,
    pub proc_name: Option<String>,
    pub setup_path: Option<String>,
    pub pid_path: Option<String>,
    pub config_path: Option<String>,
    pub log_path: Option<String>,
    pub user: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawCommands {
    pub start_cmd: Option<String>,
    pub stop_cmd: Option<String>,
    pub restart_cmd: Option<String>,
    pub reload_cmd: Option<String>,
    pub kill_cmd: Option<String>,
    pub version_cmd: Option<String>,
    pub health_cmd: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawLimits {
    #[serde(deserialize_with = "lenient::float")]
    pub cpu: Option<f64>,
    #[serde(deserialize_with = "lenient::float")]
    pub mem: Option<f64>,
    #[serde(deserialize_with = "lenient::int")]
    pub fd: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub disk: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub disk_io: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub net: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub net_io: Option<i64>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawPolicy {
    #[serde(deserialize_with = "lenient::int")]
    pub auto_type: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub start_check_secs: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub stop_check_secs: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub start_retries: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub start_interval: Option<i64>,
    pub crontab_rule: Option<String>,
    /// A misspelling of `crontab_rule` in the GSE documents, which callers copy.
    pub crotab_rule: Option<String>,
    #[serde(deserialize_with = "lenient::int")]
    pub op_timeout: Option<i64>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawWarnReport {
    #[serde(deserialize_with = "lenient::int")]
    pub report_id: Option<i64>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawConfigFile {
    pub path: Option<String>,
    pub md5: Option<String>,
}

impl RawSpec {
    /// Validates and fills in defaults. Errors name the field relative to the spec.
    pub fn complete(self, rules: SpecRules) -> Result<Spec, Invalid> {
        let identity = self.identity.ok_or_else(|| Invalid::required("identity"))?;
        let policy = self.monitor_policy.or(self.alive_monitor_policy);
        if rules == SpecRules::Registration {
            let (resource, policy) = (self.resource.as_ref(), policy.as_ref());
            for (field, is_present) in [
                ("resource", resource.is_some()),
                ("resource.cpu", resource.is_some_and(|r| r.cpu.is_some())),
                ("resource.mem", resource.is_some_and(|r| r.mem.is_some())),
                ("monitor_policy", policy.is_some()),
                (
                    "monitor_policy.auto_type",
                    policy.is_some_and(|p| p.auto_type.is_some()),
                ),
                ("control", self.control.is_some()),
            ] {
                ensure!(is_present, field, "is required");
            }
        }
        let control = self.control.unwrap_or_default();
        let resource = self.resource.unwrap_or_default();
        let policy = policy.unwrap_or_default();
        let report_id = self
            .warn_report_policy
            .and_then(|warn| warn.report_id)
            .unwrap_or(0);
        let runtime = self.runtime.unwrap_or_default();
        let restart = self.restart.unwrap_or_default();
        let stop = self.stop.unwrap_or_default();
        let monitor_policy = policy.complete().map_err(|e| e.within("monitor_policy"))?;
        let op_timeout = monitor_policy.op_timeout;
        let schedule = self.schedule.unwrap_or_default();
        let probes = self.probes.unwrap_or_default();
        let probes = probes
            .complete(&monitor_policy)
            .map_err(|e| e.within("probes"))?;
        let has_rule = monitor_policy.auto_type == AutoType::Periodic
            && !monitor_policy.crontab_rule.is_empty();
        Ok(Spec {
            identity: identity.complete().map_err(|e| e.within("identity"))?,
            control: control.complete().map_err(|e| e.within("control"))?,
            resource: resource.complete().map_err(|e| e.within("resource"))?,
            monitor_policy,
            warn_report_policy: WarnReport { report_id },
            configmap: complete_configmap(self.configmap.unwrap_or_default())?,
            runtime: runtime.complete().map_err(|e| e.within("runtime"))?.into(),
            restart: restart.complete().map_err(|e| e.within("restart"))?.into(),
            stop: stop.complete(op_timeout).map_err(|e| e.within("stop"))?,
            schedule: schedule
                .complete(has_rule)
                .map_err(|e| e.within("schedule"))?,
            probes: probes.into(),
            after: after::complete(self.after.unwrap_or_default())?,
        })
    }

    /// The fields that query and unmanage need. Invalid values are refused, missing ones are allowed.
    pub fn probe(self) -> Result<Probe, Invalid> {
        let identity = self.identity.unwrap_or_default();
        let within = |e: Invalid| e.within("identity");
        Ok(Probe {
            proc_name: optional_file_name("proc_name", identity.proc_name).map_err(within)?,
            setup_path: optional_path("setup_path", identity.setup_path).map_err(within)?,
            pid_path: optional_path("pid_path", identity.pid_path).map_err(within)?,
            user: optional_user("user", identity.user).map_err(within)?,
            version_cmd: command("version_cmd", self.control.unwrap_or_default().version_cmd)
                .map_err(|e| e.within("control"))?,
        })
    }
}

impl RawIdentity {
    fn complete(self) -> Result<Identity, Invalid> {
        Ok(Identity {
            index_key: self.index_key.unwrap_or_default(),
            proc_name: required(
                "proc_name",
                optional_file_name("proc_name", self.proc_name)?,
            )?,
            setup_path: required("setup_path", optional_path("setup_path", self.setup_path)?)?,
            pid_path: required("pid_path", optional_path("pid_path", self.pid_path)?)?,
            config_path: optional_path("config_path", self.config_path)?,
            log_path: optional_path("log_path", self.log_path)?,
            user: required("user", optional_user("user", self.user)?)?,
        })
    }
}

impl RawCommands {
    fn complete(self) -> Result<Commands, Invalid> {
        Ok(Commands {
            start_cmd: command("start_cmd", self.start_cmd)?,
            stop_cmd: command("stop_cmd", self.stop_cmd)?,
            restart_cmd: command("restart_cmd", self.restart_cmd)?,
            reload_cmd: command("reload_cmd", self.reload_cmd)?,
            kill_cmd: command("kill_cmd", self.kill_cmd)?,
            version_cmd: command("version_cmd", self.version_cmd)?,
            health_cmd: command("health_cmd", self.health_cmd)?,
        })
    }
}

impl RawLimits {
    fn complete(self) -> Result<Limits, Invalid> {
        Ok(Limits {
            cpu: percent("cpu", self.cpu)?,
            mem: percent("mem", self.mem)?,
            fd: whole("fd", self.fd)?,
            disk: whole("disk", self.disk.or(self.disk_io))?,
            net: whole("net", self.net.or(self.net_io))?,
        })
    }
}

impl RawPolicy {
    fn complete(self) -> Result<Policy, Invalid> {
        let defaults = Policy::default();
        let auto_type = match self.auto_type {
            None => defaults.auto_type,
            Some(number) => u8::try_from(number)
                .map_err(|_| "must be 0 (periodic), 1 (resident) or 2 (one-shot)".to_owned())
                .and_then(AutoType::try_from)
                .map_err(|rule| Invalid::new("auto_type", rule))?,
        };
        let crontab_rule = [self.crontab_rule, self.crotab_rule]
            .into_iter()
            .flatten()
            .map(|rule| rule.trim().to_owned())
            .find(|rule| !rule.is_empty())
            .unwrap_or_default();
        // Only periodic processes use the rule; it is optional.
        if auto_type == AutoType::Periodic && !crontab_rule.is_empty() {
            crontab::check(&crontab_rule)?;
        }
        Ok(Policy {
            auto_type,
            start_check_secs: number("start_check_secs", self.start_check_secs)?
                .unwrap_or(defaults.start_check_secs),
            stop_check_secs: number("stop_check_secs", self.stop_check_secs)?
                .unwrap_or(defaults.stop_check_secs),
            start_retries: number("start_retries", self.start_retries)?
                .unwrap_or(defaults.start_retries),
            start_interval: number("start_interval", self.start_interval)?
                .unwrap_or(defaults.start_interval),
            crontab_rule,
            // A timeout of 0 is impossible, so it means the default.
            op_timeout: number("op_timeout", self.op_timeout)?
                .filter(|secs| *secs != 0)
                .unwrap_or(defaults.op_timeout),
        })
    }
}

fn complete_configmap(entries: Vec<Option<RawConfigFile>>) -> Result<Vec<ConfigFile>, Invalid> {
    let n_files = entries.len();
    ensure!(
        n_files <= MAX_CONFIG_FILES,
        "configmap",
        "must be at most {MAX_CONFIG_FILES} files"
    );
    let mut files = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let entry = entry.unwrap_or_default();
        let at = |e: Invalid| e.within(&format!("configmap[{index}]"));
        let path = optional_path("path", entry.path).map_err(at)?;
        let md5 = entry.md5.unwrap_or_default().trim().to_ascii_lowercase();
        if path.is_empty() && md5.is_empty() {
            continue; // The example of the GSE documents sends an empty entry.
        }
        let is_md5 = md5.len() == 32 && md5.bytes().all(|b| b.is_ascii_hexdigit());
        if !md5.is_empty() && !is_md5 {
            return Err(at(Invalid::new("md5", "must be 32 hexadecimal digits")));
        }
        files.push(ConfigFile { path, md5 });
    }
    Ok(files)
}

fn required(field: &str, text: String) -> Result<String, Invalid> {
    match text.is_empty() {
        true => Err(Invalid::required(field)),
        false => Ok(text),
    }
}

fn optional_path(field: &str, path: Option<String>) -> Result<String, Invalid> {
    let path = path.unwrap_or_default();
    if path.is_empty() {
        return Ok(path);
    }
    ensure!(path.starts_with('/'), field, "must be an absolute path");
    ensure!(
        path.len() <= MAX_PATH_LEN && !path.contains('\0'),
        field,
        "must be at most {MAX_PATH_LEN} bytes without NUL"
    );
    Ok(path)
}

fn optional_file_name(field: &str, name: Option<String>) -> Result<String, Invalid> {
    let name = name.unwrap_or_default();
    let is_path = name.contains(['/', '\0']) || matches!(name.as_str(), "." | "..");
    ensure!(
        !is_path && name.len() <= 255,
        field,
        "must be the base name of a file, without '/'"
    );
    Ok(name)
}

fn optional_user(field: &str, user: Option<String>) -> Result<String, Invalid> {
    let user = user.unwrap_or_default();
    let mut bytes = user.bytes();
    let starts_valid = bytes
        .next()
        .is_none_or(|b| b.is_ascii_alphabetic() || b == b'_');
    let rest_valid =
        bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$'));
    ensure!(
        starts_valid && rest_valid && user.len() <= 64,
        field,
        "must be a user name (a letter or '_', then letters, digits, '_', '-', '.'), not {user:?}"
    );
    Ok(user)
}

pub(super) fn command(field: &str, text: Option<String>) -> Result<String, Invalid> {
    let text = text.unwrap_or_default();
    ensure!(
        text.len() <= MAX_COMMAND_LEN && !text.contains('\0'),
        field,
        "must be at most {MAX_COMMAND_LEN} bytes without NUL"
    );
    Ok(text.trim().to_owned())
}

pub(crate) fn percent(field: &str, value: Option<f64>) -> Result<f64, Invalid> {
    let value = value.unwrap_or(0.0);
    ensure!(
        (0.0..=100.0).contains(&value),
        field,
        "must be a percentage from 0 (no limit) to 100"
    );
    Ok(value)
}

fn whole(field: &str, value: Option<i64>) -> Result<u64, Invalid> {
    u64::try_from(value.unwrap_or(0))
        .map_err(|_| Invalid::new(field, "must be 0 (no limit) or more"))
}

/// A number of seconds or retries.
fn number(field: &str, value: Option<i64>) -> Result<Option<u32>, Invalid> {
    let in_range = value.is_none_or(|n| (0..=MAX_SECS).contains(&n));
    ensure!(in_range, field, "must be from 0 to {MAX_SECS}");
    Ok(value.map(|n| n as u32))
}

/// A number between two limits.
pub(super) fn within(
    field: &str,
    value: Option<i64>,
    least: i64,
    most: i64,
) -> Result<Option<u64>, Invalid> {
    let Some(number) = value else {
        return Ok(None);
    };
    let is_unbounded = most == i64::MAX;
    ensure!(
        number >= least || !is_unbounded,
        field,
        "must be {least} or more"
    );
    ensure!(
        (least..=most).contains(&number),
        field,
        "must be from {least} to {most}"
    );
    Ok(Some(number as u64))
}

#[cfg(test)]
mod tests;
