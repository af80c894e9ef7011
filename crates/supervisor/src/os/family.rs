//! Families: a run with everything that it started. Finds the members that live, and kills them.
//!
//! If a run has a control group, its members are the family. Otherwise three properties tell, because a process can escape
//! each of them: being a descendant, being in the session of the command, and, for orphans, having the mark in their
//! environment that the agent gave to the command. The mark names the agent, too: two agents on one host may supervise
//! processes of the same name.
//!
//! A process that was started by hand has no mark and is in no group, so it is in no family. The run of another held
//! process is spared with all its descendants, whatever started it.
//!
//! Without a group there are two ways to search. The family of a run that this agent process started stays [`below`] the
//! agent, because the agent is the subreaper: that is little to read and misses nothing. Everything else needs a [`walk`]
//! over all of `/proc`. A process that ended before such a search began can have no later child, so one search serves all
//! exits of a turn.

mod below;
mod walk;

use std::collections::HashMap;
use std::io;

use super::cgroup::Group;
pub(crate) use super::family_query::{FamilyQuery, KillError, Mark, SearchScope, WatchedRuns};
use super::observe_error::ObserveError;
use super::procfs::{Stat, find_all};
use super::rights::OsRights;
use super::{clock, kill};
use crate::machine::Run;
use below::Below;
use walk::Walk;

/// After how many rounds the remaining members count as unkillable (in uninterruptible sleep).
const MAX_ROUNDS: u32 = 50;
/// After how many rounds the agent pauses longer between rounds.
const QUICK_ROUNDS: u32 = 10;
/// How many walks over `/proc` must find no member: one more than a daemon forks on its way to the background.
const WALKS: u32 = 4;
const BETWEEN_WALKS_MS: u64 = 2;
/// How long the count of empty walks is kept.
const WALKS_COUNT_MS: u64 = 60_000;

impl Mark {
    /// Whether these variables of a process include it.
    fn is_in(&self, marks: &[u8]) -> bool {
        let entries = || marks.split(|byte| *byte == 0);
        let has = |text: &String| entries().any(|entry| entry == text.as_bytes());
        self.0.iter().all(has)
    }
}

impl FamilyQuery<'_> {
    /// No member is older than the root.
    fn since(&self) -> u64 {
        self.root.map_or(0, |root| root.start)
    }

    /// With which rights a member is killed. Only a process that may write to a control group can join it, so every member of
    /// the process's own group was started by its start command.
    fn rights_over(&self, run: Run) -> Result<OsRights, String> {
        let Some(user) = self.found_for else {
            return Ok(OsRights::Agent);
        };
        let is_inside = |group: &Group| group.pids().is_ok_and(|pids| pids.contains(&run.pid));
        match self.own.as_ref().is_some_and(is_inside) {
            true => Ok(OsRights::Agent),
            false => OsRights::of(user),
        }
    }

    /// The session of the root. `bearer` is the process with the root's pid: the kernel does not reuse a number that is still
    /// a session, so if another process has it, no member is left in that session.
    fn session(&self, bearer: Option<&Stat>) -> Option<i32> {
        let root = self.root?;
        let is_used_again = bearer.is_some_and(|stat| stat.run() != root);
        (!is_used_again).then_some(root.pid)
    }
}

impl WatchedRuns<'_> {
    fn is_watched(&self, pid: i32) -> bool {
        self.exits.run_of(pid).is_some()
    }

    /// The run of another held process with this pid.
    fn others_run(&self, pid: i32) -> Option<Run> {
        let run = self.exits.run_of(pid)?;
        (self.is_of_another)(run).then_some(run)
    }
}

/// Searches for the members of families.
///
/// Nothing here waits: if one search cannot decide, the caller searches again a moment later.
#[derive(Debug, Default)]
pub(crate) struct Families {
    below: Option<Below>,
    restless: below::Restless,
    walk: Option<Walk>,
    /// How many walks in a row found no member of a run's family, and when the last of them was.
    empty_walks: HashMap<Run, (u32, u64)>,
}

/// The kill of a family, from round to round.
#[derive(Debug, Default)]
pub(crate) struct KillProgress {
    round: u32,
    refused: Vec<(Run, String)>,
    before: Vec<Run>,
}

impl KillProgress {
    /// The pause before the next round.
    pub(crate) fn pause_ms(&self) -> u64 {
        match self.round < QUICK_ROUNDS {
            true => 1,
            false => 5,
        }
    }
}

impl Families {
    /// A new turn: drops the readings of the last one.
    pub(crate) fn forget_readings(&mut self) {
        self.below = None;
        self.walk = None;
        if !self.empty_walks.is_empty() {
            let now = clock::boot_ms();
            self.empty_walks
                .retain(|_, (_, at)| now < *at + WALKS_COUNT_MS);
        }
    }

    /// Whether a member lives.
    ///
    /// A walk over `/proc` can miss a process that forks and exits during the walk: the parent is dead by then, and the child
    /// did not exist yet. So a family counts as gone only after several walks in a row found no member; until then the
    /// result is [`ObserveError::NotYet`].
    pub(crate) fn is_anyone_left(
        &mut self,
        query: &FamilyQuery<'_>,
        known: WatchedRuns<'_>,
    ) -> Result<bool, ObserveError> {
        let members = self.members(query, known)?;
        let Some(root) = query.root else {
            return Ok(members.iter().any(Stat::is_live));
        };
        if members.iter().any(Stat::is_live) {
            self.empty_walks.remove(&root);
            return Ok(true);
        }
        if is_below_us(query) || is_empty_group(query)? {
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
            false => Err(ObserveError::NotYet),
        }
    }

    /// Sends SIGKILL to every member. `None` means that another round is needed a moment later: a member may fork during the
    /// search, so the family is gone only when a round finds no member.
    pub(crate) fn kill_round(
        &mut self,
        query: &FamilyQuery<'_>,
        known: WatchedRuns<'_>,
        killing: &mut KillProgress,
    ) -> Option<Result<(), KillError>> {
        let is_last = killing.round >= MAX_ROUNDS;
        let KillProgress {
            round,
            refused,
            before,
        } = killing;
        if *round > 0 {
            self.forget_readings();
        }
        *round += 1;
        let members = match self.members(query, known) {
            Ok(members) => members,
            Err(unknown) if is_last => return Some(Err(KillError::Unknown(unknown))),
            Err(_) => return None,
        };
        let mut live = unspared(&members, query.root, known);
        live.retain(|run| !refused.iter().any(|(known, _)| known == run));
        if live.is_empty() {
            return Some(kill_result(refused, query.root));
        }
        if is_last {
            tracing::warn!("killed processes do not go away");
            return Some(kill_result(refused, query.root));
        }
        // New members: one of them forks as fast as the agent kills.
        if *round > 2 && live.iter().any(|run| !before.contains(run)) {
            kill_group(query, known);
        }
        for run in &live {
            let rights = query.rights_over(*run);
            if let Err(why) = rights.and_then(|rights| kill::kill(*run, &rights)) {
                tracing::warn!(why, "a process that should be gone cannot be killed");
                refused.push((*run, why));
            }
        }
        *before = live;
        None
    }

    /// The members, by a search that began after the root began, and after its end if it has ended.
    fn members(
        &mut self,
        query: &FamilyQuery<'_>,
        known: WatchedRuns<'_>,
    ) -> Result<Vec<Stat>, ObserveError> {
        let inside = query.own.as_ref().map(Group::pids).transpose()?;
        let mut members = match &query.among {
            SearchScope::Nothing => Vec::new(),
            SearchScope::Group(group) => {
                Walk::of(find_all(&group.pids()?)?, 0).family(query, known)?
            }
            SearchScope::Host if is_below_us(query) => {
                self.below.take_if(|below| !below.covers(query));
                let below = match self.below.take() {
                    Some(below) => below,
                    None => Below::read(known, &mut self.restless)?,
                };
                self.below.insert(below).family(query)?
            }
            SearchScope::Host => {
                self.walk.take_if(|walk| !walk.covers(query));
                let walk = match self.walk.take() {
                    Some(walk) => walk,
                    None => Walk::read()?,
                };
                self.walk.insert(walk).family(query, known)?
            }
        };
        let inside = find_all(&inside.unwrap_or_default())?.into_iter();
        let inside = inside.filter(|stat| stat.start >= query.since() && is_fair_game(stat));
        for stat in inside {
            if !members.iter().any(|known| known.pid == stat.pid) {
                members.push(stat);
            }
        }
        Ok(members)
    }
}

/// Whether all of it is below the agent process.
fn is_below_us(query: &FamilyQuery<'_>) -> bool {
    matches!(query.among, SearchScope::Host) && query.is_ours && below::can_be_read()
}

/// Only a root that may not be killed is an error.
fn kill_result(refused: &[(Run, String)], root: Option<Run>) -> Result<(), KillError> {
    let root = refused.iter().find(|(run, _)| Some(*run) == root);
    root.map_or(Ok(()), |(_, why)| Err(KillError::Refused(why.clone())))
}

/// Kills all of the group at once, so that no member forks in between, unless a member is spared.
fn kill_group(query: &FamilyQuery<'_>, known: WatchedRuns<'_>) {
    let Some(group) = &query.own else {
        return;
    };
    // If the group cannot be read, each member gets its own signal.
    let Ok(stats) = group.pids().and_then(|pids| find_all(&pids)) else {
        return;
    };
    let older = |stat: &Stat| query.root.is_some_and(|root| stat.start < root.start);
    let is_kept = |stat: &Stat| older(stat) || !is_fair_game(stat);
    let live = stats.iter().filter(|stat| stat.is_live()).count();
    let condemned = unspared(&stats, query.root, known).len();
    if condemned == live && !stats.iter().any(is_kept) {
        // If the kernel cannot, each member gets its own signal.
        group.kill();
    }
}

/// Whether a family that is only in its own group is gone.
fn is_empty_group(query: &FamilyQuery<'_>) -> io::Result<bool> {
    match (&query.own, &query.among) {
        (Some(own), SearchScope::Nothing) => Ok(own.pids()?.is_empty()),
        (Some(_) | None, SearchScope::Host | SearchScope::Group(_) | SearchScope::Nothing) => {
            Ok(false)
        }
    }
}

/// Neither the agent nor pid 1.
fn is_fair_game(stat: &Stat) -> bool {
    stat.pid != std::process::id() as i32 && stat.pid > 1
}

/// The live members, without the runs of other held processes, their sessions and their descendants.
fn unspared(members: &[Stat], root: Option<Run>, known: WatchedRuns<'_>) -> Vec<Run> {
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
