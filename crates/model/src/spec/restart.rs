//! `spec.restart`: how long the agent waits between attempts, and when it gives up. An extension of the GSE documents.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::raw::{MAX_SECS, within};
use crate::{Invalid, lenient};

/// The factor of a back-off that names none.
pub const DEFAULT_FACTOR: f64 = 2.0;
/// The longest wait of a back-off that names none, in seconds.
pub const DEFAULT_DELAY_MAX: u32 = 300;
/// The jitter of a back-off that names none, in percent.
pub const DEFAULT_JITTER: u32 = 10;
/// A run of this many seconds counts as one that lasted.
pub const DEFAULT_RESET: u32 = 60;

const MAX_FACTOR: f64 = 100.0;

/// `spec.restart`. None means the documented default.
///
/// A spec without any of it waits `start_interval` before each attempt, as the GSE documents say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Restart {
    /// Seconds before the first attempt; `start_interval` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<u32>,
    /// Each wait is this many times the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// The longest wait, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_max: Option<u32>,
    /// A wait is shorter or longer by up to this many percent, so that hosts do not act together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<u32>,
    /// A run of this many seconds clears the count of attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<u32>,
    /// `start_retries` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub give_up: Option<GiveUp>,
}

impl Restart {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// When the agent stops trying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveUp {
    Never,
    /// After this many failed attempts in a row.
    After(u32),
}

impl GiveUp {
    const RULE: &str = "must be never, or a number of attempts";

    pub fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "never" => Ok(Self::Never),
            number => match number.parse() {
                Ok(attempts) if i64::from(attempts) <= MAX_SECS => Ok(Self::After(attempts)),
                _ => Err(format!("{} up to {MAX_SECS}, not {text:?}", Self::RULE)),
            },
        }
    }
}

impl fmt::Display for GiveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::After(attempts) => write!(f, "after {attempts} attempts"),
        }
    }
}

impl Serialize for GiveUp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Never => serializer.serialize_str("never"),
            Self::After(attempts) => serializer.serialize_u32(*attempts),
        }
    }
}

impl<'de> Deserialize<'de> for GiveUp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(i64),
            Text(String),
        }
        let form =
            Form::deserialize(deserializer).map_err(|_| serde::de::Error::custom(Self::RULE))?;
        let text = match form {
            Form::Number(number) => number.to_string(),
            Form::Text(text) => text,
        };
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawRestart {
    #[serde(deserialize_with = "lenient::int")]
    pub delay: Option<i64>,
    #[serde(deserialize_with = "lenient::float")]
    pub factor: Option<f64>,
    #[serde(deserialize_with = "lenient::int")]
    pub delay_max: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub jitter: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub reset: Option<i64>,
    pub give_up: Option<GiveUp>,
}

impl RawRestart {
    /// Validates; errors name the field relative to `restart`.
    pub(super) fn complete(self) -> Result<Restart, Invalid> {
        ensure!(
            self.factor
                .is_none_or(|factor| (1.0..=MAX_FACTOR).contains(&factor)),
            "factor",
            "must be from 1 (the same wait each time) to {MAX_FACTOR}"
        );
        let secs =
            |field, value| within(field, value, 1, MAX_SECS).map(|n| n.map(|secs| secs as u32));
        let restart = Restart {
            delay: secs("delay", self.delay)?,
            factor: self.factor,
            delay_max: secs("delay_max", self.delay_max)?,
            jitter: within("jitter", self.jitter, 0, 100)?.map(|percent| percent as u32),
            reset: secs("reset", self.reset)?,
            give_up: self.give_up,
        };
        if let (Some(delay), Some(most)) = (restart.delay, restart.delay_max) {
            ensure!(
                delay <= most,
                "delay_max",
                "must be {delay} (the first delay) or more"
            );
        }
        Ok(restart)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn complete(value: Value) -> Result<Restart, Invalid> {
        serde_json::from_value::<RawRestart>(value)
            .unwrap()
            .complete()
    }

    #[test]
    fn all_settings_round_trip_through_json() {
        let restart = complete(json!({
            "delay": "2", "factor": 1.5, "delay_max": 60, "jitter": 20, "reset": 600, "give_up": "never",
        }))
        .unwrap();
        assert_eq!((restart.delay, restart.factor), (Some(2), Some(1.5)));
        assert_eq!(restart.give_up, Some(GiveUp::Never));
        let text = serde_json::to_string(&restart).unwrap();
        assert_eq!(serde_json::from_str::<Restart>(&text).unwrap(), restart);
        assert!(complete(json!({})).unwrap().is_default());
        for written in [json!(7), json!("7")] {
            let restart = complete(json!({ "give_up": written })).unwrap();
            assert_eq!(restart.give_up, Some(GiveUp::After(7)));
            assert_eq!(
                serde_json::to_value(restart).unwrap(),
                json!({"give_up": 7})
            );
        }
    }

    #[test]
    fn each_bad_field_is_named_with_its_rule() {
        for (value, field) in [
            (json!({"delay": 0}), "delay"),
            (json!({"delay": 86_401}), "delay"),
            (json!({"factor": 0.5}), "factor"),
            (json!({"factor": 101}), "factor"),
            (json!({"delay_max": 0}), "delay_max"),
            (json!({"delay": 20, "delay_max": 10}), "delay_max"),
            (json!({"jitter": 101}), "jitter"),
            (json!({"reset": 0}), "reset"),
        ] {
            assert_eq!(complete(value.clone()).unwrap_err().field, field, "{value}");
        }
        for give_up in [json!("sometimes"), json!(-1), json!(1.5), json!([])] {
            let raw = json!({ "give_up": give_up });
            let error = serde_json::from_value::<RawRestart>(raw.clone()).unwrap_err();
            assert!(
                error.to_string().contains("must be never"),
                "{raw}: {error}"
            );
        }
    }
}
