//! Desired and observed state of a process.

use serde::{Deserialize, Serialize};

use crate::{Invalid, UnixMillis};

/// The desired state. The numbers are those of the API.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Flag {
    #[default]
    Unregistered = 0,
    Running = 1,
    Stopped = 2,
}

impl TryFrom<u8> for Flag {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        match number {
            0 => Ok(Self::Unregistered),
            1 => Ok(Self::Running),
            2 => Ok(Self::Stopped),
            other => Err(format!("{other} is no flag: 0, 1 or 2")),
        }
    }
}

impl Flag {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unregistered => "unregistered",
            Self::Running => "running",
            Self::Stopped => "stopped",
        }
    }
}

impl From<Flag> for u8 {
    fn from(flag: Flag) -> Self {
        flag as u8
    }
}

/// The observed state as the GSE dialects count it: whether there is a live run. [`ProcessState`] says more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// No agent has reported it yet.
    #[default]
    Unknown,
    Running,
    Stopped,
}

impl State {
    /// The number of the GSE dialects: 0 unregistered or never reported, 1 running, 2 stopped.
    pub fn number(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Running => 1,
            Self::Stopped => 2,
        }
    }

    pub fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Running,
            2 => Self::Stopped,
            _ => Self::Unknown,
        }
    }
}

/// The observed state as the native API shows it. The discriminants are those of frames and snapshots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// No agent has reported it yet, or its agent is not connected.
    #[default]
    Unknown = 0,
    Running = 1,
    /// An operation, the agent or its schedule is starting it, and its start check is not over.
    Starting = 2,
    /// It runs, and its health check fails.
    Unhealthy = 3,
    /// It ended, and the agent waits before it starts it again.
    Backoff = 4,
    /// It ended or did not start, and the agent does not start it again.
    Failed = 5,
    Stopped = 6,
    /// A one-shot or periodic program that ran to its end with success.
    Completed = 7,
    /// A periodic program that waits for its next run.
    Scheduled = 8,
    /// It runs, and its ready probe succeeds. Only processes with such a probe come into it.
    Ready = 9,
}

impl ProcessState {
    /// In the order of the documentation.
    pub const ALL: [Self; 10] = [
        Self::Running,
        Self::Ready,
        Self::Starting,
        Self::Unhealthy,
        Self::Backoff,
        Self::Failed,
        Self::Stopped,
        Self::Completed,
        Self::Scheduled,
        Self::Unknown,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Running => "running",
            Self::Starting => "starting",
            Self::Unhealthy => "unhealthy",
            Self::Backoff => "backoff",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Completed => "completed",
            Self::Scheduled => "scheduled",
            Self::Ready => "ready",
        }
    }

    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| {
            let words = Self::ALL.map(Self::as_str).join(", ");
            Invalid::new("state", format!("must be one of {words}, not {text:?}"))
        })
    }

    pub fn number(self) -> u8 {
        self as u8
    }

    /// A number of a later version is unknown.
    pub fn from_number(number: u8) -> Self {
        let found = Self::ALL.into_iter().find(|state| state.number() == number);
        found.unwrap_or_default()
    }

    /// What an agent that reports no more than [`State`] says.
    pub fn or_from(self, state: State) -> Self {
        match (self, state) {
            (Self::Unknown, State::Running) => Self::Running,
            (Self::Unknown, State::Stopped) => Self::Stopped,
            (known, _) => known,
        }
    }

    /// Its place in a list that is sorted by state: what needs attention comes first.
    pub fn rank(self) -> u8 {
        match self {
            Self::Failed => 0,
            Self::Unhealthy => 1,
            Self::Backoff => 2,
            Self::Unknown => 3,
            Self::Starting => 4,
            Self::Running => 5,
            Self::Ready => 6,
            Self::Scheduled => 7,
            Self::Completed => 8,
            Self::Stopped => 9,
        }
    }
}

/// How the last run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastExit {
    pub exit: Exit,
    pub at: UnixMillis,
    /// The kernel killed it because memory was short.
    #[serde(default)]
    pub oom: bool,
    /// Its memory then, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<OomMemory>,
    /// It ended because its host was restarted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub host_restarted: bool,
}

impl LastExit {
    /// An end that the kernel's memory killer did not cause.
    pub fn new(exit: Exit, at: UnixMillis) -> Self {
        Self {
            exit,
            at,
            oom: false,
            memory: None,
            host_restarted: false,
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

/// The memory of a run that the kernel killed because memory was short, in bytes. 0 means not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OomMemory {
    /// The most that it used.
    pub used: u64,
    /// The limit of its control group; 0 also if it has none: the host had no memory left.
    pub limit: u64,
}

impl OomMemory {
    /// None if nothing is known.
    pub fn known(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

/// The last result of a health check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HealthResult {
    /// False from the first failure on; the process is unhealthy only after several.
    pub ok: bool,
    pub checked_at: UnixMillis,
    /// Why the check failed; empty if it did not.
    pub message: String,
}

impl HealthResult {
    /// The result without its time.
    pub fn words(&self) -> (bool, &str) {
        (self.ok, &self.message)
    }
}

/// The last result of each probe of `spec.probes`; none without that probe, and before the first of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbeResults {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<HealthResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<HealthResult>,
}

impl ProbeResults {
    pub fn is_empty(&self) -> bool {
        self.ready.is_none() && self.live.is_none()
    }

    /// Whether more than the times of the results differs.
    pub fn differs(&self, other: &Self) -> bool {
        fn words(result: &Option<HealthResult>) -> Option<(bool, &str)> {
            result.as_ref().map(HealthResult::words)
        }
        words(&self.ready) != words(&other.ready) || words(&self.live) != words(&other.live)
    }
}

/// The live status of one process. Only its agent writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    pub state: State,
    /// [`ProcessState::Unknown`] from an agent that does not report it.
    pub process_state: ProcessState,
    /// −1 if not running.
    pub pid: i32,
    pub version: String,
    pub started_at: UnixMillis,
    pub reported_at: UnixMillis,
    /// Percent of the whole machine, over the process and its descendants.
    pub cpu: f32,
    pub mem: f32,
    pub fd: u32,
    /// Bytes under `log_path`.
    pub disk: u64,
    /// Bytes per second over its TCP sockets.
    pub net: u64,
    /// The reason of the state; may be empty.
    pub message: String,
    /// The desired state that the agent holds. Operations set it, and so does the end of a one-shot run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed: Option<bool>,
    /// When the next attempt of a backoff or the next scheduled run is due; `NEVER` for none.
    pub next_at: UnixMillis,
    /// How often the agent has started it by itself since the last operation that did.
    pub restarts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_exit: Option<LastExit>,
    /// None without a health check, and before the first of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthResult>,
    #[serde(skip_serializing_if = "ProbeResults::is_empty")]
    pub probes: ProbeResults,
    /// Its run began with a spec whose changes since take effect only at the next start.
    pub restart_needed: bool,
}

impl Default for Status {
    fn default() -> Self {
        Self {
            state: State::Unknown,
            process_state: ProcessState::Unknown,
            pid: -1,
            version: String::new(),
            started_at: UnixMillis::NEVER,
            reported_at: UnixMillis::NEVER,
            cpu: 0.0,
            mem: 0.0,
            fd: 0,
            disk: 0,
            net: 0,
            message: String::new(),
            flag: None,
            managed: None,
            next_at: UnixMillis::NEVER,
            restarts: 0,
            last_exit: None,
            health: None,
            probes: ProbeResults::default(),
            restart_needed: false,
        }
    }
}

/// How a run or a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It ended while no parent could read its exit code.
    Unseen,
}

impl Exit {
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::Unseen => f.write_str("exited, code unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_back_from_its_word_and_number() {
        for state in ProcessState::ALL {
            assert_eq!(ProcessState::parse(state.as_str()).unwrap(), state);
            assert_eq!(ProcessState::from_number(state.number()), state);
        }
        assert_eq!(ProcessState::from_number(200), ProcessState::Unknown);
        let rule = ProcessState::parse("up").unwrap_err().rule;
        assert!(
            rule.starts_with("must be one of running, ready, starting, "),
            "{rule}"
        );
    }

    #[test]
    fn an_agent_that_reports_three_states_is_understood() {
        for (state, shown) in [
            (State::Unknown, ProcessState::Unknown),
            (State::Running, ProcessState::Running),
            (State::Stopped, ProcessState::Stopped),
        ] {
            assert_eq!(ProcessState::Unknown.or_from(state), shown);
            assert_eq!(ProcessState::Failed.or_from(state), ProcessState::Failed);
        }
    }
}
