//! Runtime settings beyond the GSE documents: environment, limits, priority, log rotation. All optional.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::raw::within;
use crate::{Invalid, lenient};

/// How many environment variables one process may have.
pub const MAX_VARIABLES: usize = 256;
/// The longest variable, name and value together, in bytes.
pub const MAX_VARIABLE_LEN: usize = 32 * 1024;
/// The most rotated log files that may be kept.
pub const MAX_LOG_KEEP: u32 = 100;

/// `spec.runtime`. None means the documented default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Runtime {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Open descriptors (RLIMIT_NOFILE).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nofile: Option<u64>,
    /// Core file size in bytes (RLIMIT_CORE).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<u64>,
    /// Processes of the user (RLIMIT_NPROC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nproc: Option<u64>,
    /// Stored as a number, octal digits in requests; both are read.
    #[serde(
        deserialize_with = "number_or_digits",
        skip_serializing_if = "Option::is_none"
    )]
    pub umask: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    /// Limits that the kernel enforces if the agent may create a cgroup: bytes of memory, percent of the whole machine's
    /// cpu, number of processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids_max: Option<u64>,
    /// Limits that the agent enforces itself, over the process and its descendants: open descriptors, bytes on disk under
    /// `log_path`, bytes per second over TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fd_max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes_max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_max: Option<u64>,
    /// A longer log is rotated; `log_keep` rotated files are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_max_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_keep: Option<u32>,
}

impl Runtime {
    /// The umask as octal digits.
    pub(super) fn umask_digits(&self) -> Option<String> {
        self.umask.map(|umask| format!("{umask:03o}"))
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawRuntime {
    #[serde(deserialize_with = "lenient::labels")]
    pub env: BTreeMap<String, String>,
    #[serde(deserialize_with = "lenient::int")]
    pub nofile: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub core: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub nproc: Option<i64>,
    /// Octal digits, as the shell's `umask` takes them.
    pub umask: Option<String>,
    #[serde(deserialize_with = "lenient::int")]
    pub nice: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub memory_max: Option<i64>,
    #[serde(deserialize_with = "lenient::float")]
    pub cpu_max: Option<f64>,
    #[serde(deserialize_with = "lenient::int")]
    pub pids_max: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub fd_max: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub log_bytes_max: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub net_max: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub log_max_bytes: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub log_keep: Option<i64>,
}

impl RawRuntime {
    /// Validates; errors name the field relative to `runtime`.
    pub(super) fn complete(self) -> Result<Runtime, Invalid> {
        check_env(&self.env)?;
        ensure!(
            self.cpu_max
                .is_none_or(|percent| percent > 0.0 && percent <= 100.0),
            "cpu_max",
            "must be a percentage above 0, at most 100"
        );
        ensure!(
            self.nice.is_none_or(|nice| (-20..=19).contains(&nice)),
            "nice",
            "must be from -20 to 19"
        );
        Ok(Runtime {
            env: self.env,
            nofile: within("nofile", self.nofile, 1, 1 << 30)?,
            core: within("core", self.core, 0, i64::MAX)?,
            nproc: within("nproc", self.nproc, 1, 1 << 30)?,
            umask: self.umask.as_deref().map(parse_umask).transpose()?,
            nice: self.nice.map(|nice| nice as i32),
            memory_max: within("memory_max", self.memory_max, 1 << 20, i64::MAX)?,
            cpu_max: self.cpu_max,
            pids_max: within("pids_max", self.pids_max, 1, 1 << 22)?,
            fd_max: within("fd_max", self.fd_max, 1, i64::MAX)?,
            log_bytes_max: within("log_bytes_max", self.log_bytes_max, 1, i64::MAX)?,
            net_max: within("net_max", self.net_max, 1, i64::MAX)?,
            log_max_bytes: within("log_max_bytes", self.log_max_bytes, 1 << 12, i64::MAX)?,
            log_keep: within("log_keep", self.log_keep, 0, i64::from(MAX_LOG_KEEP))?
                .map(|keep| keep as u32),
        })
    }
}

fn check_env(env: &BTreeMap<String, String>) -> Result<(), Invalid> {
    let n_variables = env.len();
    ensure!(
        n_variables <= MAX_VARIABLES,
        "env",
        "must be at most {MAX_VARIABLES} variables"
    );
    for (name, value) in env {
        let starts_valid = name
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        let rest_valid = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        ensure!(
            starts_valid && rest_valid,
            format!("env.{}", name.chars().take(40).collect::<String>()),
            "must be named by letters, digits and '_', not a digit first"
        );
        let field = || format!("env.{name}");
        ensure!(
            !name.starts_with("MUSTER_"),
            field(),
            "is a name that the agent sets itself"
        );
        ensure!(
            !value.contains('\0') && name.len() + value.len() <= MAX_VARIABLE_LEN,
            field(),
            "must be at most {MAX_VARIABLE_LEN} bytes without NUL"
        );
    }
    Ok(())
}

fn number_or_digits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Umask {
        Number(u32),
        Digits(String),
    }
    match Option::<Umask>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Umask::Number(umask)) => Ok(Some(umask)),
        Some(Umask::Digits(text)) => parse_umask(&text)
            .map(Some)
            .map_err(serde::de::Error::custom),
    }
}

fn parse_umask(text: &str) -> Result<u32, Invalid> {
    u32::from_str_radix(text.trim(), 8)
        .ok()
        .filter(|umask| *umask <= 0o777)
        .ok_or_else(|| {
            let rule = format!("must be octal digits up to 777, not {text:?}");
            Invalid::new("umask", rule)
        })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn complete(value: Value) -> Result<Runtime, Invalid> {
        serde_json::from_value::<RawRuntime>(value)
            .unwrap()
            .complete()
    }

    #[test]
    fn all_settings_round_trip_through_json() {
        let runtime = complete(json!({
            "env": {"PORT": 80, "DEBUG": true}, "nofile": "65536", "core": 0, "nproc": 100, "umask": "027", "nice": -5,
            "memory_max": 1 << 30, "cpu_max": 50, "pids_max": 10, "log_max_bytes": 1 << 20, "log_keep": 3,
            "fd_max": 500, "log_bytes_max": "1000000", "net_max": 2000,
        }))
        .unwrap();
        assert_eq!(runtime.env["PORT"], "80");
        assert_eq!(
            (runtime.nofile, runtime.umask, runtime.nice),
            (Some(65_536), Some(0o27), Some(-5))
        );
        assert_eq!(
            (runtime.fd_max, runtime.log_bytes_max, runtime.net_max),
            (Some(500), Some(1_000_000), Some(2000))
        );
        let text = serde_json::to_string(&runtime).unwrap();
        assert_eq!(serde_json::from_str::<Runtime>(&text).unwrap(), runtime);
        assert_eq!(complete(json!({})).unwrap(), Runtime::default());
    }

    #[test]
    fn a_umask_is_stored_as_a_number_and_read_as_digits_too() {
        let stored: Runtime = serde_json::from_value(json!({"umask": 0o27})).unwrap();
        assert_eq!(stored.umask_digits().as_deref(), Some("027"));
        let written: Runtime = serde_json::from_value(json!({"umask": "027"})).unwrap();
        assert_eq!(written, stored);
        assert_eq!(complete(json!({"umask": "027"})).unwrap(), stored);
        assert_eq!(
            serde_json::to_value(&written).unwrap(),
            json!({"umask": 0o27})
        );
        assert!(serde_json::from_value::<Runtime>(json!({"umask": "8"})).is_err());
    }

    #[test]
    fn each_bad_field_is_named_with_its_rule() {
        for (value, field) in [
            (json!({"env": {"1X": "a"}}), "env.1X"),
            (json!({"env": {"MUSTER_NAME": "a"}}), "env.MUSTER_NAME"),
            (json!({"nofile": 0}), "nofile"),
            (json!({"umask": "0999"}), "umask"),
            (json!({"nice": 20}), "nice"),
            (json!({"memory_max": 5}), "memory_max"),
            (json!({"cpu_max": 0}), "cpu_max"),
            (json!({"log_keep": 1000}), "log_keep"),
            (json!({"fd_max": 0}), "fd_max"),
            (json!({"log_bytes_max": -1}), "log_bytes_max"),
            (json!({"net_max": 0}), "net_max"),
        ] {
            assert_eq!(complete(value.clone()).unwrap_err().field, field, "{value}");
        }
    }
}
