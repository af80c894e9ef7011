//! `spec.probes`: how the agent finds out whether a process is ready for work, and whether it still lives. An extension of
//! the GSE documents, beside `health_cmd`.

mod raw;
mod status_code;

use serde::{Deserialize, Serialize};

pub use raw::{RawHttpTarget, RawProbeRule, RawProbes, RawTcpTarget};
pub use status_code::StatusCodes;

/// Seconds between two probes of a rule that names none.
pub const DEFAULT_INTERVAL: u32 = 10;
/// How long one probe may take, in seconds, if its rule does not say.
pub const DEFAULT_TIMEOUT: u32 = 5;
/// Successes in a row that count, if its rule does not say.
pub const DEFAULT_SUCCESSES: u32 = 1;
/// Failures in a row that count, if its rule does not say.
pub const DEFAULT_FAILURES: u32 = 3;
/// Where a process listens whose probe names no host.
pub const DEFAULT_HOST: &str = "127.0.0.1";

/// `spec.probes`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Probes {
    /// Whether it can do its work. A start ends when this one succeeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<ProbeRule>,
    /// Whether it lives: it is restarted if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<ProbeRule>,
}

impl Probes {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub fn get(&self, kind: ProbeKind) -> Option<&ProbeRule> {
        match kind {
            ProbeKind::Ready => self.ready.as_ref(),
            ProbeKind::Live => self.live.as_ref(),
        }
    }
}

/// Which probe of a spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbeKind {
    Ready,
    Live,
}

impl ProbeKind {
    pub const ALL: [Self; 2] = [Self::Ready, Self::Live];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Live => "live",
        }
    }

    /// The field of the spec.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Ready => "probes.ready",
            Self::Live => "probes.live",
        }
    }
}

/// One probe: what it tries, how often, and what follows. None means the documented default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeRule {
    #[serde(flatten)]
    pub target: ProbeTarget,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successes: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<u32>,
    /// Seconds from the begin of the run to the first probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<ProbeAction>,
}

impl ProbeRule {
    pub fn interval_ms(&self) -> u64 {
        u64::from(self.interval.unwrap_or(DEFAULT_INTERVAL)) * 1000
    }

    pub fn timeout_ms(&self) -> u64 {
        u64::from(self.timeout.unwrap_or(DEFAULT_TIMEOUT)) * 1000
    }

    pub fn delay_ms(&self) -> u64 {
        u64::from(self.delay.unwrap_or(0)) * 1000
    }

    pub fn successes(&self) -> u32 {
        self.successes.unwrap_or(DEFAULT_SUCCESSES)
    }

    pub fn failures(&self) -> u32 {
        self.failures.unwrap_or(DEFAULT_FAILURES)
    }

    pub fn action(&self, kind: ProbeKind) -> ProbeAction {
        self.action.unwrap_or(match kind {
            ProbeKind::Ready => ProbeAction::Event,
            ProbeKind::Live => ProbeAction::Restart,
        })
    }
}

/// What a probe tries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeTarget {
    /// A shell command as the user of the process: succeeds with exit code 0.
    Exec(String),
    /// A connection is accepted.
    Tcp(TcpTarget),
    /// A GET request is answered as expected.
    Http(HttpTarget),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpTarget {
    pub port: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl TcpTarget {
    pub fn host(&self) -> &str {
        self.host.as_deref().unwrap_or(DEFAULT_HOST)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpTarget {
    pub port: u16,
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Any of these counts as success; 200 to 399 if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<StatusCodes>,
    /// The body must contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

impl HttpTarget {
    pub fn host(&self) -> &str {
        self.host.as_deref().unwrap_or(DEFAULT_HOST)
    }

    pub fn accepts(&self, status: u16) -> bool {
        match self.status.as_slice() {
            [] => StatusCodes::DEFAULT.contains(status),
            codes => codes.iter().any(|codes| codes.contains(status)),
        }
    }
}

/// What follows when a probe has failed as often as its rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeAction {
    /// Only the state changes.
    None,
    /// An event, and a managed process is restarted.
    Restart,
    /// An event.
    Event,
}

impl ProbeAction {
    pub const ALL: [Self; 3] = [Self::None, Self::Restart, Self::Event];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Restart => "restart",
            Self::Event => "event",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == text)
    }
}

#[cfg(test)]
mod tests;
