//! `spec.schedule`: what the agent does about times of `crontab_rule` that it missed or that come while a run goes on, and
//! how far it spreads runs. An extension of the GSE documents.

use serde::{Deserialize, Serialize};

use super::raw::within;
use crate::{Invalid, lenient};

/// The longest jitter, in seconds.
pub const MAX_JITTER: i64 = 3600;
/// Of how many runs the output can be kept.
pub const MAX_HISTORY: i64 = 100;

/// `spec.schedule`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScheduleRules {
    #[serde(skip_serializing_if = "Missed::is_default")]
    pub missed: Missed,
    #[serde(skip_serializing_if = "Overlap::is_default")]
    pub overlap: Overlap,
    /// Each run begins up to this many seconds after its time.
    #[serde(skip_serializing_if = "is_zero")]
    pub jitter: u32,
    /// Of how many runs the output is kept; 0 for as many as the agent keeps of every process.
    #[serde(skip_serializing_if = "is_zero")]
    pub history: u32,
}

impl ScheduleRules {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What happens to times that passed while the agent was away or the clock was set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    #[default]
    Skip,
    /// One run makes up for all of them.
    Once,
}

impl Missed {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What happens at a time that comes while a run goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    #[default]
    Skip,
    /// The next run begins when this one has ended; one at most waits.
    Wait,
    /// The run is killed, and the next begins.
    Kill,
}

impl Overlap {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawScheduleRules {
    pub missed: Option<Missed>,
    pub overlap: Option<Overlap>,
    #[serde(deserialize_with = "lenient::int")]
    pub jitter: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub history: Option<i64>,
}

impl RawScheduleRules {
    /// Validates; errors name the field relative to `schedule`.
    pub(super) fn complete(self, has_rule: bool) -> Result<ScheduleRules, Invalid> {
        let jitter = within("jitter", self.jitter, 0, MAX_JITTER)?;
        let history = within("history", self.history, 0, MAX_HISTORY)?;
        let rules = ScheduleRules {
            missed: self.missed.unwrap_or_default(),
            overlap: self.overlap.unwrap_or_default(),
            jitter: jitter.unwrap_or(0) as u32,
            history: history.unwrap_or(0) as u32,
        };
        let field = match rules {
            rules if !rules.missed.is_default() => "missed",
            rules if !rules.overlap.is_default() => "overlap",
            rules if rules.jitter > 0 => "jitter",
            _ => "history",
        };
        ensure!(
            has_rule || rules.is_default(),
            field,
            "needs monitor_policy.auto_type 0 (periodic) and a crontab_rule"
        );
        Ok(rules)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn complete(value: Value, has_rule: bool) -> Result<ScheduleRules, Invalid> {
        serde_json::from_value::<RawScheduleRules>(value)
            .unwrap()
            .complete(has_rule)
    }

    #[test]
    fn all_settings_round_trip_through_json() {
        let given = json!({"missed": "once", "overlap": "kill", "jitter": "30", "history": 20});
        let rules = complete(given, true).unwrap();
        let text = serde_json::to_string(&rules).unwrap();
        assert_eq!(
            text,
            r#"{"missed":"once","overlap":"kill","jitter":30,"history":20}"#
        );
        assert_eq!(serde_json::from_str::<ScheduleRules>(&text).unwrap(), rules);
        for absent in [
            json!({}),
            json!({"missed": null}),
            json!({"overlap": "skip"}),
        ] {
            assert!(complete(absent, false).unwrap().is_default());
        }
    }

    #[test]
    fn each_bad_field_is_named_with_its_rule() {
        for (value, has_rule, field) in [
            (json!({"jitter": -1}), true, "jitter"),
            (json!({"jitter": 3601}), true, "jitter"),
            (json!({"jitter": 5}), false, "jitter"),
            (json!({"history": 101}), true, "history"),
            (json!({"history": 5}), false, "history"),
            (json!({"missed": "once"}), false, "missed"),
            (json!({"overlap": "wait"}), false, "overlap"),
        ] {
            let invalid = complete(value.clone(), has_rule).unwrap_err();
            assert_eq!(invalid.field, field, "{value}");
        }
        assert!(serde_json::from_value::<RawScheduleRules>(json!({"missed": "all"})).is_err());
    }
}
