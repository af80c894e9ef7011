//! Applies messages of other replicas, and notices when one falls silent. Never changes durable state.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bus::{Message, Received, ReplicaId, Subscription};
use fleet::Link;
use model::UnixMillis;
use model::change::{HostId, Revision};
use prost::Message as _;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::Replicas;
use super::message::{Digest, Envelope, HostBlock, PeerMessage, Resend};
use super::peers::{SILENCE, Verdict};
use super::publish::Recipient;
use crate::{ChangeEvent, stopped};

const HEARTBEAT_EVERY: Duration = Duration::from_secs(1);
/// A heartbeat that is so late shows that this process was paused.
const PAUSE: Duration = Duration::from_secs(4);
const PUBLISH_EVERY: Duration = Duration::from_millis(100);
const HEARTBEATS_PER_DIGEST: u32 = 10;
/// After so many heartbeats without peers, but with the store, the other replicas have stopped.
const HEARTBEATS_UNTIL_ALONE: u32 = 30;
/// How many hosts are requested from each replica, ten times a second.
const RESEND_AT_A_TIME: usize = 256;
/// How far apart the clocks of two replicas may be: one sets deadlines that another enforces.
const MAX_APART: Duration = Duration::from_secs(2);
/// How many bytes of statuses are applied under one lock of the fleet, about: a thousand of them.
const FOLD_BYTES: usize = 64 * 1024;
/// How long a message may wait for the commits that it refers to.
const FOLLOW_WITHIN: Duration = Duration::from_secs(1);

pub(crate) async fn run(
    replicas: Arc<Replicas>,
    heard: Subscription,
    mut stop: watch::Receiver<bool>,
) {
    if replicas.core.is_alone {
        return;
    }
    tokio::join!(
        publish(&replicas, stop.clone()),
        receive(&replicas, heard, &mut stop)
    );
    replicas.publish_stopping();
}

/// Publishes changed statuses, heartbeats and digests.
async fn publish(replicas: &Replicas, mut stop: watch::Receiver<bool>) {
    let mut heartbeats = 0_u32;
    let mut last_heartbeat = Instant::now();
    let (mut heartbeat, mut moved) = (interval(HEARTBEAT_EVERY), interval(PUBLISH_EVERY));
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    moved.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = heartbeat.tick() => {
                let missed_messages = replicas.missed_messages.swap(false, Ordering::SeqCst);
                replicas.publish_heartbeat(heartbeats == 0 || missed_messages);
                // After a pause, unread messages wait: the peers were not silent.
                if last_heartbeat.elapsed() >= PAUSE {
                    replicas.peers().excuse_silence(Instant::now());
                }
                last_heartbeat = Instant::now();
                replicas.forget_silent_peers();
                heartbeats += 1;
                if heartbeats.is_multiple_of(HEARTBEATS_PER_DIGEST) {
                    replicas.publish_digest();
                }
            }
            _ = moved.tick() => {
                replicas.publish_moved();
                replicas.request_missing();
                replicas.publish_disputed();
            }
            () = stopped(&mut stop) => return,
        }
    }
}

async fn receive(replicas: &Replicas, mut heard: Subscription, stop: &mut watch::Receiver<bool>) {
    loop {
        let received = tokio::select! {
            received = heard.recv() => received,
            () = stopped(stop) => return,
        };
        match received {
            Received::Message(from, Message::Soft(payload)) => {
                match Envelope::decode(payload) {
                    Ok(envelope) => replicas.receive(from, envelope).await,
                    // A newer version may send what this one does not know.
                    Err(error) => {
                        tracing::debug!(%from, %error, "cannot read a message of a replica")
                    }
                }
            }
            Received::Message(_, Message::Committed(_)) => {}
            Received::Lagged => replicas.missed_messages.store(true, Ordering::SeqCst),
        }
    }
}

/// How a block was applied.
enum BlockOutcome {
    Applied,
    /// Some of its processes are not known here.
    Partly,
    /// An earlier block was lost.
    Gap,
}

/// How many of the first blocks are deltas to apply together.
fn n_deltas(blocks: &[HostBlock]) -> usize {
    let mut n_bytes = 0;
    let together = blocks.iter().take_while(|block| {
        let has_room = n_bytes < FOLD_BYTES;
        n_bytes += block.n_bytes();
        block.is_delta() && has_room
    });
    together.count()
}

impl Replicas {
    async fn receive(&self, from: ReplicaId, envelope: Envelope) {
        let now = Instant::now();
        self.peers().heard(from, now);
        match envelope.message {
            Some(PeerMessage::Heartbeat(heartbeat)) => {
                let is_new = self.peers().heartbeat(from, &heartbeat, now);
                let apart_ms = self.core.now().0.abs_diff(heartbeat.now_ms);
                if is_new && apart_ms > MAX_APART.as_millis() as u64 {
                    tracing::error!(
                        replica = %from,
                        address = heartbeat.address,
                        apart_ms,
                        "the clocks of two replicas differ: deadlines of operations will be wrong, set the clocks"
                    );
                }
                if is_new {
                    tracing::info!(replica = %from, "another replica started");
                    // It may not know this replica either, and has to send its digest.
                    self.publish_heartbeat(true);
                }
                if is_new || heartbeat.wants_digest {
                    // To all, although one asks: a message to one may overtake messages to all, and a digest older than the
                    // block of a new agent would undo it.
                    self.publish_digest();
                }
            }
            Some(PeerMessage::HostBlocks(hosts)) => {
                let revision = Revision(envelope.revision);
                self.apply_blocks(from, revision, &hosts.blocks).await;
            }
            Some(PeerMessage::Digest(digest)) => self.apply_digest(from, digest),
            Some(PeerMessage::Resend(resend)) => {
                let hosts: Vec<HostId> = resend.hosts.into_iter().map(HostId).collect();
                self.publish_again(Recipient::One(from), &hosts);
            }
            Some(PeerMessage::Stopping(_)) => {
                let hosts = self.peers().forget(from);
                tracing::info!(replica = %from, "another replica stopped");
                self.mark_all_disconnected(&hosts);
            }
            None => {}
        }
    }

    fn request_missing(&self) {
        let missing = {
            let mut peers = self.peers();
            if !self.core.is_behind() {
                peers.retry_missing();
            }
            peers.take_missing(RESEND_AT_A_TIME)
        };
        for (replica, hosts) in missing {
            self.send_to(replica, PeerMessage::Resend(Resend { hosts }));
        }
    }

    fn publish_disputed(&self) {
        let disputed = self.peers().take_disputed();
        self.publish_again(Recipient::All, &disputed);
    }

    async fn apply_blocks(&self, from: ReplicaId, revision: Revision, blocks: &[HostBlock]) {
        let (mut lost, mut unknown) = (Vec::new(), Vec::new());
        let mut rest = blocks;
        while let Some((first, others)) = rest.split_first() {
            if !first.is_delta() {
                rest = others;
                match self.apply_block(from, first) {
                    BlockOutcome::Applied => {}
                    BlockOutcome::Partly => unknown.push(first),
                    BlockOutcome::Gap => lost.push(first.host),
                }
                continue;
            }
            let (deltas, after) = rest.split_at(n_deltas(rest));
            rest = after;
            unknown.extend(self.apply_deltas(from, deltas, &mut lost));
        }
        self.peers().add_missing(from, lost);
        let is_older_here = || revision > self.core.fleet().revision();
        if unknown.is_empty() || !is_older_here() {
            return;
        }
        // The sender has commits that are not here yet. No other message is handled meanwhile, so not for long.
        if !self.core.is_behind() {
            let _ = tokio::time::timeout(FOLLOW_WITHIN, self.core.follow(revision)).await;
        }
        let unknown = self.fold_blocks(from, &unknown);
        if is_older_here() {
            let hosts = unknown.iter().map(|block| block.host);
            self.peers().add_missing_later(from, hosts);
        }
    }

    /// Returns the blocks with processes that are not known here.
    fn apply_deltas<'b>(
        &self,
        from: ReplicaId,
        deltas: &'b [HostBlock],
        lost: &mut Vec<u32>,
    ) -> Vec<&'b HostBlock> {
        let mut good = Vec::with_capacity(deltas.len());
        {
            let mut peers = self.peers();
            for block in deltas {
                match peers.judge(from, block) {
                    Verdict::Apply => good.push(block),
                    Verdict::Gap => lost.push(block.host),
                    // A delta is applied, ignored or too late.
                    Verdict::Ignore | Verdict::Ours | Verdict::Gone | Verdict::TakeOver => {}
                }
            }
        }
        self.fold_blocks(from, &good)
    }

    fn apply_block(&self, from: ReplicaId, block: &HostBlock) -> BlockOutcome {
        let host = HostId(block.host);
        let verdict = self.peers().judge(from, block);
        match verdict {
            Verdict::Ignore => return BlockOutcome::Applied,
            Verdict::Gap => return BlockOutcome::Gap,
            // Deferred: two replicas that both believe to hold the agent would answer each other for ever.
            Verdict::Ours => {
                self.peers().dispute(host);
                return BlockOutcome::Applied;
            }
            Verdict::Gone => {
                self.mark_all_disconnected(&[host]);
                return BlockOutcome::Applied;
            }
            Verdict::TakeOver => self.core.outboxes.evict(host, block.session),
            Verdict::Apply => {}
        }
        match self.fold_blocks(from, &[block]).is_empty() {
            true => BlockOutcome::Applied,
            false => BlockOutcome::Partly,
        }
    }

    /// Returns the blocks with processes, or of hosts, that are not known here.
    fn fold_blocks<'b>(&self, from: ReplicaId, blocks: &[&'b HostBlock]) -> Vec<&'b HostBlock> {
        let at = self.core.now();
        let (mut came_up, mut changed, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        {
            let mut fleet = self.core.fleet_mut();
            // Agents may have connected here since the verdict, or be gone.
            let peers = self.peers();
            let held = blocks
                .iter()
                .copied()
                .filter(|block| peers.is_holder(from, block.host, block.session));
            let held = Vec::from_iter(held);
            drop(peers);
            for block in held {
                let host = HostId(block.host);
                let Some(address) = fleet.address(host) else {
                    unknown.push(block);
                    continue;
                };
                if block.full {
                    if fleet.host(host).is_some_and(|view| !view.link.is_up()) {
                        came_up.push(address);
                    }
                    let since = UnixMillis(block.since_ms);
                    fleet.set_link(host, Link::Up { since });
                    if let Some(info) = block.info.clone() {
                        fleet.set_agent_info(host, info.into());
                    }
                }
                fleet.heard(host, at);
                let HostBlock {
                    statuses,
                    conditions,
                    memories,
                    probes,
                    ..
                } = block;
                let read = fleet.read_statuses(host, statuses, conditions, memories, probes);
                changed.extend(read.changed);
                if read.n_unknown > 0 {
                    unknown.push(block);
                }
            }
        }
        for host in came_up {
            let up = true;
            self.core.watchers.send(ChangeEvent::Agent { host, up, at });
        }
        self.core.publish_statuses(&changed, at);
        unknown
    }

    fn apply_digest(&self, from: ReplicaId, digest: Digest) {
        let (gone, knows_all) = {
            let mut peers = self.peers();
            let range = digest.from..digest.until;
            let gone = peers.drop_unlisted(from, range, &digest.entries);
            let missing = peers.outdated(from, &digest.entries);
            peers.add_missing(from, missing);
            (gone, !peers.is_missing_any(from))
        };
        self.mark_all_disconnected(&gone);
        if knows_all {
            self.knows_peers.send_replace(true);
        }
        let peers = self.peers();
        let theirs = digest.entries.iter();
        let theirs: Vec<_> = theirs
            .filter(|entry| peers.is_holder(from, entry.host, entry.session))
            .collect();
        drop(peers);
        let fleet = self.core.fleet();
        for entry in theirs {
            fleet.heard(HostId(entry.host), UnixMillis(entry.heard_ms));
        }
    }

    /// Marks agents that a replica no longer holds.
    fn mark_all_disconnected(&self, hosts: &[HostId]) {
        for host in hosts {
            self.mark_disconnected(*host);
        }
    }

    /// Marks an agent as disconnected, unless a replica holds it by now. Says whether it was connected.
    pub(crate) fn mark_disconnected(&self, host: HostId) -> bool {
        let at = self.core.now();
        let address = {
            let mut fleet = self.core.fleet_mut();
            // Decided under the fleet lock, so that of a connect and a disconnect that cross the connect wins.
            let is_held = || self.holder(host).is_some();
            if self.core.outboxes.outbox(host).is_some() || is_held() {
                return false;
            }
            let view = fleet.host(host).filter(|view| view.link.is_up());
            let Some(address) = view.map(|view| view.host) else {
                return false;
            };
            fleet.set_link(host, Link::Down { since: at });
            address
        };
        self.core.watchers.send(ChangeEvent::Agent {
            host: address,
            up: false,
            at,
        });
        true
    }

    /// Records that the agents of a replica that has ended are away, unless they connect elsewhere in time.
    fn record_lost(&self, hosts: &[HostId]) {
        if self.leads() {
            let at = self.core.now();
            for host in hosts {
                self.core.agent_log.went(*host, at);
            }
        }
    }

    fn forget_silent_peers(&self) {
        let silent = self.peers().forget_silent(Instant::now());
        let lost_peer = !silent.is_empty();
        for (replica, hosts) in silent {
            let n_agents = hosts.len();
            tracing::warn!(%replica, n_agents, "a replica was silent for {} s: counts as stopped", SILENCE.as_secs());
            self.record_lost(&hosts);
            self.mark_all_disconnected(&hosts);
        }
        self.update_cut_off(lost_peer);
    }

    /// Disconnects the agents when neither the store nor a peer is reachable: another replica may reach both.
    fn update_cut_off(&self, lost_peer: bool) {
        let replicas = self;
        let has_no_peer = replicas.peers().replicas().next().is_none();
        if lost_peer || !has_no_peer {
            // A replica that never had peers is not cut off from them.
            replicas.lost_all_peers.store(has_no_peer, Ordering::SeqCst);
            replicas.heartbeats_alone.store(0, Ordering::SeqCst);
        }
        if !self.core.is_behind()
            && replicas.heartbeats_alone.fetch_add(1, Ordering::SeqCst) >= HEARTBEATS_UNTIL_ALONE
        {
            // The store is reachable and the peers are silent: they have stopped.
            replicas.lost_all_peers.store(false, Ordering::SeqCst);
        }
        let was_cut_off = self.is_cut_off();
        let is_cut_off = self.core.is_behind() && replicas.lost_all_peers.load(Ordering::SeqCst);
        replicas.is_cut_off.store(is_cut_off, Ordering::SeqCst);
        if is_cut_off && !was_cut_off {
            tracing::error!(
                "cut off from the store and from every other replica: agents are asked to go elsewhere"
            );
        }
        if is_cut_off {
            self.core
                .outboxes
                .disconnect_all("the server is cut off from its store");
        }
    }
}
