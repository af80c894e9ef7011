//! How a job goes about its tasks: batches, pauses, failures, gates, order.

use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::config_template::TemplateId;

/// The unit within which a failure blocks later tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    #[default]
    Business,
    Set,
    Module,
    Host,
}

/// How a job executes its tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobOptions {
    pub isolation: Isolation,
    /// Tasks at a time; none means all of one priority.
    pub batch_size: Option<u32>,
    /// Up to this many failures do not block later tasks.
    pub max_failures: u32,
    /// Result codes that count as ignored instead of failed.
    pub ignore_error_codes: Vec<i64>,
    /// Between two batches.
    pub pause_secs: u32,
    /// Tasks of the first batch of each unit; if one of them fails, nothing more begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canary: Option<u32>,
    /// What the process of a task must show after its operation, before the task has succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// None: by priority, as the action has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<TaskOrder>,
    /// For config files: only these templates; empty means all that are bound.
    pub config_template_ids: Vec<TemplateId>,
    /// Of an update: past its failures, hosts that were changed get back what they had.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub revert: bool,
    /// What to do to a process after its files were released.
    pub after_release: Option<AfterRelease>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterRelease {
    Restart,
    Reload,
}

/// The size of the batches of a job, as a caller asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSize {
    Tasks(u32),
    /// Of all tasks of the job, from 1 to 100.
    Percent(u32),
}

impl BatchSize {
    /// A number, or a text such as `10%`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let size = match text.strip_suffix('%') {
            Some(percent) => percent
                .trim_end()
                .parse()
                .ok()
                .filter(|percent| (1..=100).contains(percent))
                .map(Self::Percent),
            None => text.parse().ok().filter(|n| *n >= 1).map(Self::Tasks),
        };
        size.ok_or_else(|| {
            let rule = format!(
                "must be a whole number from 1, or a share such as 10% (1% to 100%), not {text:?}"
            );
            Invalid::new("batch_size", rule)
        })
    }

    /// The number of tasks at a time in a job of so many. A share is rounded up.
    pub fn of(self, n_tasks: usize) -> u32 {
        match self {
            Self::Tasks(n) => n,
            Self::Percent(percent) => {
                let share = (n_tasks as u64 * u64::from(percent)).div_ceil(100);
                u32::try_from(share).unwrap_or(u32::MAX).max(1)
            }
        }
    }
}

/// A process must be in a state for some time without a restart. Written as `up:30s` or `ready:30s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Gate {
    pub state: GateState,
    pub secs: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GateState {
    /// It runs.
    Up,
    /// It runs, its start check is over, no check says that it is unhealthy, and its ready probe succeeds, if it has one.
    Ready,
}

impl GateState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Ready => "ready",
        }
    }
}

impl Gate {
    const MAX_SECS: u64 = 24 * 3600;

    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let refused = || {
            let rule = format!(
                "must be up or ready, a colon and a time up to a day, such as ready:30s, not {text:?}"
            );
            Invalid::new("gate", rule)
        };
        let (state, time) = text.trim().split_once(':').ok_or_else(refused)?;
        let state = [GateState::Up, GateState::Ready]
            .into_iter()
            .find(|known| known.as_str() == state)
            .ok_or_else(refused)?;
        let secs = secs_of(time)
            .filter(|secs| *secs <= Self::MAX_SECS)
            .ok_or_else(refused)?;
        Ok(Self {
            state,
            secs: secs as u32,
        })
    }
}

/// `30s`, `5m`, `2h` or `30`.
fn secs_of(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

impl std::fmt::Display for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}s", self.state.as_str(), self.secs)
    }
}

impl TryFrom<String> for Gate {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(&text)
    }
}

impl From<Gate> for String {
    fn from(gate: Gate) -> Self {
        gate.to_string()
    }
}

/// The order of the tasks of a job, where the caller chooses it. Written as `priority`, `host` or `label:KEY`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TaskOrder {
    /// As the action has it: low or high priorities first.
    Priority,
    /// By cloud area and address.
    Host,
    /// All processes with one value of this label, then those with the next; processes without the label come last.
    Label(String),
}

impl TaskOrder {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        match text.split_once(':') {
            None if text == "priority" => Ok(Self::Priority),
            None if text == "host" => Ok(Self::Host),
            Some(("label", key)) if !key.is_empty() => Ok(Self::Label(key.to_owned())),
            _ => {
                let rule = format!("must be priority, host or label:KEY, not {text:?}");
                Err(Invalid::new("order", rule))
            }
        }
    }
}

impl std::fmt::Display for TaskOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Priority => f.write_str("priority"),
            Self::Host => f.write_str("host"),
            Self::Label(key) => write!(f, "label:{key}"),
        }
    }
}

impl TryFrom<String> for TaskOrder {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(&text)
    }
}

impl From<TaskOrder> for String {
    fn from(order: TaskOrder) -> Self {
        order.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_a_number_or_a_share() {
        assert_eq!(BatchSize::parse("7").unwrap().of(1000), 7);
        for (text, n_tasks, size) in [
            ("10%", 100, 10),
            (" 10 % ", 101, 11),
            ("1%", 3, 1),
            ("100%", 3, 3),
            ("50%", 0, 1),
        ] {
            assert_eq!(
                BatchSize::parse(text).unwrap().of(n_tasks),
                size,
                "{text} of {n_tasks}"
            );
        }
        for bad in [
            "",
            "0",
            "0%",
            "101%",
            "-1",
            "1.5%",
            "ten",
            "%",
            "99999999999",
        ] {
            assert_eq!(BatchSize::parse(bad).unwrap_err().field, "batch_size");
        }
    }

    #[test]
    fn a_gate_is_a_state_and_a_time() {
        for (text, state, secs, shown) in [
            ("ready:30s", GateState::Ready, 30, "ready:30s"),
            ("up:2m", GateState::Up, 120, "up:120s"),
            (" up:0 ", GateState::Up, 0, "up:0s"),
            ("ready:1d", GateState::Ready, 86_400, "ready:86400s"),
        ] {
            let gate = Gate::parse(text).unwrap();
            assert_eq!(gate, Gate { state, secs });
            assert_eq!(gate.to_string(), shown);
            assert_eq!(Gate::parse(shown).unwrap(), gate);
        }
        for bad in [
            "",
            "ready",
            "30s",
            "live:3s",
            "up:",
            "up:-1s",
            "up:2d",
            "up:3 s",
            "up:x",
            "up:99999999999999999999s",
        ] {
            assert_eq!(Gate::parse(bad).unwrap_err().field, "gate", "{bad}");
        }
    }

    #[test]
    fn an_order_is_read_back() {
        for text in ["priority", "host", "label:zone", "label:a:b"] {
            assert_eq!(TaskOrder::parse(text).unwrap().to_string(), text);
        }
        for bad in ["", "label", "label:", "name", "host:1"] {
            assert_eq!(TaskOrder::parse(bad).unwrap_err().field, "order", "{bad}");
        }
    }

    #[test]
    fn options_of_earlier_versions_are_read() {
        let old: JobOptions = serde_json::from_str(r#"{"batch_size":3,"pause_secs":1}"#).unwrap();
        assert_eq!((old.canary, old.gate, &old.order), (None, None, &None));
        let json = serde_json::to_value(&old).unwrap();
        assert!(json.get("gate").is_none(), "{json}");
        let new = JobOptions {
            canary: Some(1),
            gate: Some(Gate::parse("up:5s").unwrap()),
            order: Some(TaskOrder::Host),
            ..old
        };
        let json = serde_json::to_value(&new).unwrap();
        assert_eq!(
            (&json["gate"], &json["order"]),
            (&"up:5s".into(), &"host".into())
        );
        assert_eq!(serde_json::from_value::<JobOptions>(json).unwrap(), new);
    }
}
