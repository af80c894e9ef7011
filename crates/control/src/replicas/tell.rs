//! Telling the other replicas about the agents that this one holds.

use std::collections::BTreeMap;

use bus::{MAX_PAYLOAD, Message, ReplicaId};
use fleet::{Fleet, Link};
use model::UnixMillis;
use model::change::{HostId, ProcessId};
use prost::Message as _;

use super::peers::Mine;
use super::word::{Beat, Block, Digest, DigestEntry, Hosts, Leaving, Soft, Word};
use crate::Control;

/// How many bytes of blocks go into one message: room for one more block beside it.
const MESSAGE_BYTES: usize = MAX_PAYLOAD / 2;
/// How many bytes of statuses go into one block.
const BLOCK_BYTES: usize = 128 * 1024;
/// How many hosts one digest speaks of.
const HOSTS_PER_DIGEST: u32 = 8192;

/// To whom.
#[derive(Debug, Clone, Copy)]
pub(super) enum To {
    All,
    One(ReplicaId),
}

impl Control {
    fn send(&self, to: To, word: Word) {
        let soft = Soft {
            revision: self.fleet().revision().0,
            word: Some(word),
        };
        let payload = soft.encode_to_vec();
        match to {
            To::All => self.0.bus.publish(Message::Soft(payload)),
            To::One(replica) => self.0.bus.tell(replica, payload),
        }
    }

    pub(super) fn send_word(&self, to: ReplicaId, word: Word) {
        self.send(To::One(to), word);
    }

    pub(super) fn tell_beat(&self, wants_digest: bool) {
        if self.is_alone() {
            return;
        }
        let beat = Beat {
            n_agents: self.0.sessions.len() as u32,
            is_draining: self.is_draining(),
            wants_digest,
            leads: self.leads(),
            address: self.address(),
            now_ms: self.now().0,
        };
        self.send(To::All, Word::Beat(beat));
    }

    pub(super) fn tell_leaving(&self) {
        self.send(To::All, Word::Leaving(Leaving {}));
    }

    /// An agent has connected here: the number of its connection.
    pub(crate) fn tell_attached(&self, host: HostId, session: u64) -> u64 {
        if self.is_alone() {
            return session;
        }
        let _turn = self.telling();
        let mine = self.0.replicas.peers().attach(host, session);
        self.tell_all_of(To::All, &[host]);
        mine.session
    }

    /// It has left.
    pub(crate) fn tell_detached(&self, host: HostId, session: u64) {
        if self.is_alone() {
            return;
        }
        // Its last words, which nobody else would ever say.
        self.tell_moved();
        let _turn = self.telling();
        let Some(mine) = self.0.replicas.peers().detach(host, session) else {
            return;
        };
        let block = Block {
            host: host.0,
            session: mine.session,
            seq: mine.seq + 1,
            ..Block::default()
        };
        self.send(
            To::All,
            Word::Hosts(Hosts {
                blocks: vec![block],
            }),
        );
    }

    /// Everything about some agents that this replica holds.
    pub(super) fn tell_again(&self, to: To, hosts: &[HostId]) {
        let _turn = self.telling();
        self.tell_all_of(to, hosts);
    }

    fn tell_all_of(&self, to: To, hosts: &[HostId]) {
        let (mut aside, mut message) = (Blocks::new(self, to), Blocks::new(self, To::All));
        for host in hosts {
            let fleet = self.fleet();
            let mut statuses = Statuses::default();
            for row in fleet.processes_of(*host) {
                statuses.add(&fleet, row.id());
            }
            // A number that only one is told would be a gap to all others, who would ask, too, and so on for ever. What has
            // all that was told so far needs none of its own; in several parts it does, and goes to everyone.
            let is_aside = matches!(to, To::One(_)) && statuses.parts.len() <= 1;
            let mine = match is_aside {
                true => self.0.replicas.peers().last_seq(*host),
                false => self.0.replicas.peers().next_seq(*host),
            };
            let Some(mine) = mine else { continue };
            let mut parts = statuses.parts.into_iter();
            let first = full_block(&fleet, *host, mine, parts.next().unwrap_or_default());
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

    /// Publishes what agents reported here since the last time.
    pub(crate) fn tell_moved(&self) {
        if self.is_alone() {
            return;
        }
        let _turn = self.telling();
        let moved = self.fleet_mut().take_moved();
        if moved.is_empty() {
            return;
        }
        let by_host = {
            let fleet = self.fleet();
            let mut by_host: BTreeMap<HostId, Statuses> = BTreeMap::new();
            for id in moved.iter().map(ProcessId) {
                let Some(host) = fleet.row(id).map(|row| row.host().id) else {
                    continue;
                };
                by_host.entry(host).or_default().add(&fleet, id);
            }
            by_host
        };
        let mut message = Blocks::new(self, To::All);
        for (host, statuses) in by_host {
            for part in statuses.parts {
                self.add_delta(&mut message, host, part);
            }
        }
        message.send();
    }

    fn add_delta(&self, message: &mut Blocks<'_>, host: HostId, statuses: Vec<u8>) {
        // An agent that has left meanwhile is told about by whoever holds it now.
        // Not within the `if let`, which would hold the peers while the message looks at the fleet.
        let mine = self.0.replicas.peers().next_seq(host);
        if let Some(mine) = mine {
            message.add(Block {
                host: host.0,
                session: mine.session,
                seq: mine.seq,
                up: true,
                statuses,
                ..Block::default()
            });
        }
    }

    /// Whom this replica holds, and up to which block it has told about each.
    pub(super) fn tell_digest(&self) {
        // An agent that comes in the middle must not be told of first and then left out.
        let _turn = self.telling();
        let mut mine = self.0.replicas.peers().all_mine();
        mine.sort_by_key(|(host, _)| *host);
        let end = {
            let fleet = self.fleet();
            fleet.hosts().map(|host| host.id.0 + 1).max().unwrap_or(0)
        };
        let mut from = 0_u32;
        let mut rest = mine.as_slice();
        loop {
            let until = from.saturating_add(HOSTS_PER_DIGEST);
            let (here, after) = rest.split_at(rest.partition_point(|(host, _)| host.0 < until));
            rest = after;
            let entries = {
                let fleet = self.fleet();
                let entry = |(host, mine): &(HostId, Mine)| DigestEntry {
                    host: host.0,
                    session: mine.session,
                    seq: mine.seq,
                    heard_ms: fleet.host(*host).map_or(0, |view| view.heard_at.0),
                };
                here.iter().map(entry).collect()
            };
            self.send(
                To::All,
                Word::Digest(Digest {
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

    fn telling(&self) -> locks::MutexGuard<'_, ()> {
        self.0.replicas.telling.lock()
    }
}

fn full_block(fleet: &Fleet, host: HostId, mine: Mine, statuses: Vec<u8>) -> Block {
    let view = fleet.host(host);
    let since = match view.map(|view| view.link) {
        Some(Link::Up { since }) => since,
        Some(Link::Down { .. } | Link::Never) | None => UnixMillis::NEVER,
    };
    Block {
        host: host.0,
        session: mine.session,
        seq: mine.seq,
        up: true,
        full: true,
        since_ms: since.0,
        info: view.and_then(|view| view.info).map(Into::into),
        statuses,
    }
}

/// The statuses of one host, in parts that a block can hold.
#[derive(Debug, Default)]
struct Statuses {
    parts: Vec<Vec<u8>>,
}

impl Statuses {
    fn add(&mut self, fleet: &Fleet, id: ProcessId) {
        if self
            .parts
            .last()
            .is_none_or(|part| part.len() >= BLOCK_BYTES)
        {
            self.parts.push(Vec::new());
        }
        if let Some(part) = self.parts.last_mut() {
            fleet.write_status(id, part);
        }
    }
}

/// Blocks on their way, as many in a message as fit.
struct Blocks<'a> {
    control: &'a Control,
    to: To,
    blocks: Vec<Block>,
    n_bytes: usize,
}

impl<'a> Blocks<'a> {
    fn new(control: &'a Control, to: To) -> Self {
        Self {
            control,
            to,
            blocks: Vec::new(),
            n_bytes: 0,
        }
    }

    fn add(&mut self, block: Block) {
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
        self.control.send(self.to, Word::Hosts(Hosts { blocks }));
    }
}
