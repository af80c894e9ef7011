//! Sends changes to watchers, and counts them for `/metrics`.

mod backlog;
mod committed;

pub use backlog::{Change, ChangeId, ChangeReader, Missed};
pub(crate) use committed::Committed;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fleet::Row;
use model::change::ProcessId;
use model::config_template::TemplateId;
use model::event::{Event, EventKind};
use model::job::{JobAction, JobArea, JobId, JobStatus};
use model::status::LastExit;
use model::topology::BusinessId;
use model::{Flag, FullName, Host, Namespace, ProcessState, TaskId, UnixMillis};
use store::JobCounts;

use crate::agent_counts::AgentCounts;
use crate::operations::Task;
use crate::{Control, WebhookHealth};
use backlog::Backlog;

/// A change, for watchers.
#[derive(Debug, Clone)]
pub enum ChangeEvent {
    Status {
        id: ProcessId,
        process: FullName,
        host: Host,
        state: ProcessState,
        wanted: Flag,
        managed: bool,
        next_at: Option<UnixMillis>,
        restarts: u32,
        last_exit: Option<LastExit>,
        restart_needed: bool,
        pid: i32,
        started_at: UnixMillis,
        cpu: f32,
        mem: f32,
        message: String,
        at: UnixMillis,
    },
    Task {
        id: TaskId,
        n_targets: usize,
        n_ended: usize,
        n_ok: usize,
        namespaces: Arc<[Namespace]>,
        /// Of its targets, each once.
        processes: Arc<[Arc<FullName>]>,
    },
    /// A job after a change.
    Job {
        id: JobId,
        area: JobArea,
        action: JobAction,
        status: JobStatus,
        /// Empty while it is not paused.
        paused_by: String,
        counts: JobCounts,
    },
    Agent {
        host: Host,
        up: bool,
        at: UnixMillis,
    },
    Event {
        host: Host,
        event: Event,
    },
    /// Registrations of a process by one commit.
    Registration {
        process: FullName,
        n_hosts: usize,
        what: Registered,
    },
    /// Sets, modules, hosts or processes of a business.
    Topology {
        business: BusinessId,
    },
    /// A template, one of its versions or its bindings.
    Template {
        business: BusinessId,
        template: TemplateId,
    },
}

/// How a commit changed registrations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Registered {
    New,
    Updated,
    Gone,
}

/// What a change is of. Of two changes with the same key, the later says everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKey {
    Process(ProcessId),
    Task(TaskId),
    Job(JobId),
    Agent(Host),
    Topology(BusinessId),
    Template(TemplateId),
}

impl ChangeEvent {
    /// None if each change of this kind counts.
    pub fn key(&self) -> Option<ChangeKey> {
        match self {
            Self::Status { id, .. } => Some(ChangeKey::Process(*id)),
            Self::Task { id, .. } => Some(ChangeKey::Task(*id)),
            Self::Job { id, .. } => Some(ChangeKey::Job(*id)),
            Self::Agent { host, .. } => Some(ChangeKey::Agent(*host)),
            Self::Topology { business } => Some(ChangeKey::Topology(*business)),
            Self::Template { template, .. } => Some(ChangeKey::Template(*template)),
            Self::Event { .. } | Self::Registration { .. } => None,
        }
    }

    /// The bytes of its texts, of which the encoded form is a second copy.
    fn text_bytes(&self) -> usize {
        match self {
            Self::Status { message, .. } => 2 * message.len(),
            Self::Event { event, .. } => 2 * event.reason.len(),
            Self::Job { paused_by, .. } => 2 * paused_by.len(),
            Self::Task { .. }
            | Self::Agent { .. }
            | Self::Registration { .. }
            | Self::Topology { .. }
            | Self::Template { .. } => 0,
        }
    }

    pub(crate) fn status(row: &Row<'_>, at: UnixMillis) -> Self {
        Self::Status {
            id: row.id(),
            process: row.name().clone(),
            host: row.host().host,
            state: row.process_state(),
            wanted: row.flag(),
            managed: row.managed(),
            next_at: row.next_at(),
            restarts: row.restarts(),
            last_exit: row.last_exit(),
            restart_needed: row.restart_needed(),
            pid: row.pid(),
            started_at: row.started_at(),
            cpu: row.cpu(),
            mem: row.mem(),
            message: row.message().into_owned(),
            at,
        }
    }
}

/// Figures for `/metrics`.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    pub revision: u64,
    pub n_hosts: usize,
    pub agents: AgentCounts,
    pub n_processes: usize,
    pub n_running: usize,
    pub n_ready: usize,
    pub n_tasks_open: usize,
    pub n_targets_open: usize,
    pub commits: u64,
    pub reports: u64,
    pub statuses: u64,
    pub results: u64,
    /// By kind.
    pub events: Vec<(EventKind, u64)>,
    pub operations: u64,
    /// Deliveries to each webhook by its id.
    pub webhooks: Vec<(String, WebhookHealth)>,
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) commits: Counter,
    pub(crate) reports: Counter,
    pub(crate) statuses: Counter,
    pub(crate) results: Counter,
    /// By kind, in the order of their declaration.
    pub(crate) events: [Counter; EventKind::ALL.len()],
    pub(crate) operations: Counter,
}

/// The subscribers to changes.
#[derive(Debug, Default)]
pub(crate) struct Watchers(Arc<Backlog>);

impl Watchers {
    /// From now on, or from after a change. Says whether every change since then is known.
    pub(crate) fn subscribe(&self, since: Option<ChangeId>) -> (ChangeReader, bool) {
        self.0.subscribe(since)
    }

    /// The number of the next change.
    pub(crate) fn head(&self) -> u64 {
        self.0.head()
    }

    pub(crate) fn any(&self) -> bool {
        self.0.is_read()
    }

    pub(crate) fn send(&self, event: ChangeEvent) {
        self.0.push(event);
    }

    pub(crate) fn send_tasks(&self, touched: &[Arc<Task>]) {
        if !self.any() {
            return;
        }
        for task in touched {
            let (n_ended, n_ok) = task.n_ended_and_ok();
            let names = task.names();
            self.send(ChangeEvent::Task {
                id: task.row.id,
                n_targets: task.targets.len(),
                n_ended,
                n_ok,
                namespaces: names.namespaces.clone(),
                processes: names.processes.clone(),
            });
        }
    }
}

impl Control {
    pub fn figures(&self) -> Figures {
        let core = &self.0.core;
        let counters = &core.counters;
        let health = core.deliveries.lock().clone();
        let fleet = core.fleet();
        let (n_tasks_open, n_targets_open) = core.tasks.n_open();
        let mut agents = AgentCounts::default();
        for host in fleet.hosts().filter(|host| host.link.is_up()) {
            agents.count(host.info);
        }
        Figures {
            revision: fleet.revision().0,
            n_hosts: fleet.n_hosts(),
            agents,
            n_processes: fleet.n_processes(),
            n_running: fleet.n_running(),
            n_ready: fleet.n_ready(),
            n_tasks_open,
            n_targets_open,
            commits: counters.commits.get(),
            reports: counters.reports.get(),
            statuses: counters.statuses.get(),
            results: counters.results.get(),
            events: EventKind::ALL
                .into_iter()
                .map(|kind| (kind, counters.events[kind as usize].get()))
                .collect(),
            operations: counters.operations.get(),
            webhooks: health.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn status(message: &str) -> ChangeEvent {
        ChangeEvent::Status {
            id: ProcessId(1),
            process: "gse/web".parse().unwrap(),
            host: "10.0.0.1".parse().unwrap(),
            state: ProcessState::Running,
            wanted: Flag::Running,
            managed: true,
            next_at: None,
            restarts: 0,
            last_exit: None,
            restart_needed: false,
            pid: 7,
            started_at: UnixMillis(1),
            cpu: 0.0,
            mem: 0.0,
            message: message.to_owned(),
            at: UnixMillis(1),
        }
    }
}
