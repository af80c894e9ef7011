//! Operations on processes: what can be asked, how it is named, and how it ends.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::status::Exit;
use crate::{Flag, Invalid, UnixMillis};

/// How much of a command's output is kept: the last part of it.
pub const MAX_OUTPUT: usize = 64 * 1024;
/// How long a target may be silent after its own limits have passed before it is called terminated.
pub const GRACE_SECS: u32 = 30;

/// What an operator can ask for. The numbers are the API's `op_type`; 5 and 6 do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    Start = 0,
    Stop = 1,
    Query = 2,
    Manage = 3,
    Unmanage = 4,
    Restart = 7,
    Reload = 8,
    Kill = 9,
}

impl Op {
    pub const ALL: [Self; 8] = [
        Self::Start,
        Self::Stop,
        Self::Query,
        Self::Manage,
        Self::Unmanage,
        Self::Restart,
        Self::Reload,
        Self::Kill,
    ];

    pub fn number(self) -> u8 {
        self as u8
    }

    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|op| i64::from(op.number()) == number)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Query => "query",
            Self::Manage => "manage",
            Self::Unmanage => "unmanage",
            Self::Restart => "restart",
            Self::Reload => "reload",
            Self::Kill => "kill",
        }
    }

    /// Query and unmanage store nothing, so a partial spec is enough for them.
    pub fn stores_spec(self) -> bool {
        !matches!(self, Self::Query | Self::Unmanage)
    }

    /// The longest that an agent may take over it, by the process's own policy.
    pub fn max_secs(self, policy: &crate::spec::Policy) -> u32 {
        let start = policy.op_timeout.saturating_add(policy.start_check_secs);
        let stop = policy.op_timeout.saturating_add(policy.stop_check_secs);
        match self {
            Self::Query | Self::Unmanage => 10,
            Self::Start | Self::Manage => start,
            Self::Stop | Self::Kill => stop,
            Self::Reload => policy.op_timeout,
            Self::Restart => start.saturating_add(stop),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One operation request. Written `GSETASK:` and sixteen hexadecimal digits; opaque to callers, ordered by time.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct TaskId(u64);

impl TaskId {
    const PREFIX: &str = "GSETASK:";

    /// Milliseconds above, chance below: ordered by time, and not to be had again even after a restored backup.
    pub fn new(now: UnixMillis, random: u32) -> Self {
        const CHANCE_BITS: u32 = 21;
        let millis = now.0.clamp(0, (1 << 42) - 1) as u64;
        Self(millis << CHANCE_BITS | u64::from(random >> (u32::BITS - CHANCE_BITS)))
    }

    pub fn from_number(number: u64) -> Self {
        Self(number)
    }

    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:016X}", Self::PREFIX, self.0)
    }
}

impl FromStr for TaskId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Invalid::required("task_id"));
        }
        text.strip_prefix(Self::PREFIX)
            .filter(|digits| digits.len() == 16)
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .filter(|number| *number <= i64::MAX as u64)
            .map(Self)
            .ok_or_else(|| {
                Invalid::new(
                    "task_id",
                    "must be an id that an operate call answered (GSETASK:…)",
                )
            })
    }
}

impl TryFrom<String> for TaskId {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> Self {
        id.to_string()
    }
}

/// One target of a task: what an agent executes at most once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OpId {
    pub task: TaskId,
    pub ordinal: u32,
}

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.task, self.ordinal)
    }
}

/// The result code of one key, as GSE clients know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code(pub i32);

impl Code {
    pub const OK: Self = Self(0);
    /// Still going on: ask again.
    pub const HANDLING: Self = Self(115);
    pub const NO_CONNECTION: Self = Self(117);
    pub const TERMINATED: Self = Self(126);
    pub const ALREADY_RUNNING: Self = Self(828);
    pub const NOT_RUNNING: Self = Self(829);
    pub const UNKNOWN_OP: Self = Self(832);
    pub const CHECK_FAILED: Self = Self(836);
    pub const EXISTS: Self = Self(850);
    pub const NOT_REGISTERED: Self = Self(851);
    pub const COMMAND_FAILED: Self = Self(65535);
    /// This key's own part of the request is wrong.
    pub const INVALID: Self = Self(1_000_400);
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// How one target ended. Exists only once it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub code: Code,
    pub message: String,
    pub ended_at: UnixMillis,
    /// What is wanted from now on, where the operation changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed: Option<bool>,
    /// The command that ran, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<CommandRun>,
    /// What a query saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<Box<ProcessInspection>>,
    /// What the process was when this was written down: its spec may change later, how it ended does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Box<OutcomeSubject>>,
}

impl Outcome {
    /// An end without a command: refused, unreachable, already so.
    pub fn plain(code: Code, message: impl Into<String>, ended_at: UnixMillis) -> Self {
        Self {
            code,
            message: message.into(),
            ended_at,
            flag: None,
            managed: None,
            ran: None,
            instance: None,
            subject: None,
        }
    }
}

/// What a result says of its process beside how the operation went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutcomeSubject {
    /// The binary; empty where nobody knows it.
    pub proc_name: String,
    pub setup_path: String,
    /// Never, where it was not registered.
    pub registered_at: UnixMillis,
    pub managed: bool,
}

/// What was executed on the host, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    pub command: String,
    /// None when it was still running at the check, or when nobody could ask.
    pub exit: Option<Exit>,
    pub duration_ms: u64,
    /// The last [`MAX_OUTPUT`] bytes of both streams, as text.
    pub output: String,
}

/// One process as a live look at the host shows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessInspection {
    /// −1 when nothing runs; the rest is then empty.
    pub pid: i32,
    pub cmdline: String,
    pub version: String,
    pub health: String,
    pub managed: bool,
    /// Percent of the whole machine, over the last sampling period and over the life of the run.
    pub cpu: f64,
    pub cpu_average: f64,
    pub mem: f64,
    /// Resident memory in KiB.
    pub rss_kib: u64,
    /// Bytes under `log_path`; −1 when not known.
    pub disk: i64,
    /// Memory that the host has left, in KiB.
    pub free_kib: u64,
    /// The letter of `/proc/PID/stat`.
    pub stat: String,
    pub utime_ticks: u64,
    pub stime_ticks: u64,
    pub threads: u32,
    pub elapsed_secs: u64,
    pub started_at: UnixMillis,
    pub looked_at: UnixMillis,
    /// The host's offset from UTC.
    pub utc_offset_secs: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn op_types_are_the_api_numbers() {
        let numbers: Vec<i64> = (-1..12).filter(|n| Op::from_number(*n).is_some()).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 7, 8, 9]);
    }

    #[test]
    fn task_ids_read_back_what_they_print_and_sort_by_time() {
        let early = TaskId::new(UnixMillis(1_700_000_000_000), u32::MAX);
        let late = TaskId::new(UnixMillis(1_700_000_000_001), 0);
        assert!(early < late);
        assert_eq!(early.to_string().parse::<TaskId>().unwrap(), early);
        for bad in [
            "",
            "GSETASK:",
            "GSETASK:12",
            "12",
            "GSETASK:FFFFFFFFFFFFFFFF",
            "GSETASK:zzzzzzzzzzzzzzzz",
        ] {
            assert!(bad.parse::<TaskId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn outcomes_read_back_what_they_store() {
        let outcome = Outcome {
            flag: Some(Flag::Running),
            managed: Some(true),
            ran: Some(CommandRun {
                command: "x".into(),
                exit: Some(Exit::Code(0)),
                duration_ms: 5,
                output: "out".into(),
            }),
            ..Outcome::plain(Code::OK, "success", UnixMillis(5))
        };
        let text = serde_json::to_string(&outcome).unwrap();
        assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome);
    }
}
