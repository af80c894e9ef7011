//! The other replicas, and which of them holds which agent. Pure: time and messages are arguments.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use bus::ReplicaId;
use model::bounds::MAX_HOSTNAME;
use model::change::HostId;
use model::text::sanitize_line;
use tokio::time::Instant;

use super::message::{DigestEntry, Heartbeat, HostBlock};

/// A replica that is silent for so long counts as stopped, and its agents as disconnected.
pub(super) const SILENCE: Duration = Duration::from_secs(8);

#[derive(Debug, Default)]
pub(super) struct Peers {
    replicas: HashMap<ReplicaId, Peer>,
    /// Agents that other replicas hold.
    held: HashMap<HostId, PeerSession>,
    /// Agents that this replica holds.
    own: HashMap<HostId, OwnSession>,
    /// Hosts to request again, by the replica that holds them.
    missing: BTreeMap<ReplicaId, BTreeSet<u32>>,
    /// Hosts to request once the store has newer commits.
    missing_later: BTreeMap<ReplicaId, BTreeSet<u32>>,
    /// Agents held here that another replica claims to hold.
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
struct PeerSession {
    by: ReplicaId,
    session: u64,
    seq: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OwnSession {
    pub(super) session: u64,
    /// Of the last published block.
    pub(super) seq: u64,
}

/// What to do with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Apply,
    /// The same, and this replica no longer holds the agent.
    TakeOver,
    /// The agent has disconnected.
    Gone,
    /// Outdated, or not from the holder of the agent.
    Ignore,
    /// An earlier block was lost: request the host.
    Gap,
    /// The sender does not know that this replica holds the agent: publish it.
    Ours,
}

impl Peers {
    /// True for a new replica.
    pub(super) fn heartbeat(
        &mut self,
        from: ReplicaId,
        heartbeat: &Heartbeat,
        now: Instant,
    ) -> bool {
        let mut address = heartbeat.address.clone();
        sanitize_line(&mut address, MAX_HOSTNAME);
        let peer = Peer {
            heard: now,
            n_agents: heartbeat.n_agents,
            is_draining: heartbeat.is_draining,
            leads: heartbeat.leads,
            address,
        };
        self.replicas.insert(from, peer).is_none()
    }

    /// Any message is a sign of life.
    pub(super) fn heard(&mut self, from: ReplicaId, now: Instant) {
        if let Some(peer) = self.replicas.get_mut(&from) {
            peer.heard = now;
        }
    }

    /// Restarts the silence of all replicas, after this process was paused.
    pub(super) fn excuse_silence(&mut self, now: Instant) {
        self.replicas.values_mut().for_each(|peer| peer.heard = now);
    }

    /// Forgets silent replicas; returns the hosts that they held.
    pub(super) fn forget_silent(&mut self, now: Instant) -> Vec<(ReplicaId, Vec<HostId>)> {
        let silent = self.replicas.iter();
        let silent = silent.filter(|(_, peer)| now.duration_since(peer.heard) >= SILENCE);
        let silent: Vec<ReplicaId> = silent.map(|(id, _)| *id).collect();
        silent.into_iter().map(|id| (id, self.forget(id))).collect()
    }

    /// Forgets a replica; returns the hosts that it held.
    pub(super) fn forget(&mut self, replica: ReplicaId) -> Vec<HostId> {
        self.replicas.remove(&replica);
        self.missing.remove(&replica);
        self.missing_later.remove(&replica);
        let held = self.held.extract_if(|_, held| held.by == replica);
        held.map(|(host, _)| host).collect()
    }

    pub(super) fn replicas(&self) -> impl Iterator<Item = (ReplicaId, &Peer)> {
        self.replicas.iter().map(|(id, peer)| (*id, peer))
    }

    pub(super) fn holder(&self, host: HostId) -> Option<ReplicaId> {
        self.held.get(&host).map(|held| held.by)
    }

    /// An agent has connected here. Its session number is raised above earlier ones: the last connection counts.
    pub(super) fn attach(&mut self, host: HostId, session: u64) -> OwnSession {
        let before = self.held.remove(&host).map(|held| held.session);
        let before = before.max(self.own.get(&host).map(|own| own.session));
        let session = session.max(before.map_or(0, |before| before + 1));
        let own = OwnSession { session, seq: 0 };
        self.own.insert(host, own);
        own
    }

    /// An agent has disconnected; None when another replica holds it by now.
    pub(super) fn detach(&mut self, host: HostId, session: u64) -> Option<OwnSession> {
        let own = self.own.get(&host).copied();
        let own = own.filter(|own| own.session == session)?;
        self.own.remove(&host);
        Some(own)
    }

    pub(super) fn holds_any(&self) -> bool {
        !self.own.is_empty()
    }

    pub(super) fn own_sessions(&self) -> Vec<(HostId, OwnSession)> {
        self.own.iter().map(|(host, own)| (*host, *own)).collect()
    }

    /// The session, with the sequence number of the last block.
    pub(super) fn last_seq(&self, host: HostId) -> Option<OwnSession> {
        self.own.get(&host).copied()
    }

    /// The session, with the sequence number for the next block.
    pub(super) fn next_seq(&mut self, host: HostId) -> Option<OwnSession> {
        let own = self.own.get_mut(&host)?;
        own.seq += 1;
        Some(*own)
    }

    pub(super) fn judge(&mut self, from: ReplicaId, block: &HostBlock) -> Verdict {
        let host = HostId(block.host);
        if let Some(own) = self.own.get(&host) {
            if block.session <= own.session || !block.up {
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
            self.own.remove(&host);
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
        // A replica knows the order of its own sessions; session numbers come from the agent's clock, which may be set back.
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

    fn hold(&mut self, by: ReplicaId, block: &HostBlock) {
        let held = PeerSession {
            by,
            session: block.session,
            seq: block.seq,
        };
        self.held.insert(HostId(block.host), held);
    }

    /// The hosts of a digest that have to be requested.
    pub(super) fn outdated(&self, from: ReplicaId, entries: &[DigestEntry]) -> Vec<u32> {
        let is_known = |entry: &&DigestEntry| {
            let host = HostId(entry.host);
            let is_newer_here = self
                .own
                .get(&host)
                .is_some_and(|own| own.session >= entry.session);
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

    /// Requests hosts with the next message.
    pub(super) fn add_missing(&mut self, from: ReplicaId, hosts: impl IntoIterator<Item = u32>) {
        let mut hosts = hosts.into_iter().peekable();
        if hosts.peek().is_some() {
            self.missing.entry(from).or_default().extend(hosts);
        }
    }

    /// Requests hosts once the store is reachable: their blocks refer to commits that are not here yet.
    pub(super) fn add_missing_later(
        &mut self,
        from: ReplicaId,
        hosts: impl IntoIterator<Item = u32>,
    ) {
        let mut hosts = hosts.into_iter().peekable();
        if hosts.peek().is_some() {
            self.missing_later.entry(from).or_default().extend(hosts);
        }
    }

    /// The store is reachable: requests what waited for it.
    pub(super) fn retry_missing(&mut self) {
        for (replica, hosts) in std::mem::take(&mut self.missing_later) {
            self.add_missing(replica, hosts);
        }
    }

    pub(super) fn dispute(&mut self, host: HostId) {
        self.disputed.insert(host);
    }

    pub(super) fn take_disputed(&mut self) -> Vec<HostId> {
        std::mem::take(&mut self.disputed).into_iter().collect()
    }

    pub(super) fn is_missing_any(&self, replica: ReplicaId) -> bool {
        self.missing.contains_key(&replica) || self.missing_later.contains_key(&replica)
    }

    /// The next hosts to request from each replica.
    pub(super) fn take_missing(&mut self, at_a_time: usize) -> Vec<(ReplicaId, Vec<u32>)> {
        let mut asked = Vec::new();
        self.missing.retain(|replica, hosts| {
            let mut now = std::mem::take(hosts);
            if let Some(first_later) = now.iter().nth(at_a_time).copied() {
                *hosts = now.split_off(&first_later);
            }
            asked.push((*replica, now.into_iter().collect()));
            !hosts.is_empty()
        });
        asked
    }

    /// Drops the hosts in a range that a digest no longer lists; returns them.
    pub(super) fn drop_unlisted(
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

    /// Whether a replica holds this session of a host.
    pub(super) fn is_holder(&self, from: ReplicaId, host: u32, session: u64) -> bool {
        let held = self.held.get(&HostId(host));
        held.is_some_and(|held| (held.by, held.session) == (from, session))
    }
}

#[cfg(test)]
mod tests;
