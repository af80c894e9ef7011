//! Signals, and the families they go to: a process with everything that came from it.
//!
//! Who belongs to a family is told by three things, because each alone can be escaped: being a descendant, being in the
//! session that the command was given, and, for orphans, whoever has become their parent, the mark in the environment
//! that we started the command with. The mark names the agent, too: two agents on one machine may keep processes of the
//! same name.

use std::time::Duration;

use model::FullName;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::procfs::{self, Stat};
use crate::machine::Run;

/// How often a family is looked for again before what is left counts as unkillable (in uninterruptible sleep).
const MAX_ROUNDS: u32 = 50;

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

/// The members of a family at one moment, its root first.
#[derive(Debug)]
pub(crate) struct Family {
    /// In the session of the root, or descended from it.
    pub(crate) under_root: Vec<Stat>,
    /// Orphans that bear our mark, and their descendants.
    pub(crate) strays: Vec<Stat>,
}

impl Family {
    pub(crate) fn of(root: Run, mark: &Mark, all: &[Stat]) -> Self {
        let me = std::process::id() as i32;
        let young = |stat: &&Stat| stat.start >= root.start && stat.pid != me && stat.pid > 1;
        let mut under_root: Vec<Stat> = all
            .iter()
            .filter(young)
            .filter(|stat| stat.run() == root || stat.session == root.pid)
            .copied()
            .collect();
        under_root.sort_by_key(|stat| stat.run() != root);
        descend(&mut under_root, all);
        Self {
            strays: strays(root, mark, all, &under_root),
            under_root,
        }
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = &Stat> {
        let members = self.under_root.iter().chain(&self.strays);
        members.filter(|stat| stat.is_live())
    }
}

/// Whoever bears the mark and came after the root, without being under it, with their descendants.
fn strays(root: Run, mark: &Mark, all: &[Stat], under_root: &[Stat]) -> Vec<Stat> {
    let me = std::process::id() as i32;
    let mut strays: Vec<Stat> = all
        .iter()
        .filter(|stat| stat.start >= root.start && stat.pid != me && stat.pid > 1)
        .filter(|stat| stat.is_live())
        .filter(|stat| !under_root.iter().any(|known| known.pid == stat.pid))
        .filter(|stat| procfs::has_environment(stat.pid, &mark.0))
        .copied()
        .collect();
    descend(&mut strays, all);
    strays
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

/// SIGKILL to a whole family, again and again until nothing of it lives: a member may fork while it is being read.
pub(crate) fn kill_family(root: Run, mark: &Mark) {
    for round in 0..MAX_ROUNDS {
        let family = Family::of(root, mark, &procfs::all());
        let live: Vec<Run> = family.live().map(Stat::run).collect();
        if live.is_empty() {
            return;
        }
        for run in live {
            signal(run, Signal::KILL);
        }
        // A killed process needs a moment to go.
        std::thread::sleep(Duration::from_millis(if round < 3 { 1 } else { 5 }));
    }
    tracing::warn!(pid = root.pid, "a killed process does not go away");
}

/// A signal to exactly this run; false when it is gone.
pub(crate) fn signal(run: Run, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(run.pid) else {
        return false;
    };
    let Ok(pidfd) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
        return false;
    };
    // The pidfd holds the pid: what bears it now is what gets the signal.
    let same = Stat::read(run.pid).is_some_and(|stat| stat.start == run.start);
    same && rustix::process::pidfd_send_signal(&pidfd, signal).is_ok()
}

/// A signal to the process group that a command of ours leads.
pub(crate) fn signal_group(leader: Run, sig: Signal) -> bool {
    let Some(pid) = Pid::from_raw(leader.pid) else {
        return false;
    };
    let leads = Stat::read(leader.pid)
        .is_some_and(|stat| stat.start == leader.start && stat.session == leader.pid);
    match leads {
        true => rustix::process::kill_process_group(pid, sig).is_ok(),
        false => signal(leader, sig),
    }
}
