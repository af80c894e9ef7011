//! Change events of the stream `/api/v1/watch`. Events of processes are [`crate::EventRow`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::UnixMillis;
use serde::{Deserialize, Serialize};

use crate::{HostText, JobCountsView, LastExitView};

responses! {
    /// The fleet in a few numbers.
    #[derive(Clone, PartialEq)]
    pub struct FleetSummary {
        pub processes: u64,
        /// How many are in each state; every state is there.
        #[schema(value_type = BTreeMap<String, u64>)]
        pub states: BTreeMap<Cow<'static, str>, u64>,
        /// Wanted running, and in backoff, failed, stopped or unknown, although the agent is connected.
        pub wanted_down: u64,
        /// In state failed: the agent does not start them any more.
        pub gave_up: u64,
        pub unhealthy: u64,
        /// Their run began with an older spec.
        pub restart_needed: u64,
        /// All hosts, whatever namespaces are asked for.
        pub hosts: usize,
        pub agents_up: usize,
        /// Tasks that have not ended, of which the caller may see every process.
        pub tasks_running: usize,
        pub jobs_running: usize,
        /// With a config file that differs from what was released.
        pub config_drift: u64,
    }
}

/// Change events were left out.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Lagged {
    /// How many, because the watcher was too slow; null if it resumed from an id that is not known any more.
    pub missed: Option<u64>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusChange<'a> {
    /// `namespace/name`
    pub process: String,
    pub host: HostText,
    pub state: Cow<'a, str>,
    /// What is wanted: `running` or `stopped`.
    pub wanted: Cow<'a, str>,
    pub managed: bool,
    pub next_at: Option<UnixMillis>,
    pub restarts: u32,
    pub last_exit: Option<LastExitView>,
    pub restart_needed: bool,
    pub pid: Option<i32>,
    pub started_at: UnixMillis,
    /// Percent of the whole machine.
    pub cpu: f64,
    pub mem: f64,
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
    /// The user who paused it; empty while it is not paused.
    pub paused_by: String,
    pub counts: JobCountsView,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentChange {
    pub host: HostText,
    pub connected: bool,
    pub at: UnixMillis,
}

/// Registrations of one process by one request.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RegistrationChange<'a> {
    /// `namespace/name`
    pub process: String,
    /// How many hosts.
    pub hosts: usize,
    /// `registered`, `updated` or `unregistered`.
    pub what: Cow<'a, str>,
}

/// Sets, modules, hosts or processes of a business changed.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TopologyChange {
    pub business: u32,
}

/// A template, one of its versions or its bindings changed.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateChange {
    pub business: u32,
    pub template: u32,
}
