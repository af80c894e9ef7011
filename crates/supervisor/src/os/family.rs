//! Families: a run with everything that came from it. Who is left of it, and the end of all who are.
//!
//! Where a run has a control group, that tells. Else who belongs to a family is told by three things, because each alone
//! can be escaped: being a descendant, being in the session that the command was given, and, for orphans, whoever has
//! become their parent, the mark in the environment that we started the command with. The mark names the agent, too: two
//! agents on one machine may keep processes of the same name.
//!
//! What was started by hand bears no mark, is in no group and is nobody's family. Nor is a run that another held process
//! has become, whatever started it: those are spared, with all that is below them.
//!
//! Without a group there are two ways to look. What came from a run that this very agent started is below us for as long
//! as it lives, because orphans come to us: [`below`] our own children there is little to read, and nobody is missed.
//! Everything else needs a [`walk`] over all of `/proc`. Whoever ended before such a look began has had their last child
//! by then, so one look serves all ends of a turn.

mod below;
mod walk;

use std::collections::HashMap;
use std::io;

use model::FullName;

use super::cgroup::Group;
use super::exits::Exits;
use super::procfs::{Stat, find_all};
use super::rights::Rights;
use super::unknown::Unknown;
use super::{clock, kill};
use crate::machine::Run;
use below::Below;
use walk::Walk;

/// How often a family is looked for again before what is left counts as unkillable (in uninterruptible sleep).
const MAX_ROUNDS: u32 = 50;
/// After how many rounds the agent waits longer for killed processes to go.
const QUICK_ROUNDS: u32 = 10;
/// How many walks over `/proc` must find nobody: one more than a daemon forks on its way to the background.
const WALKS: u32 = 4;
const BETWEEN_WALKS_MS: u64 = 2;
/// How long it is remembered that a walk found nobody.
const WALKS_COUNT_MS: u64 = 60_000;

/// What we put into the environment of each command of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark(pub(crate) Vec<String>);

impl Mark {
    pub(crate) fn new(agent: &str, name: &FullName) -> Self {
        Self(vec![
            format!("MUSTER_NAMESPACE={}", name.namespace),
            format!("MUSTER_NAME={}", name.name),
            format!("MUSTER_AGENT={agent}"),
        ])
    }

    /// One that nothing bears: an environment holds no NUL.
    pub(crate) fn none() -> Self {
        Self(vec!["\0".to_owned()])
    }

    /// Whether it is among the marks that were read of a process.
    fn is_in(&self, marks: &[u8]) -> bool {
        let entries = || marks.split(|byte| *byte == 0);
        let has = |text: &String| entries().any(|entry| entry == text.as_bytes());
        self.0.iter().all(has)
    }
}

/// Whose family is meant.
#[derive(Debug, Clone)]
pub(crate) struct Whose<'a> {
    /// What everything came from; without it, all that came from any run or command of the process.
    pub(crate) root: Option<Run>,
    /// This agent started the root, not an earlier one, nor somebody else.
    pub(crate) is_ours: bool,
    /// The runs of this process that are watched.
    pub(crate) runs: &'a [Run],
    pub(crate) mark: &'a Mark,
    /// A control group whose members are family, one and all.
    pub(crate) own: Option<Group>,
    pub(crate) among: Among,
    /// The user of a root that was found by its pid file: only what they could kill is killed, unless it is in the
    /// process's own group. Nothing where the agent started the root.
    pub(crate) found_for: Option<&'a str>,
}

/// Among whom the members are who are not in a group of the family's own.
#[derive(Debug, Clone)]
pub(crate) enum Among {
    /// They may be anywhere.
    Host,
    /// In this control group, which others are in as well.
    Group(Group),
    /// There are none.
    Nobody,
}

impl Whose<'_> {
    /// Nobody is older than the root.
    fn since(&self) -> u64 {
        self.root.map_or(0, |root| root.start)
    }

    /// With whose rights a member is killed. A control group cannot be joined by who may not write to it, so whoever is in
    /// the process's own came from its start command.
    fn rights_over(&self, run: Run) -> Result<Rights, String> {
        let Some(user) = self.found_for else {
            return Ok(Rights::Agent);
        };
        let is_inside = |group: &Group| group.pids().is_ok_and(|pids| pids.contains(&run.pid));
        match self.own.as_ref().is_some_and(is_inside) {
            true => Ok(Rights::Agent),
            false => Rights::of(user),
        }
    }

    /// The session of the root. `bearer` is who has its number: the kernel gives no number away while it is somebody's
    /// session, so once another has it, nobody of ours is left there.
    fn session(&self, bearer: Option<&Stat>) -> Option<i32> {
        let root = self.root?;
        let is_used_again = bearer.is_some_and(|stat| stat.run() != root);
        (!is_used_again).then_some(root.pid)
    }
}

/// Which runs are watched, and for whom.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) exits: &'a Exits,
    /// Whether a watched run is that of another held process.
    pub(crate) is_anothers: &'a dyn Fn(Run) -> bool,
}

impl Known<'_> {
    fn is_watched(&self, pid: i32) -> bool {
        self.exits.run_of(pid).is_some()
    }

    /// The run that another held process has with this pid.
    fn others_run(&self, pid: i32) -> Option<Run> {
        let run = self.exits.run_of(pid)?;
        (self.is_anothers)(run).then_some(run)
    }
}

/// Answers who is left of a family. Whatever knows better than `/proc` does is asked here first.
///
/// Nothing here waits: where one look cannot tell, the caller looks again a moment later.
#[derive(Debug, Default)]
pub(crate) struct Families {
    below: Option<Below>,
    restless: below::Restless,
    walk: Option<Walk>,
    /// How many walks in a row found nobody of a run's family, and when the last of them was.
    empty_walks: HashMap<Run, (u32, u64)>,
}

/// The end of a family, from round to round.
#[derive(Debug, Default)]
pub(crate) struct Killing {
    round: u32,
    refused: Vec<(Run, String)>,
    before: Vec<Run>,
}

impl Killing {
    /// How long the killed processes get to go before the next round.
    pub(crate) fn pause_ms(&self) -> u64 {
        match self.round < QUICK_ROUNDS {
            true => 1,
            false => 5,
        }
    }
}

/// Why a family was not ended.
#[derive(Debug)]
pub(crate) enum NotKilled {
    /// Its root may not be killed.
    Refused(String),
    /// Who is left is not known.
    Unknown(Unknown),
}

impl Families {
    /// A new turn: what was seen in the last one counts no more.
    pub(crate) fn look_anew(&mut self) {
        self.below = None;
        self.walk = None;
        if !self.empty_walks.is_empty() {
            let now = clock::boot_ms();
            self.empty_walks
                .retain(|_, (_, at)| now < *at + WALKS_COUNT_MS);
        }
    }

    /// Whether anybody of it lives.
    ///
    /// A walk over `/proc` can miss a process that forks and ends while it is being walked: what was read of it is dead
    /// by then, and its child was not there yet. So that way a family counts as gone only when walk after walk finds
    /// nobody; until then it is [`Unknown::Yet`].
    pub(crate) fn is_anyone_left(
        &mut self,
        whose: &Whose<'_>,
        known: Known<'_>,
    ) -> Result<bool, Unknown> {
        let members = self.members(whose, known)?;
        let Some(root) = whose.root else {
            return Ok(members.iter().any(Stat::is_live));
        };
        if members.iter().any(Stat::is_live) {
            self.empty_walks.remove(&root);
            return Ok(true);
        }
        if is_below_us(whose) || is_empty_group(whose)? {
            return Ok(false);
        }
        let now = clock::boot_ms();
        let (walks, at) = self.empty_walks.entry(root).or_insert((0, 0));
        if now >= *at + BETWEEN_WALKS_MS {
            (*walks, *at) = (*walks + 1, now);
        }
        match *walks >= WALKS {
            true => {
                self.empty_walks.remove(&root);
                Ok(false)
            }
            false => Err(Unknown::Yet),
        }
    }

    /// One round of SIGKILL to everybody of it. `None` means that another round is needed a moment later: a member may
    /// fork while it is being read, so the family is gone only when nobody is found.
    pub(crate) fn kill_round(
        &mut self,
        whose: &Whose<'_>,
        known: Known<'_>,
        killing: &mut Killing,
    ) -> Option<Result<(), NotKilled>> {
        let is_last = killing.round >= MAX_ROUNDS;
        let Killing {
            round,
            refused,
            before,
        } = killing;
        if *round > 0 {
            self.look_anew();
        }
        *round += 1;
        let members = match self.members(whose, known) {
            Ok(members) => members,
            Err(unknown) if is_last => return Some(Err(NotKilled::Unknown(unknown))),
            Err(_) => return None,
        };
        let mut live = unspared(&members, whose.root, known);
        live.retain(|run| !refused.iter().any(|(known, _)| known == run));
        if live.is_empty() {
            return Some(told(refused, whose.root));
        }
        if is_last {
            tracing::warn!("killed processes do not go away");
            return Some(told(refused, whose.root));
        }
        // A member forks as fast as the agent kills.
        if *round > 2 && live.iter().any(|run| !before.contains(run)) {
            kill_group(whose, known);
        }
        for run in &live {
            let rights = whose.rights_over(*run);
            if let Err(why) = rights.and_then(|rights| kill::kill(*run, &rights)) {
                tracing::warn!(why, "a process that should be gone cannot be killed");
                refused.push((*run, why));
            }
        }
        *before = live;
        None
    }

    /// The members, by a look that began after the root did, and after its end if it has ended.
    fn members(&mut self, whose: &Whose<'_>, known: Known<'_>) -> Result<Vec<Stat>, Unknown> {
        let inside = whose.own.as_ref().map(Group::pids).transpose()?;
        let mut members = match &whose.among {
            Among::Nobody => Vec::new(),
            Among::Group(group) => Walk::of(find_all(&group.pids()?)?, 0).family(whose, known)?,
            Among::Host if is_below_us(whose) => {
                self.below.take_if(|below| !below.covers(whose));
                let below = match self.below.take() {
                    Some(below) => below,
                    None => Below::read(known, &mut self.restless)?,
                };
                self.below.insert(below).family(whose)?
            }
            Among::Host => {
                self.walk.take_if(|walk| !walk.covers(whose));
                let walk = match self.walk.take() {
                    Some(walk) => walk,
                    None => Walk::read()?,
                };
                self.walk.insert(walk).family(whose, known)?
            }
        };
        let inside = find_all(&inside.unwrap_or_default())?.into_iter();
        let inside = inside.filter(|stat| stat.start >= whose.since() && is_fair_game(stat));
        for stat in inside {
            if !members.iter().any(|known| known.pid == stat.pid) {
                members.push(stat);
            }
        }
        Ok(members)
    }
}

/// Whether all of it can be found below us.
fn is_below_us(whose: &Whose<'_>) -> bool {
    matches!(whose.among, Among::Host) && whose.is_ours && below::can_be_read()
}

/// Only a root that may not be killed is an error: it is what was to end.
fn told(refused: &[(Run, String)], root: Option<Run>) -> Result<(), NotKilled> {
    let root = refused.iter().find(|(run, _)| Some(*run) == root);
    root.map_or(Ok(()), |(_, why)| Err(NotKilled::Refused(why.clone())))
}

/// All of the group at once, so that nobody forks in between, if nobody in it has to be spared.
fn kill_group(whose: &Whose<'_>, known: Known<'_>) {
    let Some(group) = &whose.own else {
        return;
    };
    // Without knowing who is in it, each gets a signal of its own.
    let Ok(stats) = group.pids().and_then(|pids| find_all(&pids)) else {
        return;
    };
    let older = |stat: &Stat| whose.root.is_some_and(|root| stat.start < root.start);
    let is_kept = |stat: &Stat| older(stat) || !is_fair_game(stat);
    let live = stats.iter().filter(|stat| stat.is_live()).count();
    let condemned = unspared(&stats, whose.root, known).len();
    if condemned == live && !stats.iter().any(is_kept) {
        // Where the kernel cannot, each gets a signal of its own.
        group.kill();
    }
}

/// Whether a family that is in its own group alone is gone.
fn is_empty_group(whose: &Whose<'_>) -> io::Result<bool> {
    match (&whose.own, &whose.among) {
        (Some(own), Among::Nobody) => Ok(own.pids()?.is_empty()),
        (Some(_) | None, Among::Host | Among::Group(_) | Among::Nobody) => Ok(false),
    }
}

/// Never ourselves, nor the first process.
fn is_fair_game(stat: &Stat) -> bool {
    stat.pid != std::process::id() as i32 && stat.pid > 1
}

/// Those members who live and are not spared, nor in the session of one who is, nor below one.
fn unspared(members: &[Stat], root: Option<Run>, known: Known<'_>) -> Vec<Run> {
    let other = |pid: i32| known.others_run(pid).filter(|run| Some(*run) != root);
    let spares = |stat: &Stat| other(stat.pid) == Some(stat.run()) || other(stat.session).is_some();
    let mut kept: Vec<i32> = Vec::new();
    let mut is_done = false;
    while !is_done {
        is_done = true;
        for stat in members.iter().filter(|stat| stat.is_live()) {
            let is_kept = spares(stat) || kept.contains(&stat.ppid);
            if is_kept && !kept.contains(&stat.pid) {
                kept.push(stat.pid);
                is_done = false;
            }
        }
    }
    let live = members.iter().filter(|stat| stat.is_live());
    live.filter(|stat| !kept.contains(&stat.pid))
        .map(Stat::run)
        .collect()
}
