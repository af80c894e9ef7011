//! `spec.stop`: the signals that stop a process, how long the agent waits after each, and then SIGKILL. An extension of the
//! GSE documents.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::raw::{MAX_SECS, within};
use crate::{Invalid, lenient};

/// The wait after each signal of a spec that names none, in seconds.
pub const DEFAULT_GRACE: u32 = 10;
/// How many signals a spec may name.
pub const MAX_SIGNALS: usize = 8;

/// `spec.stop`. A spec without any of it sends SIGTERM and waits until `op_timeout`, and kills nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stop {
    /// In this order; SIGTERM if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<StopSignal>,
    /// Seconds after each signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace: Option<u32>,
}

impl Stop {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The signals to send, in order.
    pub fn sequence(&self) -> &[StopSignal] {
        match self.signals.as_slice() {
            [] => &[StopSignal::Term],
            signals => signals,
        }
    }

    pub fn grace_secs(&self) -> u32 {
        self.grace.unwrap_or(DEFAULT_GRACE)
    }
}

/// A signal that programs take as a request to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StopSignal {
    Hup,
    Int,
    Quit,
    Abrt,
    Usr1,
    Usr2,
    Alrm,
    Term,
    Winch,
    Pwr,
}

impl StopSignal {
    pub const ALL: [Self; 10] = [
        Self::Hup,
        Self::Int,
        Self::Quit,
        Self::Abrt,
        Self::Usr1,
        Self::Usr2,
        Self::Alrm,
        Self::Term,
        Self::Winch,
        Self::Pwr,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hup => "SIGHUP",
            Self::Int => "SIGINT",
            Self::Quit => "SIGQUIT",
            Self::Abrt => "SIGABRT",
            Self::Usr1 => "SIGUSR1",
            Self::Usr2 => "SIGUSR2",
            Self::Alrm => "SIGALRM",
            Self::Term => "SIGTERM",
            Self::Winch => "SIGWINCH",
            Self::Pwr => "SIGPWR",
        }
    }

    /// `SIGQUIT`, `QUIT`, `quit`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let upper = text.trim().to_ascii_uppercase();
        let short = upper.strip_prefix("SIG").unwrap_or(&upper);
        let found = Self::ALL
            .into_iter()
            .find(|signal| &signal.as_str()[3..] == short);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            format!("must be one of {known}, not {text:?}")
        })
    }
}

impl fmt::Display for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for StopSignal {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<StopSignal> for String {
    fn from(signal: StopSignal) -> Self {
        signal.as_str().to_owned()
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawStop {
    pub signals: Option<Vec<StopSignal>>,
    #[serde(deserialize_with = "lenient::int")]
    pub grace: Option<i64>,
}

impl RawStop {
    /// Validates; errors name the field relative to `stop`. All signals must have their turn before `op_timeout`.
    pub(super) fn complete(self, op_timeout: u32) -> Result<Stop, Invalid> {
        let signals = self.signals.unwrap_or_default();
        ensure!(
            signals.len() <= MAX_SIGNALS,
            "signals",
            "must be at most {MAX_SIGNALS} signals"
        );
        let grace = within("grace", self.grace, 1, MAX_SECS)?.map(|secs| secs as u32);
        let stop = Stop { signals, grace };
        let n_signals = stop.sequence().len() as u64;
        ensure!(
            stop.is_default() || n_signals * u64::from(stop.grace_secs()) <= u64::from(op_timeout),
            "grace",
            "{} s for each of {n_signals} signals must fit into monitor_policy.op_timeout, which is {op_timeout} s",
            stop.grace_secs()
        );
        Ok(stop)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn complete(value: Value) -> Result<Stop, Invalid> {
        serde_json::from_value::<RawStop>(value)
            .unwrap()
            .complete(60)
    }

    #[test]
    fn all_settings_round_trip_through_json() {
        let stop =
            complete(json!({"signals": ["quit", "SIGTERM", "Winch"], "grace": "20"})).unwrap();
        let text = serde_json::to_string(&stop).unwrap();
        assert_eq!(
            text,
            r#"{"signals":["SIGQUIT","SIGTERM","SIGWINCH"],"grace":20}"#
        );
        assert_eq!(serde_json::from_str::<Stop>(&text).unwrap(), stop);
        assert!(complete(json!({"signals": null})).unwrap().is_default());
        let plain = complete(json!({"grace": 5})).unwrap();
        assert_eq!(plain.sequence(), [StopSignal::Term]);
        assert_eq!(
            complete(json!({"signals": ["INT"]})).unwrap().grace_secs(),
            10
        );
    }

    #[test]
    fn each_bad_field_is_named_with_its_rule() {
        for (value, field) in [
            (json!({"grace": 0}), "grace"),
            (json!({"grace": 61}), "grace"),
            (json!({"signals": ["QUIT", "TERM"], "grace": 31}), "grace"),
            (json!({"signals": vec!["TERM"; 9], "grace": 1}), "signals"),
        ] {
            assert_eq!(complete(value.clone()).unwrap_err().field, field, "{value}");
        }
        for signal in ["KILL", "STOP", "", "15"] {
            let raw = json!({"signals": [signal]});
            let error = serde_json::from_value::<RawStop>(raw).unwrap_err();
            assert!(
                error.to_string().contains("must be one of SIGHUP"),
                "{error}"
            );
        }
    }
}
