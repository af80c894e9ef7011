//! Several servers on one store: which replicas exist, which of them holds which agent, and the statuses of their processes.
//!
//! # The path of a status
//!
//! An agent reports to the replica that holds it. What moved is a set of processes; every tenth of a second their statuses
//! are published, host by host, each block with a sequence number (`publish`). The others fold them into their fleets
//! (`receive`). A gap in the numbers, or a digest with another number, shows a loss: the receiver requests the host again.
//!
//! # The path of an operation
//!
//! It is a commit like any other. Every replica follows the commits, and the one that holds the agent dispatches the operation.
//! Only live questions are routed (`route`).
//!
//! Correctness never depends on these messages, only latency: the truth is in the store.

pub(crate) mod barrier;
pub(crate) mod lease;
mod message;
mod peers;
mod publish;
mod receive;
pub(crate) mod route;

pub(crate) use receive::run;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bus::ReplicaId;
use locks::{Mutex, MutexGuard};
use model::change::HostId;
use tokio::sync::{mpsc, watch};

use crate::core::Core;
use crate::lock_order;
use barrier::Waiting;
use lease::Lease;
use peers::Peers;
use route::Routes;

/// How long a starting replica waits for the digests of the others.
const PEERS_WITHIN: Duration = Duration::from_millis(1500);

/// The other servers on the same store.
#[derive(Debug)]
pub struct Replicas {
    pub(crate) core: Arc<Core>,
    peers: Mutex<Peers, { lock_order::PEERS }>,
    /// One at a time, so that of two statuses of a process the later one is sent last.
    publishing: Mutex<(), { lock_order::PUBLISHING }>,
    address: OnceLock<String>,
    is_draining: AtomicBool,
    is_cut_off: AtomicBool,
    /// Messages of others were lost: the next beat asks for their digests.
    missed_messages: AtomicBool,
    /// There were other replicas, and all are silent now.
    lost_all_peers: AtomicBool,
    /// Heartbeats without any peer while the store was reachable.
    heartbeats_alone: AtomicU32,
    /// Another replica has sent its digest.
    knows_peers: watch::Sender<bool>,
    barrier: mpsc::Sender<Waiting>,
    lease: Lease,
    routes: Routes,
}

/// A replica, as far as this one knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaView {
    pub id: ReplicaId,
    /// The address of its API; empty if not configured.
    pub address: String,
    pub is_this: bool,
    pub n_agents: usize,
    /// Asks its agents to move, and accepts none.
    pub is_draining: bool,
    /// Does the background work.
    pub leads: bool,
}

impl Replicas {
    pub(crate) fn new(core: &Arc<Core>) -> (Self, mpsc::Receiver<Waiting>) {
        let (barrier, waiting) = mpsc::channel(barrier::AT_A_TIME);
        let replicas = Self {
            core: core.clone(),
            peers: Mutex::default(),
            publishing: Mutex::default(),
            address: OnceLock::new(),
            is_draining: AtomicBool::new(false),
            is_cut_off: AtomicBool::new(false),
            missed_messages: AtomicBool::new(false),
            lost_all_peers: AtomicBool::new(false),
            heartbeats_alone: AtomicU32::new(0),
            knows_peers: watch::Sender::new(false),
            barrier,
            lease: Lease::default(),
            routes: Routes::default(),
        };
        (replicas, waiting)
    }

    fn peers(&self) -> MutexGuard<'_, Peers> {
        self.peers.lock()
    }

    /// The replica that holds an agent, if another one does.
    pub(crate) fn holder(&self, host: HostId) -> Option<ReplicaId> {
        self.peers().holder(host)
    }

    /// Sets the address of this replica's API, for the list of replicas.
    pub fn set_address(&self, address: String) {
        // Set once, at the start; a second call changes nothing.
        let _ = self.address.set(address);
    }

    fn address(&self) -> String {
        self.address.get().cloned().unwrap_or_default()
    }

    /// Whether the bus is connected; a server alone needs none.
    pub fn is_bus_up(&self) -> bool {
        self.core.is_alone || self.core.bus.is_up()
    }

    /// This replica first, then the live others, by id.
    pub fn list(&self) -> Vec<ReplicaView> {
        let this = ReplicaView {
            id: self.core.bus.replica(),
            address: self.address(),
            is_this: true,
            n_agents: self.core.outboxes.len(),
            is_draining: self.is_draining(),
            leads: self.leads(),
        };
        let peers = self.peers();
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

    /// Waits until another replica has sent its digest, or has had the time to.
    pub async fn wait_for_peers(&self) {
        if self.core.is_alone {
            return;
        }
        let mut knows_peers = self.knows_peers.subscribe();
        let heard = knows_peers.wait_for(|knows_peers| *knows_peers);
        // A timeout means that there is no other replica.
        let _ = tokio::time::timeout(PEERS_WITHIN, heard).await;
    }

    /// Resolves when this replica was away for so long that only a restart, which loads everything, helps.
    pub async fn wait_until_too_old(&self) {
        self.core.store_link.too_old().await;
    }

    /// Whether agents should connect to other replicas.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::SeqCst)
    }

    /// Publishes the change at once.
    pub fn set_draining(&self, is_draining: bool) {
        self.is_draining.store(is_draining, Ordering::SeqCst);
        self.publish_heartbeat(false);
    }

    /// Whether neither the store nor any other replica is reachable: agents should connect elsewhere.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::SeqCst)
    }
}
