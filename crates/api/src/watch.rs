//! Change events of the stream `/api/v1/watch`. Events of processes are [`crate::EventRow`].

use std::borrow::Cow;

use model::UnixMillis;
use serde::{Deserialize, Serialize};

use crate::{HostText, JobCountsView, LastExitView};

/// The watcher was too slow, and so many change events were left out.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Lagged {
    pub missed: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusChange<'a> {
    /// `namespace/name`
    pub process: String,
    pub host: HostText,
    pub state: Cow<'a, str>,
    pub next_at: Option<UnixMillis>,
    pub restarts: u32,
    pub last_exit: Option<LastExitView>,
    pub restart_needed: bool,
    pub pid: Option<i32>,
    pub message: Cow<'a, str>,
    pub at: UnixMillis,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskProgress {
    pub id: String,
    pub state: Cow<'static, str>,
    pub total: usize,
    pub ended: usize,
    pub ok: usize,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobProgress {
    pub id: u32,
    /// Null for a job over registered processes.
    pub business: Option<u32>,
    pub action: Cow<'static, str>,
    pub status: Cow<'static, str>,
    pub counts: JobCountsView,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentChange {
    pub host: HostText,
    pub connected: bool,
    pub at: UnixMillis,
}
