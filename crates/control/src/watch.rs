//! Telling watchers what happens, and counting it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::change::ProcessId;
use model::event::{Event, EventKind};
use model::job::{JobAction, JobId, JobStatus};
use model::topology::BusinessId;
use model::{FullName, Host, Namespace, State, TaskId, UnixMillis};
use store::JobCounts;
use tokio::sync::broadcast;

use crate::tasks::Task;
use crate::{Control, Health};

/// What watchers are told. A slow watcher misses some and is told so by the channel.
#[derive(Debug, Clone)]
pub enum Happening {
    Status {
        process: FullName,
        host: Host,
        state: State,
        pid: i32,
        message: String,
        at: UnixMillis,
    },
    Task {
        id: TaskId,
        n_targets: usize,
        n_ended: usize,
        n_ok: usize,
        namespaces: Vec<Namespace>,
    },
    /// A job as it is after it moved.
    Job {
        id: JobId,
        business: BusinessId,
        action: JobAction,
        status: JobStatus,
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
}

/// Figures for `/metrics`.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    pub revision: u64,
    pub n_hosts: usize,
    pub n_agents_up: usize,
    pub n_processes: usize,
    pub n_running: usize,
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
    pub webhooks: Vec<(String, Health)>,
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

impl Control {
    pub fn watch(&self) -> broadcast::Receiver<Arc<Happening>> {
        self.0.watchers.subscribe()
    }

    pub(crate) fn has_watchers(&self) -> bool {
        self.0.watchers.receiver_count() > 0
    }

    pub(crate) fn tell(&self, happening: Happening) {
        if self.has_watchers() {
            // Nobody listening any more is no fault.
            let _ = self.0.watchers.send(Arc::new(happening));
        }
    }

    /// Tells of processes of a host of which more than figures changed.
    pub(crate) fn tell_of_statuses(&self, host: Host, changed: &[ProcessId], at: UnixMillis) {
        if !self.has_watchers() {
            return;
        }
        let fleet = self.fleet();
        for row in changed.iter().filter_map(|id| fleet.row(*id)) {
            self.tell(Happening::Status {
                process: row.name().clone(),
                host,
                state: row.state(),
                pid: row.pid(),
                message: row.message().into_owned(),
                at,
            });
        }
    }

    pub(crate) fn tell_of_tasks(&self, touched: &[Arc<Task>]) {
        if !self.has_watchers() {
            return;
        }
        for task in touched {
            let namespaces: BTreeSet<Namespace> = task
                .targets
                .iter()
                .map(|target| target.process.namespace.clone())
                .collect();
            let (n_ended, n_ok) = task.n_ended_and_ok();
            self.tell(Happening::Task {
                id: task.row.id,
                n_targets: task.targets.len(),
                n_ended,
                n_ok,
                namespaces: namespaces.into_iter().collect(),
            });
        }
    }

    pub fn figures(&self) -> Figures {
        let counters = &self.0.counters;
        let health = self.0.webhooks.health().clone();
        let fleet = self.fleet();
        let (n_tasks_open, n_targets_open) = self.0.tasks.n_open();
        Figures {
            revision: fleet.revision().0,
            n_hosts: fleet.n_hosts(),
            n_agents_up: fleet.hosts().filter(|host| host.link.is_up()).count(),
            n_processes: fleet.n_processes(),
            n_running: fleet.n_running(),
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
