//! Publishes the agents that this replica holds, and their statuses, to the other replicas.

use std::sync::Arc;
use std::time::Duration;

use bus::{MAX_PAYLOAD, Message, ReplicaId};
use fleet::{Fleet, Link, MovedProcess, WrittenStatuses};
use model::UnixMillis;
use model::change::{HostId, ProcessId};
use prost::Message as _;
use tokio::runtime::Handle;
use tokio::time::sleep;

use super::Replicas;
use super::message::{
    Digest, DigestEntry, Envelope, Heartbeat, HostBlock, HostBlocks, PeerMessage, Stopping,
};
use super::peers::OwnSession;

/// A message is sent once it has so many bytes; one more block still fits.
const MESSAGE_BYTES: usize = MAX_PAYLOAD / 2;
/// How many bytes of statuses go into one block.
const BLOCK_BYTES: usize = 128 * 1024;
/// How many processes of which only figures changed are published at a time, ten times a second.
const FIGURES_AT_A_TIME: usize = 4096;
/// How many hosts one digest covers.
const HOSTS_PER_DIGEST: u32 = 8192;

/// An agent that was asked to move counts as connected for so long after it left.
const ARRIVES_WITHIN: Duration = Duration::from_secs(2);

/// Who receives a message.
#[derive(Debug, Clone, Copy)]
pub(super) enum Recipient {
    All,
    One(ReplicaId),
}

impl Replicas {
    fn send(&self, to: Recipient, message: PeerMessage) {
        let envelope = Envelope {
            revision: self.core.fleet().revision().0,
            message: Some(message),
        };
        let payload = envelope.encode_to_vec();
        match to {
            Recipient::All => self.core.bus.publish(Message::Soft(payload.into())),
            Recipient::One(replica) => self.core.bus.tell(replica, payload),
        }
    }

    pub(super) fn send_to(&self, to: ReplicaId, message: PeerMessage) {
        self.send(Recipient::One(to), message);
    }

    pub(super) fn publish_heartbeat(&self, wants_digest: bool) {
        if self.core.is_alone {
            return;
        }
        let heartbeat = Heartbeat {
            n_agents: self.core.outboxes.len() as u32,
            is_draining: self.is_draining(),
            wants_digest,
            leads: self.leads(),
            address: self.address(),
            now_ms: self.core.now().0,
        };
        self.send(Recipient::All, PeerMessage::Heartbeat(heartbeat));
    }

    pub(super) fn publish_stopping(&self) {
        self.send(Recipient::All, PeerMessage::Stopping(Stopping {}));
    }

    /// Publishes that an agent has connected here; returns its session number.
    pub(crate) fn publish_attached(&self, host: HostId, session: u64) -> u64 {
        if self.core.is_alone {
            return session;
        }
        let _turn = self.publishing();
        let own = self.peers().attach(host, session);
        self.publish_hosts(Recipient::All, &[host]);
        own.session
    }

    /// Publishes that an agent has disconnected, and marks it so. Does nothing if another replica holds it by now.
    pub(crate) fn detach(&self, host: HostId, session: u64) {
        self.publish_detached(host, session);
        if self.mark_disconnected(host) {
            self.core.agent_log.went(host, self.core.now());
        }
    }

    /// The same for an agent that was asked to move, unless it arrives elsewhere in time. A third replica may hear from this one
    /// before it hears from the new one; told at once, it would refuse operations on the host until then.
    pub(crate) fn detach_when_late(self: &Arc<Self>, host: HostId, session: u64) {
        let runtime = match Handle::try_current() {
            Ok(runtime) if !self.core.is_alone => runtime,
            // Without other replicas there is nowhere to arrive; without a runtime the server has ended.
            _ => return self.detach(host, session),
        };
        let replicas = self.clone();
        runtime.spawn(async move {
            sleep(ARRIVES_WITHIN).await;
            replicas.detach(host, session);
        });
    }

    /// Whether an agent that left is not yet known to have arrived elsewhere, or is connected.
    pub(crate) fn holds_any(&self) -> bool {
        self.peers().holds_any()
    }

    fn publish_detached(&self, host: HostId, session: u64) {
        if self.core.is_alone {
            return;
        }
        let _turn = self.publishing();
        // Its last statuses, which no other replica has.
        let moved = self.core.fleet_mut().take_moved_of(host);
        self.publish_statuses(&moved);
        let Some(own) = self.peers().detach(host, session) else {
            return;
        };
        let block = HostBlock {
            host: host.0,
            session: own.session,
            seq: own.seq + 1,
            ..HostBlock::default()
        };
        self.send(
            Recipient::All,
            PeerMessage::HostBlocks(HostBlocks {
                blocks: vec![block],
            }),
        );
    }

    /// Publishes everything about some agents that this replica holds.
    pub(super) fn publish_again(&self, to: Recipient, hosts: &[HostId]) {
        let _turn = self.publishing();
        self.publish_hosts(to, hosts);
    }

    fn publish_hosts(&self, to: Recipient, hosts: &[HostId]) {
        let (mut aside, mut message) = (Blocks::new(self, to), Blocks::new(self, Recipient::All));
        for host in hosts {
            let fleet = self.core.fleet();
            let mut statuses = Statuses::default();
            for row in fleet.processes_of(*host) {
                statuses.add(&fleet, row.id());
            }
            // A sequence number that only one replica receives is a gap to all others, which would request a resend, and so
            // on for ever. A single full block repeats the last number; several blocks need new ones, and go to everyone.
            let is_aside = matches!(to, Recipient::One(_)) && statuses.parts.len() <= 1;
            let own = match is_aside {
                true => self.peers().last_seq(*host),
                false => self.peers().next_seq(*host),
            };
            let Some(own) = own else { continue };
            let mut parts = statuses.parts.into_iter();
            let first = full_block(&fleet, *host, own, parts.next().unwrap_or_default());
            drop(fleet);
            match is_aside {
                true => aside.add(first),
                false => message.add(first),
            }
            for part in parts {
                self.add_delta(&mut message, *host, part);
            }
        }
        aside.send();
        message.send();
    }

    /// Publishes what agents reported here since the last time: all that changed, and figures as far as there is room.
    ///
    /// An agent reports its figures again and again, changed or not. Other replicas show those of a usual load at once, and
    /// under more than that they show them later instead of having to take as much as all replicas together.
    pub(super) fn publish_moved(&self) {
        self.publish_of_all(FIGURES_AT_A_TIME);
    }

    /// Publishes all that changed, but no figures.
    pub(crate) fn publish_changed(&self) {
        self.publish_of_all(0);
    }

    fn publish_of_all(&self, most_figures: usize) {
        if self.core.is_alone {
            return;
        }
        let _turn = self.publishing();
        let moved = self.core.fleet_mut().take_moved(most_figures);
        self.publish_statuses(&moved);
    }

    /// The caller holds the turn to publish.
    fn publish_statuses(&self, moved: &[MovedProcess]) {
        let mut message = Blocks::new(self, Recipient::All);
        for of_host in moved.chunk_by(|(one, _), (other, _)| one == other) {
            let fleet = self.core.fleet();
            let mut statuses = Statuses::default();
            for (_, id) in of_host {
                statuses.add(&fleet, *id);
            }
            drop(fleet);
            for (part, (host, _)) in statuses.parts.into_iter().zip(of_host) {
                self.add_delta(&mut message, *host, part);
            }
        }
        message.send();
    }

    fn add_delta(&self, message: &mut Blocks<'_>, host: HostId, written: WrittenStatuses) {
        // None when another replica holds the agent by now.
        // Not within the `if let`, which would hold the lock on the peers while the message reads the fleet.
        let own = self.peers().next_seq(host);
        if let Some(own) = own {
            message.add(HostBlock {
                host: host.0,
                session: own.session,
                seq: own.seq,
                up: true,
                statuses: written.statuses.into(),
                conditions: written.conditions.into(),
                memories: written.memories.into(),
                probes: written.probes.into(),
                ..HostBlock::default()
            });
        }
    }

    /// Publishes which agents this replica holds, each with its last sequence number.
    pub(super) fn publish_digest(&self) {
        // An agent that connects meanwhile must not be published first and then be missing in the digest.
        let _turn = self.publishing();
        let mut own = self.peers().own_sessions();
        own.sort_by_key(|(host, _)| *host);
        let end = {
            let fleet = self.core.fleet();
            fleet.hosts().map(|host| host.id.0 + 1).max().unwrap_or(0)
        };
        let mut from = 0_u32;
        let mut rest = own.as_slice();
        loop {
            let until = from.saturating_add(HOSTS_PER_DIGEST);
            let (here, after) = rest.split_at(rest.partition_point(|(host, _)| host.0 < until));
            rest = after;
            let entries = {
                let fleet = self.core.fleet();
                let entry = |(host, own): &(HostId, OwnSession)| DigestEntry {
                    host: host.0,
                    session: own.session,
                    seq: own.seq,
                    heard_ms: fleet.host(*host).map_or(0, |view| view.heard_at.0),
                };
                here.iter().map(entry).collect()
            };
            self.send(
                Recipient::All,
                PeerMessage::Digest(Digest {
                    from,
                    until,
                    entries,
                }),
            );
            from = until;
            if from >= end {
                return;
            }
        }
    }

    fn publishing(&self) -> locks::MutexGuard<'_, ()> {
        self.publishing.lock()
    }
}

fn full_block(fleet: &Fleet, host: HostId, own: OwnSession, written: WrittenStatuses) -> HostBlock {
    let view = fleet.host(host);
    let since = match view.map(|view| view.link) {
        Some(Link::Up { since }) => since,
        Some(Link::Down { .. } | Link::Never) | None => UnixMillis::NEVER,
    };
    HostBlock {
        host: host.0,
        session: own.session,
        seq: own.seq,
        up: true,
        full: true,
        since_ms: since.0,
        info: view.and_then(|view| view.info).map(Into::into),
        statuses: written.statuses.into(),
        conditions: written.conditions.into(),
        memories: written.memories.into(),
        probes: written.probes.into(),
    }
}

/// The statuses of one host, in parts that a block can hold.
#[derive(Debug, Default)]
struct Statuses {
    parts: Vec<WrittenStatuses>,
}

impl Statuses {
    fn add(&mut self, fleet: &Fleet, id: ProcessId) {
        if self
            .parts
            .last()
            .is_none_or(|part| part.n_bytes() >= BLOCK_BYTES)
        {
            self.parts.push(WrittenStatuses::default());
        }
        if let Some(part) = self.parts.last_mut() {
            fleet.write_status(id, part);
        }
    }
}

/// Collects blocks into messages.
struct Blocks<'a> {
    replicas: &'a Replicas,
    to: Recipient,
    blocks: Vec<HostBlock>,
    n_bytes: usize,
}

impl<'a> Blocks<'a> {
    fn new(replicas: &'a Replicas, to: Recipient) -> Self {
        Self {
            replicas,
            to,
            blocks: Vec::new(),
            n_bytes: 0,
        }
    }

    fn add(&mut self, block: HostBlock) {
        self.n_bytes += block.encoded_len();
        self.blocks.push(block);
        if self.n_bytes >= MESSAGE_BYTES {
            self.send();
        }
    }

    fn send(&mut self) {
        if self.blocks.is_empty() {
            return;
        }
        let blocks = std::mem::take(&mut self.blocks);
        self.n_bytes = 0;
        self.replicas
            .send(self.to, PeerMessage::HostBlocks(HostBlocks { blocks }));
    }
}
