//! Who the other replicas are, and which of them holds which agent. Pure: it is told what was heard, and when.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use bus::ReplicaId;
use model::bounds::MAX_HOSTNAME;
use model::change::HostId;
use model::text::sanitize_line;
use tokio::time::Instant;

use super::word::{Beat, Block, DigestEntry};

/// A replica that was not heard for so long is gone, and with it every agent that it held.
pub(super) const SILENCE: Duration = Duration::from_secs(8);

#[derive(Debug, Default)]
pub(super) struct Peers {
    replicas: HashMap<ReplicaId, Peer>,
    /// Agents that other replicas hold.
    held: HashMap<HostId, Held>,
    /// Agents that this one holds.
    mine: HashMap<HostId, Mine>,
    /// Hosts of which something was missed, by who knows.
    wanted: BTreeMap<ReplicaId, BTreeSet<u32>>,
    /// The same, where it makes no sense to ask before there is something new from the store.
    wanted_later: BTreeMap<ReplicaId, BTreeSet<u32>>,
    /// Agents of ours that another replica believes to hold.
    disputed: BTreeSet<HostId>,
}

#[derive(Debug, Clone)]
pub(super) struct Peer {
    heard: Instant,
    pub(super) n_agents: u32,
    pub(super) is_draining: bool,
    pub(super) leads: bool,
    pub(super) address: String,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    by: ReplicaId,
    session: u64,
    seq: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mine {
    pub(super) session: u64,
    /// Of the last block that others were told.
    pub(super) seq: u64,
}

/// What to do about a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Apply,
    /// The same, and the agent is no longer ours.
    TakeOver,
    /// It is gone.
    Gone,
    /// Old, or not from whoever holds the agent.
    Ignore,
    /// Something before it was lost: ask.
    Gap,
    /// The sender does not know that we hold it: tell everyone.
    Ours,
}

impl Peers {
    /// True when it was not known before.
    pub(super) fn beat(&mut self, from: ReplicaId, beat: &Beat, now: Instant) -> bool {
        let mut address = beat.address.clone();
        sanitize_line(&mut address, MAX_HOSTNAME);
        let peer = Peer {
            heard: now,
            n_agents: beat.n_agents,
            is_draining: beat.is_draining,
            leads: beat.leads,
            address,
        };
        self.replicas.insert(from, peer).is_none()
    }

    /// Whatever a replica says is a sign of life.
    pub(super) fn heard(&mut self, from: ReplicaId, now: Instant) {
        if let Some(peer) = self.replicas.get_mut(&from) {
            peer.heard = now;
        }
    }

    /// Whoever did not listen has not heard anybody.
    pub(super) fn excuse_silence(&mut self, now: Instant) {
        self.replicas.values_mut().for_each(|peer| peer.heard = now);
    }

    /// Forgets those that were silent for too long; the hosts that they held.
    pub(super) fn forget_silent(&mut self, now: Instant) -> Vec<(ReplicaId, Vec<HostId>)> {
        let silent = self.replicas.iter();
        let silent = silent.filter(|(_, peer)| now.duration_since(peer.heard) >= SILENCE);
        let silent: Vec<ReplicaId> = silent.map(|(id, _)| *id).collect();
        silent.into_iter().map(|id| (id, self.forget(id))).collect()
    }

    /// It is no more; the hosts that it held.
    pub(super) fn forget(&mut self, replica: ReplicaId) -> Vec<HostId> {
        self.replicas.remove(&replica);
        self.wanted.remove(&replica);
        self.wanted_later.remove(&replica);
        let held = self.held.extract_if(|_, held| held.by == replica);
        held.map(|(host, _)| host).collect()
    }

    pub(super) fn replicas(&self) -> impl Iterator<Item = (ReplicaId, &Peer)> {
        self.replicas.iter().map(|(id, peer)| (*id, peer))
    }

    pub(super) fn holder(&self, host: HostId) -> Option<ReplicaId> {
        self.held.get(&host).map(|held| held.by)
    }

    /// An agent has connected here; the number of its connection is raised if need be, as the last one counts.
    pub(super) fn attach(&mut self, host: HostId, session: u64) -> Mine {
        let before = self.held.remove(&host).map(|held| held.session);
        let before = before.max(self.mine.get(&host).map(|mine| mine.session));
        let session = session.max(before.map_or(0, |before| before + 1));
        let mine = Mine { session, seq: 0 };
        self.mine.insert(host, mine);
        mine
    }

    /// The agent has left; None when it is held elsewhere by now.
    pub(super) fn detach(&mut self, host: HostId, session: u64) -> Option<Mine> {
        let mine = self.mine.get(&host).copied();
        let mine = mine.filter(|mine| mine.session == session)?;
        self.mine.remove(&host);
        Some(mine)
    }

    pub(super) fn all_mine(&self) -> Vec<(HostId, Mine)> {
        self.mine
            .iter()
            .map(|(host, mine)| (*host, *mine))
            .collect()
    }

    /// The number of the last block about an agent that this replica holds.
    pub(super) fn last_seq(&self, host: HostId) -> Option<Mine> {
        self.mine.get(&host).copied()
    }

    /// The number of the next block about an agent that this replica holds.
    pub(super) fn next_seq(&mut self, host: HostId) -> Option<Mine> {
        let mine = self.mine.get_mut(&host)?;
        mine.seq += 1;
        Some(*mine)
    }

    pub(super) fn judge(&mut self, from: ReplicaId, block: &Block) -> Verdict {
        let host = HostId(block.host);
        if let Some(mine) = self.mine.get(&host) {
            if block.session <= mine.session || !block.up {
                let is_news = block.up && block.full;
                return if is_news {
                    Verdict::Ours
                } else {
                    Verdict::Ignore
                };
            }
            if !block.full {
                return Verdict::Gap;
            }
            self.mine.remove(&host);
            self.hold(from, block);
            return Verdict::TakeOver;
        }
        let Some(held) = self.held.get_mut(&host) else {
            return match (block.up, block.full) {
                (true, true) => {
                    self.hold(from, block);
                    Verdict::Apply
                }
                (true, false) => Verdict::Gap,
                (false, _) => Verdict::Ignore,
            };
        };
        let is_same = (held.by, held.session) == (from, block.session);
        // Of its own connections a replica knows best which is the newest; an agent's clock may have been set back.
        let is_newer = held.by == from && !is_same || block.session > held.session;
        match (block.up, block.full) {
            (false, _) if is_same => {
                self.held.remove(&host);
                Verdict::Gone
            }
            (false, _) => Verdict::Ignore,
            (true, true) if is_same && block.seq < held.seq => Verdict::Ignore,
            (true, true) if is_same || is_newer => {
                self.hold(from, block);
                Verdict::Apply
            }
            (true, false) if is_same && block.seq == held.seq + 1 => {
                held.seq = block.seq;
                Verdict::Apply
            }
            (true, false) if is_same && block.seq <= held.seq => Verdict::Ignore,
            (true, false) if is_same || is_newer => Verdict::Gap,
            (true, _) => Verdict::Ignore,
        }
    }

    fn hold(&mut self, by: ReplicaId, block: &Block) {
        let held = Held {
            by,
            session: block.session,
            seq: block.seq,
        };
        self.held.insert(HostId(block.host), held);
    }

    /// Which hosts of a digest have to be asked for.
    pub(super) fn missing(&self, from: ReplicaId, entries: &[DigestEntry]) -> Vec<u32> {
        let is_known = |entry: &&DigestEntry| {
            let host = HostId(entry.host);
            let is_newer_here = self
                .mine
                .get(&host)
                .is_some_and(|mine| mine.session >= entry.session);
            let is_held = self
                .held
                .get(&host)
                .is_some_and(|held| match held.by == from {
                    true => held.session == entry.session && held.seq >= entry.seq,
                    false => held.session > entry.session,
                });
            is_newer_here || is_held
        };
        let missing = entries.iter().filter(|entry| !is_known(entry));
        missing.map(|entry| entry.host).collect()
    }

    /// Something about these hosts was missed.
    pub(super) fn want(&mut self, from: ReplicaId, hosts: impl IntoIterator<Item = u32>) {
        let mut hosts = hosts.into_iter().peekable();
        if hosts.peek().is_some() {
            self.wanted.entry(from).or_default().extend(hosts);
        }
    }

    /// The same, but it can only be understood with what the store has: not to be asked for while that is away.
    pub(super) fn want_later(&mut self, from: ReplicaId, hosts: impl IntoIterator<Item = u32>) {
        let mut hosts = hosts.into_iter().peekable();
        if hosts.peek().is_some() {
            self.wanted_later.entry(from).or_default().extend(hosts);
        }
    }

    /// The store is there: what had to wait for it is asked for.
    pub(super) fn want_now(&mut self) {
        for (replica, hosts) in std::mem::take(&mut self.wanted_later) {
            self.want(replica, hosts);
        }
    }

    pub(super) fn dispute(&mut self, host: HostId) {
        self.disputed.insert(host);
    }

    pub(super) fn take_disputed(&mut self) -> Vec<HostId> {
        std::mem::take(&mut self.disputed).into_iter().collect()
    }

    pub(super) fn wants_of(&self, replica: ReplicaId) -> bool {
        self.wanted.contains_key(&replica) || self.wanted_later.contains_key(&replica)
    }

    /// The next hosts to ask each replica for.
    pub(super) fn take_wanted(&mut self, at_a_time: usize) -> Vec<(ReplicaId, Vec<u32>)> {
        let mut asked = Vec::new();
        self.wanted.retain(|replica, hosts| {
            let mut now = std::mem::take(hosts);
            if let Some(first_later) = now.iter().nth(at_a_time).copied() {
                *hosts = now.split_off(&first_later);
            }
            asked.push((*replica, now.into_iter().collect()));
            !hosts.is_empty()
        });
        asked
    }

    /// Hosts in a range that a replica was thought to hold, and does not: they are forgotten.
    pub(super) fn forget_others(
        &mut self,
        from: ReplicaId,
        range: std::ops::Range<u32>,
        entries: &[DigestEntry],
    ) -> Vec<HostId> {
        let named: std::collections::HashSet<u32> =
            entries.iter().map(|entry| entry.host).collect();
        let gone = self.held.extract_if(|host, held| {
            held.by == from && range.contains(&host.0) && !named.contains(&host.0)
        });
        gone.map(|(host, _)| host).collect()
    }

    /// Whether what a replica says about a connection of a host counts.
    pub(super) fn is_holder(&self, from: ReplicaId, host: u32, session: u64) -> bool {
        let held = self.held.get(&HostId(host));
        held.is_some_and(|held| (held.by, held.session) == (from, session))
    }
}

#[cfg(test)]
mod tests;
