//! Many servers as one: who else is there, who holds which agent, and what their processes are doing.
//!
//! # The path of a status
//!
//! An agent reports to the replica that holds it. What moved is a set of processes; every tenth of a second their statuses
//! are published, host by host, each block with a number (`tell`). The others fold them into their fleets (`hear`). A number
//! that is missing, or a digest that names another one, shows that something was lost: it is asked for again.
//!
//! # The path of an operation
//!
//! It is a commit like any other. Every replica follows the commits, and the one that holds the agent dispatches what it
//! finds there. So nothing is routed but live questions, whose answers go nowhere else (`route`).
//!
//! Nothing here is needed to be right, only to be quick: truth is in the store.

pub(crate) mod barrier;
mod hear;
pub(crate) mod lease;
mod peers;
pub(crate) mod route;
mod tell;
mod word;

pub(crate) use hear::run;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bus::ReplicaId;
use locks::{Mutex, MutexGuard};
use model::change::HostId;
use tokio::sync::watch;

use crate::{Control, lock_order};
use peers::Peers;

/// How long a replica that begins waits for the others to say whom they hold.
const ACQUAINTED_WITHIN: Duration = Duration::from_millis(1500);

/// What is known of the others.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    peers: Mutex<Peers, { lock_order::PEERS }>,
    /// One at a time, so that of two statuses of a process the later one is told last.
    telling: Mutex<(), { lock_order::TELLING }>,
    address: OnceLock<String>,
    is_draining: AtomicBool,
    is_cut_off: AtomicBool,
    /// Messages of others were lost: with the next sign of life they are asked whom they hold.
    missed_some: AtomicBool,
    /// There was another replica once, and none is heard now.
    lost_company: AtomicBool,
    /// How often it was looked for others in vain while the store was there.
    beats_without: AtomicU32,
    /// What happened since is no longer in the store.
    is_too_old: watch::Sender<bool>,
    /// Some other replica has said whom it holds.
    is_acquainted: watch::Sender<bool>,
}

/// A replica as this one knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaView {
    pub id: ReplicaId,
    /// Where its API is; empty where nobody said so.
    pub address: String,
    pub is_this: bool,
    pub n_agents: usize,
    /// Asks its agents to go elsewhere, and takes none.
    pub is_draining: bool,
    /// Does the background work.
    pub leads: bool,
}

impl Replicas {
    fn peers(&self) -> MutexGuard<'_, Peers> {
        self.peers.lock()
    }

    /// This replica was away for so long that only a new start helps.
    pub(crate) fn fall_behind(&self) {
        self.is_too_old.send_replace(true);
    }

    /// The replica that holds an agent, if another one does.
    pub(crate) fn holder(&self, host: HostId) -> Option<ReplicaId> {
        self.peers().holder(host)
    }
}

impl Control {
    /// Whether there is no other replica, and never will be.
    pub(crate) fn is_alone(&self) -> bool {
        self.0.is_alone
    }

    /// Says where the API of this replica is, for whoever lists the replicas.
    pub fn introduce(&self, address: String) {
        // Said once: a server does not move.
        let _said_before = self.0.replicas.address.set(address);
    }

    fn address(&self) -> String {
        self.0.replicas.address.get().cloned().unwrap_or_default()
    }

    /// Whether messages to other replicas go the fast way; a server alone has none to send.
    pub fn is_bus_up(&self) -> bool {
        self.is_alone() || self.0.bus.is_up()
    }

    /// This replica first, then the others that were heard of lately, by id.
    pub fn replicas(&self) -> Vec<ReplicaView> {
        let this = ReplicaView {
            id: self.0.bus.replica(),
            address: self.address(),
            is_this: true,
            n_agents: self.0.sessions.len(),
            is_draining: self.is_draining(),
            leads: self.leads(),
        };
        let peers = self.0.replicas.peers();
        let others = peers.replicas().map(|(id, peer)| ReplicaView {
            id,
            address: peer.address.clone(),
            is_this: false,
            n_agents: peer.n_agents as usize,
            is_draining: peer.is_draining,
            leads: peer.leads,
        });
        let mut others: Vec<ReplicaView> = others.collect();
        others.sort_by_key(|view| view.id);
        [this].into_iter().chain(others).collect()
    }

    /// Waits until another replica has said whom it holds, or has had the time to.
    pub async fn acquainted(&self) {
        if self.is_alone() {
            return;
        }
        let mut is_acquainted = self.0.replicas.is_acquainted.subscribe();
        let heard = is_acquainted.wait_for(|is_acquainted| *is_acquainted);
        // Nobody may be there.
        let _ = tokio::time::timeout(ACQUAINTED_WITHIN, heard).await;
    }

    /// Resolves when this replica was away for so long that it can only load everything anew, by starting again.
    pub async fn fallen_behind(&self) {
        let mut is_too_old = self.0.replicas.is_too_old.subscribe();
        // The sender lives as long as this does.
        let _ = is_too_old.wait_for(|is_too_old| *is_too_old).await;
    }

    /// Whether agents should go elsewhere.
    pub fn is_draining(&self) -> bool {
        self.0.replicas.is_draining.load(Ordering::SeqCst)
    }

    /// The others are told at once.
    pub fn set_draining(&self, is_draining: bool) {
        self.0
            .replicas
            .is_draining
            .store(is_draining, Ordering::SeqCst);
        self.tell_beat(false);
    }

    /// Whether neither the store nor any other replica can be reached: agents are better off elsewhere.
    pub fn is_cut_off(&self) -> bool {
        self.0.replicas.is_cut_off.load(Ordering::SeqCst)
    }
}
