//! Taking in what the other replicas tell, and noticing when one falls silent.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bus::{Message, Received, ReplicaId, Subscription};
use fleet::Link;
use model::UnixMillis;
use model::change::{HostId, Revision};
use prost::Message as _;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::peers::{SILENCE, Verdict};
use super::tell::To;
use super::word::{Block, Digest, Resend, Soft, Word};
use crate::{Control, Happening, stopped};

const BEAT_EVERY: Duration = Duration::from_secs(1);
/// A beat that is so late shows that nothing went on here.
const PAUSE: Duration = Duration::from_secs(4);
const TELL_EVERY: Duration = Duration::from_millis(100);
const BEATS_PER_DIGEST: u32 = 10;
/// After so many without a word of anybody, all the while with the store, the others are not cut off but gone.
const BEATS_TO_BE_USED_TO_IT: u32 = 30;
/// How many hosts each replica is asked for at a time, ten times a second.
const RESEND_AT_A_TIME: usize = 256;
/// How far apart the clocks of two replicas may be: a deadline that one sets is kept by another.
const MAX_APART: Duration = Duration::from_secs(2);
/// How long the first word may wait for the store to give what it is about.
const FOLLOW_WITHIN: Duration = Duration::from_secs(1);

pub(crate) async fn run(control: Control, heard: Subscription, mut stop: watch::Receiver<bool>) {
    if control.is_alone() {
        return;
    }
    tokio::join!(
        tell(control.clone(), stop.clone()),
        hear(control.clone(), heard, &mut stop)
    );
    control.tell_leaving();
}

/// Publishes what moved, signs of life, and digests.
async fn tell(control: Control, mut stop: watch::Receiver<bool>) {
    let mut beats = 0_u32;
    let mut last_beat = Instant::now();
    let (mut beat, mut moved) = (interval(BEAT_EVERY), interval(TELL_EVERY));
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    moved.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = beat.tick() => {
                let missed_some = control.0.replicas.missed_some.swap(false, Ordering::SeqCst);
                control.tell_beat(beats == 0 || missed_some);
                // After a pause of this replica there is more to hear than there was silence.
                if last_beat.elapsed() >= PAUSE {
                    control.0.replicas.peers().excuse_silence(Instant::now());
                }
                last_beat = Instant::now();
                control.notice_silence();
                beats += 1;
                if beats.is_multiple_of(BEATS_PER_DIGEST) {
                    control.tell_digest();
                }
            }
            _ = moved.tick() => {
                control.tell_moved();
                control.ask_for_wanted();
                control.tell_disputed();
            }
            () = stopped(&mut stop) => return,
        }
    }
}

async fn hear(control: Control, mut heard: Subscription, stop: &mut watch::Receiver<bool>) {
    loop {
        let received = tokio::select! {
            received = heard.recv() => received,
            () = stopped(stop) => return,
        };
        match received {
            Received::Message(from, Message::Soft(payload)) => match Soft::decode(&payload[..]) {
                Ok(soft) => control.hear(from, soft).await,
                // A newer replica may say what this one does not know.
                Err(error) => tracing::debug!(%from, %error, "a word that makes no sense"),
            },
            Received::Message(_, Message::Committed(_)) => {}
            Received::Lagged => control.0.replicas.missed_some.store(true, Ordering::SeqCst),
        }
    }
}

/// What became of a block.
enum Taken {
    Whole,
    /// It speaks of what is not known here.
    InPart,
    /// Something before it was lost.
    Gap,
}

impl Control {
    async fn hear(&self, from: ReplicaId, soft: Soft) {
        let now = Instant::now();
        self.0.replicas.peers().heard(from, now);
        match soft.word {
            Some(Word::Beat(beat)) => {
                let is_new = self.0.replicas.peers().beat(from, &beat, now);
                let apart_ms = self.now().0.abs_diff(beat.now_ms);
                if is_new && apart_ms > MAX_APART.as_millis() as u64 {
                    tracing::error!(
                        replica = %from,
                        address = beat.address,
                        apart_ms,
                        "the clocks of two replicas differ: deadlines of operations will be wrong, set the clocks"
                    );
                }
                if is_new {
                    tracing::info!(replica = %from, "another replica is there");
                    // It may not know of us either, and has to say whom it holds.
                    self.tell_beat(true);
                }
                if is_new || beat.wants_digest {
                    // To all, although one asks: what is told to one may overtake what is told to all, and a digest that is
                    // older than the word of an agent that came would take it back.
                    self.tell_digest();
                }
            }
            Some(Word::Hosts(hosts)) => {
                let revision = Revision(soft.revision);
                self.take_blocks(from, revision, &hosts.blocks).await;
            }
            Some(Word::Digest(digest)) => self.take_digest(from, digest),
            Some(Word::Resend(resend)) => {
                let hosts: Vec<HostId> = resend.hosts.into_iter().map(HostId).collect();
                self.tell_again(To::One(from), &hosts);
            }
            Some(Word::Leaving(_)) => {
                let hosts = self.0.replicas.peers().forget(from);
                tracing::info!(replica = %from, "another replica has left");
                self.lose(&hosts);
            }
            None => {}
        }
    }

    fn ask_for_wanted(&self) {
        let wanted = {
            let mut peers = self.0.replicas.peers();
            if !self.is_behind() {
                peers.want_now();
            }
            peers.take_wanted(RESEND_AT_A_TIME)
        };
        for (replica, hosts) in wanted {
            self.send_word(replica, Word::Resend(Resend { hosts }));
        }
    }

    fn tell_disputed(&self) {
        let disputed = self.0.replicas.peers().take_disputed();
        self.tell_again(To::All, &disputed);
    }

    async fn take_blocks(&self, from: ReplicaId, revision: Revision, blocks: &[Block]) {
        let (mut lost, mut unknown) = (Vec::new(), Vec::new());
        for block in blocks {
            match self.take_block(from, block) {
                Taken::Whole => {}
                Taken::InPart => unknown.push(block),
                Taken::Gap => lost.push(block.host),
            }
        }
        self.0.replicas.peers().want(from, lost);
        let is_older_here = || revision > self.fleet().revision();
        if unknown.is_empty() || !is_older_here() {
            return;
        }
        // The sender knows of commits that are not here yet. Nobody is listened to meanwhile, so not for long.
        if !self.is_behind() {
            let _ = tokio::time::timeout(FOLLOW_WITHIN, self.follow()).await;
        }
        unknown.retain(|block| self.fold_block(from, block) > 0);
        if is_older_here() {
            let hosts = unknown.iter().map(|block| block.host);
            self.0.replicas.peers().want_later(from, hosts);
        }
    }

    fn take_block(&self, from: ReplicaId, block: &Block) -> Taken {
        let host = HostId(block.host);
        let verdict = self.0.replicas.peers().judge(from, block);
        match verdict {
            Verdict::Ignore => return Taken::Whole,
            Verdict::Gap => return Taken::Gap,
            // Not at once: of two that are both right in their own eyes, each would answer the other for ever.
            Verdict::Ours => {
                self.0.replicas.peers().dispute(host);
                return Taken::Whole;
            }
            Verdict::Gone => {
                self.lose(&[host]);
                return Taken::Whole;
            }
            Verdict::TakeOver => self.0.sessions.evict(host, block.session),
            Verdict::Apply => {}
        }
        match self.fold_block(from, block) {
            0 => Taken::Whole,
            _ => Taken::InPart,
        }
    }

    /// How much of it is not known here.
    fn fold_block(&self, from: ReplicaId, block: &Block) -> usize {
        let host = HostId(block.host);
        let at = self.now();
        let (address, came_up, read) = {
            let mut fleet = self.fleet_mut();
            // The agent may have come here since it was judged, or be gone.
            let peers = self.0.replicas.peers();
            if !peers.is_holder(from, block.host, block.session) {
                return 0;
            }
            drop(peers);
            let Some(view) = fleet.host(host) else {
                return 1;
            };
            let (address, came_up) = (view.host, !view.link.is_up());
            if block.full {
                fleet.set_link(
                    host,
                    Link::Up {
                        since: UnixMillis(block.since_ms),
                    },
                );
                if let Some(info) = block.info.clone() {
                    fleet.set_agent_info(host, info.into());
                }
            }
            fleet.heard(host, at);
            (address, came_up, fleet.read_statuses(host, &block.statuses))
        };
        if came_up && block.full {
            self.tell(Happening::Agent {
                host: address,
                up: true,
                at,
            });
        }
        self.tell_of_statuses(address, &read.changed, at);
        read.n_unknown
    }

    fn take_digest(&self, from: ReplicaId, digest: Digest) {
        let (gone, knows_all) = {
            let mut peers = self.0.replicas.peers();
            let range = digest.from..digest.until;
            let gone = peers.forget_others(from, range, &digest.entries);
            let missing = peers.missing(from, &digest.entries);
            peers.want(from, missing);
            (gone, !peers.wants_of(from))
        };
        self.lose(&gone);
        if knows_all {
            self.0.replicas.is_acquainted.send_replace(true);
        }
        let peers = self.0.replicas.peers();
        let theirs = digest.entries.iter();
        let theirs: Vec<_> = theirs
            .filter(|entry| peers.is_holder(from, entry.host, entry.session))
            .collect();
        drop(peers);
        let mut fleet = self.fleet_mut();
        for entry in theirs {
            fleet.heard(HostId(entry.host), UnixMillis(entry.heard_ms));
        }
    }

    /// A replica holds these agents no more.
    fn lose(&self, hosts: &[HostId]) {
        hosts.iter().for_each(|host| self.show_gone(*host));
    }

    /// Shows that an agent is gone, unless somebody holds it by now.
    pub(crate) fn show_gone(&self, host: HostId) {
        let at = self.now();
        let address = {
            let mut fleet = self.fleet_mut();
            // Looked at under the lock of the fleet: whoever takes the agent is to be seen here before it shows so there.
            let is_held = || self.0.replicas.holder(host).is_some();
            if self.0.sessions.outbox(host).is_some() || is_held() {
                return;
            }
            let view = fleet.host(host).filter(|view| view.link.is_up());
            let Some(address) = view.map(|view| view.host) else {
                return;
            };
            fleet.set_link(host, Link::Down { since: at });
            address
        };
        self.tell(Happening::Agent {
            host: address,
            up: false,
            at,
        });
    }

    fn notice_silence(&self) {
        let silent = self.0.replicas.peers().forget_silent(Instant::now());
        let lost_some = !silent.is_empty();
        for (replica, hosts) in silent {
            let n_agents = hosts.len();
            tracing::warn!(%replica, n_agents, "a replica was silent for {} s: it is gone", SILENCE.as_secs());
            self.lose(&hosts);
        }
        self.notice_being_cut_off(lost_some);
    }

    /// One that reaches neither the store nor the others lets its agents go: somebody else may reach both.
    fn notice_being_cut_off(&self, lost_some: bool) {
        let replicas = &self.0.replicas;
        let is_lonely = replicas.peers().replicas().next().is_none();
        if lost_some || !is_lonely {
            // Who never had company cannot have lost it.
            replicas.lost_company.store(is_lonely, Ordering::SeqCst);
            replicas.beats_without.store(0, Ordering::SeqCst);
        }
        if !self.is_behind()
            && replicas.beats_without.fetch_add(1, Ordering::SeqCst) >= BEATS_TO_BE_USED_TO_IT
        {
            // The store is there and the others are not: they have ended, and this one is not cut off from them.
            replicas.lost_company.store(false, Ordering::SeqCst);
        }
        let was_cut_off = self.is_cut_off();
        let is_cut_off = self.is_behind() && replicas.lost_company.load(Ordering::SeqCst);
        replicas.is_cut_off.store(is_cut_off, Ordering::SeqCst);
        if is_cut_off && !was_cut_off {
            tracing::error!(
                "cut off from the store and from every other replica: agents are asked to go elsewhere"
            );
        }
        if is_cut_off {
            self.say_bye("the server is cut off from its store");
        }
    }
}
