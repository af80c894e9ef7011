//! Sends changes to watchers, and counts them for `/metrics`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::event::{Event, EventKind};
use model::job::{JobAction, JobArea, JobId, JobStatus};
use model::status::LastExit;
use model::{FullName, Host, Namespace, ProcessState, TaskId, UnixMillis};
use store::JobCounts;
use tokio::sync::broadcast;

use crate::operations::Task;
use crate::{Control, WebhookHealth};

/// How many changes a slow watcher may fall behind before it misses some.
const BACKLOG: usize = 4096;

/// A change, for watchers. A slow watcher misses some, and the channel reports that.
#[derive(Debug, Clone)]
pub enum ChangeEvent {
    Status {
        process: FullName,
        host: Host,
        state: ProcessState,
        next_at: Option<UnixMillis>,
        restarts: u32,
        last_exit: Option<LastExit>,
        restart_needed: bool,
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
    /// A job after a change.
    Job {
        id: JobId,
        area: JobArea,
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
#[derive(Debug)]
pub(crate) struct Watchers(broadcast::Sender<Arc<ChangeEvent>>);

impl Default for Watchers {
    fn default() -> Self {
        Self(broadcast::channel(BACKLOG).0)
    }
}

impl Watchers {
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<ChangeEvent>> {
        self.0.subscribe()
    }

    pub(crate) fn any(&self) -> bool {
        self.0.receiver_count() > 0
    }

    pub(crate) fn send(&self, event: ChangeEvent) {
        if self.any() {
            // Fails when the last watcher has just left.
            let _ = self.0.send(Arc::new(event));
        }
    }

    pub(crate) fn send_tasks(&self, touched: &[Arc<Task>]) {
        if !self.any() {
            return;
        }
        for task in touched {
            let namespaces: BTreeSet<Namespace> = task
                .targets
                .iter()
                .map(|target| target.process.namespace.clone())
                .collect();
            let (n_ended, n_ok) = task.n_ended_and_ok();
            self.send(ChangeEvent::Task {
                id: task.row.id,
                n_targets: task.targets.len(),
                n_ended,
                n_ok,
                namespaces: namespaces.into_iter().collect(),
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
