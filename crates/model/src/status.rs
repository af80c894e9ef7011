//! Desired and observed state of a process.

use serde::{Deserialize, Serialize};

use crate::UnixMillis;

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

impl From<Flag> for u8 {
    fn from(flag: Flag) -> Self {
        flag as u8
    }
}

/// The observed state.
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

/// The live status of one process. Only its agent writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    pub state: State,
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
}

impl Default for Status {
    fn default() -> Self {
        Self {
            state: State::Unknown,
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
