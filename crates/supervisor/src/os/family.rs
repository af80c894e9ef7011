//! Families: a run with everything that came from it. Who is left of it, and the end of all who are.
//!
//! Where a run has a control group, that tells. Else who belongs to a family is told by three things, because each alone
//! can be escaped: being a descendant, being in the session that the command was given, and, for orphans, whoever has
//! become their parent, the mark in the environment that we started the command with. The mark names the agent, too: two
//! agents on one machine may keep processes of the same name.
//!
//! What was started by hand bears no mark, is in no group and is nobody's family. Nor is a run that another held process has become,
//! whatever started it: those are spared, with all that is below them.

use std::time::Duration;

use model::FullName;
use rustix::process::Signal;

use super::cgroup::Group;
use super::kill;
use super::procfs::{self, Stat};
use crate::machine::Run;

/// How often a family is looked for again before what is left counts as unkillable (in uninterruptible sleep).
const MAX_ROUNDS: u32 = 50;
/// How many walks over `/proc` must find nobody: one more than a daemon forks on its way to the background.
const WALKS: u32 = 4;
const BETWEEN_WALKS: Duration = Duration::from_millis(2);

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
}

/// Whose family is meant.
#[derive(Debug, Clone)]
pub(crate) struct Whose<'a> {
    /// What everything came from; without it, all that came from any run or command of the process.
    pub(crate) root: Option<Run>,
    pub(crate) mark: &'a Mark,
    /// A control group whose members are family, one and all.
    pub(crate) own: Option<Group>,
    pub(crate) among: Among,
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

/// The run of another held process that has this pid, if one has.
pub(crate) type Spared<'a> = &'a dyn Fn(i32) -> Option<Run>;

/// Answers who is left of a family. Whatever knows better than `/proc` does is asked here first.
#[derive(Debug)]
pub(crate) struct Families {}

impl Families {
    pub(crate) fn new() -> Self {
        Self {}
    }

    /// Whether anybody of it lives.
    ///
    /// A walk over `/proc` can miss a process that forks and ends while it is being walked: what was read of it is dead
    /// by then, and its child was not there yet. A family counts as gone only when walk after walk finds nobody.
    pub(crate) fn is_anyone_left(&mut self, whose: &Whose<'_>) -> bool {
        for walk in 0..WALKS {
            if walk > 0 {
                std::thread::sleep(BETWEEN_WALKS);
            }
            if members(whose).iter().any(Stat::is_live) {
                return true;
            }
            // A group is never read in the middle of that.
            if is_empty_group(whose) {
                return false;
            }
        }
        false
    }

    /// SIGKILL to everybody of it, again and again until nobody is found: a member may fork while it is being read. An
    /// error when its root may not be killed.
    pub(crate) fn kill_all(&mut self, whose: &Whose<'_>, spared: Spared<'_>) -> Result<(), String> {
        let mut refused: Vec<(Run, String)> = Vec::new();
        let mut before: Vec<Run> = Vec::new();
        for round in 0..MAX_ROUNDS {
            let mut live = unspared(members(whose), whose.root, spared);
            live.retain(|run| !refused.iter().any(|(known, _)| known == run));
            if live.is_empty() {
                return told(refused, whose.root);
            }
            // Somebody forks as fast as we kill.
            if round >= 2 && live.iter().any(|run| !before.contains(run)) {
                kill_group(whose, spared);
            }
            for run in &live {
                if let Err(why) = kill::signal(*run, Signal::KILL) {
                    tracing::warn!(why, "a process that should be gone cannot be killed");
                    refused.push((*run, why));
                }
            }
            before = live;
            // A killed process needs a moment to go.
            std::thread::sleep(Duration::from_millis(if round < 3 { 1 } else { 5 }));
        }
        tracing::warn!("killed processes do not go away");
        told(refused, whose.root)
    }
}

/// Only a root that may not be killed is an error: it is what was to end.
fn told(refused: Vec<(Run, String)>, root: Option<Run>) -> Result<(), String> {
    let root = refused.into_iter().find(|(run, _)| Some(*run) == root);
    root.map_or(Ok(()), |(_, why)| Err(why))
}

/// All of the group at once, so that nobody forks in between, if nobody in it has to be spared.
fn kill_group(whose: &Whose<'_>, spared: Spared<'_>) {
    if let Some(group) = &whose.own {
        let stats = read_all(&group.pids());
        let older = |stat: &Stat| whose.root.is_some_and(|root| stat.start < root.start);
        let is_kept = |stat: &Stat| older(stat) || !is_fair_game(stat);
        let live = stats.iter().filter(|stat| stat.is_live()).count();
        let condemned = unspared(stats.clone(), whose.root, spared).len();
        if condemned == live && !stats.iter().any(is_kept) {
            // Where the kernel cannot, each gets a signal of its own.
            group.kill();
        }
    }
}

/// Whether a family that is in its own group alone is gone.
fn is_empty_group(whose: &Whose<'_>) -> bool {
    match (&whose.own, &whose.among) {
        (Some(own), Among::Nobody) => own.pids().is_empty(),
        (Some(_) | None, Among::Host | Among::Group(_) | Among::Nobody) => false,
    }
}

/// The members of a family at one moment.
fn members(whose: &Whose<'_>) -> Vec<Stat> {
    let inside = whose.own.as_ref().map_or_else(Vec::new, Group::pids);
    let mut all = match &whose.among {
        Among::Host => procfs::all(),
        Among::Group(group) => read_all(&group.pids()),
        Among::Nobody => Vec::new(),
    };
    if !matches!(whose.among, Among::Host) {
        all.extend(read_all(&inside));
    }
    members_among(whose, &all, &inside)
}

fn read_all(pids: &[i32]) -> Vec<Stat> {
    pids.iter().filter_map(|pid| Stat::read(*pid)).collect()
}

fn members_among(whose: &Whose<'_>, all: &[Stat], inside: &[i32]) -> Vec<Stat> {
    let since = whose.root.map_or(0, |root| root.start);
    // The kernel gives no number away while it is somebody's session: once another has it, nobody of ours is left there.
    let is_used_again = |root: Run| {
        let mut bearers = all.iter().filter(|stat| stat.pid == root.pid);
        bearers.any(|stat| stat.start != root.start)
    };
    let session = whose.root.filter(|root| !is_used_again(*root));
    let in_session =
        |stat: &Stat| session.is_some_and(|root| stat.run() == root || stat.session == root.pid);
    let bears_mark =
        |stat: &Stat| stat.is_live() && procfs::has_environment(stat.pid, &whose.mark.0);
    let mut members: Vec<Stat> = all
        .iter()
        .filter(|stat| stat.start >= since && is_fair_game(stat))
        .filter(|stat| inside.contains(&stat.pid) || in_session(stat) || bears_mark(stat))
        .copied()
        .collect();
    descend(&mut members, all);
    members
}

/// Never ourselves, nor the first process.
fn is_fair_game(stat: &Stat) -> bool {
    stat.pid != std::process::id() as i32 && stat.pid > 1
}

/// Adds every descendant of the members.
fn descend(members: &mut Vec<Stat>, all: &[Stat]) {
    let mut next = 0;
    while next < members.len() {
        let parent = members[next].pid;
        for stat in all.iter().filter(|stat| stat.ppid == parent) {
            if !members.iter().any(|known| known.pid == stat.pid) {
                members.push(*stat);
            }
        }
        next += 1;
    }
}

/// Those members who live and are not spared, nor in the session of one who is, nor below one.
fn unspared(members: Vec<Stat>, root: Option<Run>, spared: Spared<'_>) -> Vec<Run> {
    let other = |pid: i32| spared(pid).filter(|run| Some(*run) != root);
    let spares =
        |stat: &&Stat| other(stat.pid) == Some(stat.run()) || other(stat.session).is_some();
    let mut kept: Vec<Stat> = members.iter().filter(spares).copied().collect();
    descend(&mut kept, &members);
    let live = members.iter().filter(|stat| stat.is_live());
    live.filter(|stat| !kept.iter().any(|kept| kept.pid == stat.pid))
        .map(Stat::run)
        .collect()
}
