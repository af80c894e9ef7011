//! Operations on processes: kinds, ids, result codes and outcomes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::status::Exit;
use crate::{Flag, Invalid, UnixMillis};

/// How many bytes of a command's output are kept, from its end.
pub const MAX_OUTPUT: usize = 64 * 1024;
/// How long the server waits for a result beyond the limits of the operation itself.
pub const GRACE_SECS: u32 = 30;

/// The kinds of operations. The numbers are `op_type` of the API; 5 and 6 do not exist.
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

variant_names!(Op, as_str, {
    Start = "start",
    Stop = "stop",
    Query = "query",
    Manage = "manage",
    Unmanage = "unmanage",
    Restart = "restart",
    Reload = "reload",
    Kill = "kill",
});

impl Op {
    pub fn number(self) -> u8 {
        self as u8
    }

    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|op| i64::from(op.number()) == number)
    }

    /// Whether it stores the spec. Query and unmanage do not, so a partial spec is enough for them.
    pub fn stores_spec(self) -> bool {
        !matches!(self, Self::Query | Self::Unmanage)
    }

    /// The longest time that an agent may take for it, by the policy of the process.
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

    /// Time in the high bits, random in the low bits: sorted by time, and unique even after a backup was restored.
    pub fn new(now: UnixMillis, random: u32) -> Self {
        const RANDOM_BITS: u32 = 21;
        let millis = now.0.clamp(0, (1 << 42) - 1) as u64;
        Self(millis << RANDOM_BITS | u64::from(random >> (u32::BITS - RANDOM_BITS)))
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
                let rule = "must be an id that an operate call answered (GSETASK:…)";
                Invalid::new("task_id", rule)
            })
    }
}

string_conversions!(TaskId, TaskId::from_str, |id: TaskId| id.to_string());

/// One target of a task. An agent executes it at most once.
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

/// The result code of one key, in the numbering of GSE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code(pub i32);

impl Code {
    pub const OK: Self = Self(0);
    /// Still running: the caller polls again.
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
    /// The part of the request for this key is invalid.
    pub const INVALID: Self = Self(1_000_400);

    /// Whether the process is as the caller asked: the operation succeeded, or it was so before.
    pub fn is_as_asked(self) -> bool {
        matches!(self, Self::OK | Self::ALREADY_RUNNING | Self::NOT_RUNNING)
    }

    /// Every code with its meaning, for the reference in docs.
    pub const MEANINGS: [(Self, &'static str); 12] = [
        (Self::OK, "succeeded"),
        (Self::HANDLING, "in progress: poll again"),
        (
            Self::NO_CONNECTION,
            "the agent is not connected; the operation is not queued",
        ),
        (
            Self::TERMINATED,
            "no result by the deadline (`op_timeout` + checks + 30 s); a late result replaces it",
        ),
        (Self::ALREADY_RUNNING, "start: the process already runs"),
        (Self::NOT_RUNNING, "stop or kill: the process does not run"),
        (Self::UNKNOWN_OP, "the operation is none that exists"),
        (
            Self::CHECK_FAILED,
            "the check after the command failed; the message begins with `start` or `stop`",
        ),
        (Self::EXISTS, "already registered with a different spec"),
        (Self::NOT_REGISTERED, "not registered"),
        (
            Self::COMMAND_FAILED,
            "the command failed; the message is its output",
        ),
        (
            Self::INVALID,
            "the part of the request for this key is invalid",
        ),
    ];
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The result of one target. Exists once the target has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub code: Code,
    pub message: String,
    /// The line of the message that names the error, if the message is the output of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// What is wrong although the operation itself went well: its log cannot be used. Not shown by the GSE dialects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    pub ended_at: UnixMillis,
    /// From the request until the server got the result: waiting, command and checks. Set by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// The new desired state, if the operation changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed: Option<bool>,
    /// The executed command, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<CommandRun>,
    /// The result of a query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<Box<ProcessInspection>>,
    /// The process at the time of the outcome: its spec may change later, the outcome does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Box<OutcomeSubject>>,
}

impl Outcome {
    /// An outcome without a command: refused, unreachable, already in that state.
    pub fn plain(code: Code, message: impl Into<String>, ended_at: UnixMillis) -> Self {
        Self {
            code,
            message: message.into(),
            headline: None,
            warning: None,
            ended_at,
            took_ms: None,
            flag: None,
            managed: None,
            ran: None,
            instance: None,
            subject: None,
        }
    }
}

/// Facts about the process of an outcome, stored with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutcomeSubject {
    /// The binary; empty if unknown.
    pub proc_name: String,
    pub setup_path: String,
    /// `NEVER` if it was not registered.
    pub registered_at: UnixMillis,
    pub managed: bool,
}

/// A command that was executed on the host, and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    pub command: String,
    /// None if it was still running at the check, or if its exit code was lost.
    pub exit: Option<Exit>,
    pub duration_ms: u64,
    /// The last [`MAX_OUTPUT`] bytes of both streams, as text.
    pub output: String,
}

/// The live state of one process on its host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessInspection {
    /// −1 if it does not run; the other fields are then empty.
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
    /// Bytes under `log_path`; −1 if unknown.
    pub disk: i64,
    /// Free memory of the host in KiB.
    pub free_kib: u64,
    /// The state letter of `/proc/PID/stat`.
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
    fn task_ids_parse_from_their_display_and_sort_by_time() {
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
    fn an_outcome_round_trips_through_json() {
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
