//! What each connected agent has to be sent. Nothing in an outbox grows with how slowly its agent reads.
//!
//! An outbox holds no frames, only what to look at again: which processes changed, which operations wait, what to
//! acknowledge. Frames are made when the connection can take them, from what is true by then.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use locks::{Mutex, MutexGuard, RwLock};
use model::change::{Changes, HostId, NameId};
use model::{Namespace, OpId, UnixMillis};
use tokio::sync::Notify;
use tokio::time::Instant;
use wire::{Bye, Dependencies, Move, Welcome};

use super::config_files::FileSlots;
use super::intake::ReportState;
use super::question::Questions;
use super::wake_queue::WakeQueue;
use crate::lock_order;

/// More changed processes than this, and the whole list is sent instead.
const MAX_CHANGED_NAMES: usize = 1000;

#[derive(Debug, Default)]
pub(crate) struct Outboxes {
    pub(super) by_host: RwLock<HashMap<HostId, Arc<Outbox>>, { lock_order::SESSIONS }>,
    pub(super) wake_queue: WakeQueue,
}

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(super) pending: Mutex<Pending, { lock_order::OUTBOX }>,
    pub(crate) questions: Questions,
    pub(crate) file_slots: FileSlots,
    pub(super) reports: ReportState,
    pub(super) notify: Notify,
    /// The session number, by which replicas compare connections.
    pub(super) session: AtomicU64,
    /// The enrolment of its certificate; a later one ends the connection. None if this replica was behind, and may not know
    /// that enrolment.
    pub(super) enrolled_at: Option<UnixMillis>,
    /// A hash of what was last told about dependencies on other hosts; 0 for nothing.
    pub(super) told_dependencies: AtomicU64,
    pub(super) asked_to_move: Mutex<Option<Instant>>,
    /// Until when further changes of processes wait.
    pub(super) paused_until: Mutex<Option<Instant>>,
    /// This replica may be behind the agent, so specs and commands wait.
    pub(super) is_behind: AtomicBool,
    /// The session will be woken in its turn.
    pub(super) is_in_wake_queue: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) welcome: Option<Welcome>,
    pub(super) desired: ChangedProcesses,
    /// Namespaces whose process groups changed.
    pub(super) groups: BTreeSet<Namespace>,
    /// What dependencies on other hosts have come to.
    pub(super) dependencies: Option<Dependencies>,
    pub(super) commands: VecDeque<OpId>,
    pub(super) results: Vec<OpId>,
    pub(super) events_through: u64,
    /// A heartbeat has to be answered, even with an empty acknowledgement.
    pub(super) heartbeat: bool,
    /// The agent may send its next report of statuses.
    pub(super) may_report: bool,
    pub(super) move_away: Option<Move>,
    pub(super) bye: Option<Bye>,
}

/// Which processes have to be sent.
#[derive(Debug, Default)]
pub(super) enum ChangedProcesses {
    #[default]
    None,
    Names(HashSet<NameId>),
    All,
}

impl Outbox {
    pub(super) fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Pending)) {
        change(&mut self.pending());
        self.notify.notify_one();
    }

    /// The caller wakes the session ([`Outboxes::wake`]).
    pub(crate) fn acknowledge(&self, results: &[OpId], events_through: u64) {
        let mut pending = self.pending();
        pending.results.extend(results);
        pending.events_through = pending.events_through.max(events_through);
    }

    /// Lets the session look for new frames.
    pub(crate) fn wake(&self) {
        self.notify.notify_one();
    }
}

impl Outboxes {
    pub(crate) fn outbox(&self, host: HostId) -> Option<Arc<Outbox>> {
        self.by_host.read().get(&host).cloned()
    }

    /// Whether no newer connection of the host has taken its place.
    pub(super) fn is_current(&self, host: HostId, outbox: &Arc<Outbox>) -> bool {
        let by_host = self.by_host.read();
        by_host
            .get(&host)
            .is_none_or(|current| Arc::ptr_eq(current, outbox))
    }

    pub(crate) fn len(&self) -> usize {
        let by_host = self.by_host.read();
        by_host.len()
    }

    /// Ends an older connection of a host that has connected to another replica.
    pub(crate) fn evict(&self, host: HostId, session: u64) {
        let mut by_host = self.by_host.write();
        let is_older = |outbox: &Arc<Outbox>| outbox.session.load(Ordering::SeqCst) < session;
        if by_host.get(&host).is_some_and(is_older)
            && let Some(older) = by_host.remove(&host)
        {
            older.disconnect_replaced();
        }
    }

    /// Adds a connection, and ends an older one of the same host.
    pub(super) fn insert(&self, host: HostId, outbox: Arc<Outbox>) {
        let mut by_host = self.by_host.write();
        if let Some(older) = by_host.insert(host, outbox) {
            older.disconnect_replaced();
        }
    }

    /// Removes this connection; false when the host has a newer one.
    pub(super) fn remove(&self, host: HostId, outbox: &Arc<Outbox>) -> bool {
        let mut by_host = self.by_host.write();
        let current = by_host.get(&host);
        let is_last = current.is_none_or(|current| Arc::ptr_eq(current, outbox));
        if is_last {
            by_host.remove(&host);
        }
        is_last
    }

    /// Lets these sessions look for new frames, some at a time.
    pub(crate) fn wake(&self, outboxes: Vec<Arc<Outbox>>) {
        self.wake_queue.wake(outboxes);
    }

    pub(crate) fn send_processes(&self, changed: &[(HostId, NameId)]) {
        let mut to_wake = Vec::new();
        for (host, name) in changed {
            let Some(outbox) = self.outbox(*host) else {
                continue;
            };
            let mut pending = outbox.pending();
            let names = match &mut pending.desired {
                // The session knows that something has changed.
                ChangedProcesses::All => continue,
                ChangedProcesses::Names(names) => {
                    if names.len() >= MAX_CHANGED_NAMES {
                        pending.desired = ChangedProcesses::All;
                    } else {
                        names.insert(*name);
                    }
                    continue;
                }
                none @ ChangedProcesses::None => none,
            };
            *names = ChangedProcesses::Names(HashSet::from([*name]));
            drop(pending);
            to_wake.push(outbox);
        }
        self.wake(to_wake);
    }

    /// Sends agents the process groups that a commit changed.
    pub(crate) fn send_groups(&self, changes: &Changes) {
        for row in &changes.groups {
            if let Some(outbox) = self.outbox(row.host) {
                outbox.change(|pending| {
                    pending.groups.insert(row.namespace.clone());
                });
            }
        }
    }

    /// Sends agents the operations that a commit created.
    pub(crate) fn send_commands(&self, changes: &Changes) {
        let ended: HashSet<OpId> = changes.outcomes.iter().map(|row| row.op_id).collect();
        let mut to_wake = Vec::new();
        for target in changes
            .targets
            .iter()
            .filter(|target| !ended.contains(&target.op_id))
        {
            if let Some(outbox) = target.host.and_then(|host| self.outbox(host)) {
                outbox.pending().commands.push_back(target.op_id);
                to_wake.push(outbox);
            }
        }
        self.wake(to_wake);
    }

    /// Asks every agent to connect elsewhere, for a server that stops.
    pub(crate) fn disconnect_all(&self, reason: &str) {
        for outbox in self.by_host.read().values() {
            let bye = Bye {
                reason: reason.to_owned(),
                permanent: false,
                rejoin: false,
            };
            outbox.change(|pending| pending.bye = Some(bye));
        }
    }
}
