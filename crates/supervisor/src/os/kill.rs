//! Signals, and the families they go to: a process with everything that came from it.
//!
//! Who belongs to a family is told by three things, because each alone can be escaped: being a descendant, being in the
//! session that the command was given, and, for orphans, whoever has become their parent, the mark in the environment
//! that we started the command with. The mark names the agent, too: two agents on one machine may keep processes of the
//! same name.
//!
//! What was started by hand bears no mark and is nobody's family. Nor is a run that another held process has become,
//! whatever started it: those are spared, with all that is below them.

use std::time::Duration;

use model::FullName;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::procfs::{self, Stat};
use super::user;
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
        let young: Vec<Stat> = all
            .iter()
            .filter(|stat| stat.start >= root.start)
            .copied()
            .collect();
        let mut under_root: Vec<Stat> = young
            .iter()
            .filter(|stat| stat.run() == root || stat.session == root.pid)
            .filter(is_fair_game)
            .copied()
            .collect();
        under_root.sort_by_key(|stat| stat.run() != root);
        descend(&mut under_root, all);
        let mut strays = bearers(mark, &young);
        descend(&mut strays, all);
        strays.retain(|stat| !under_root.iter().any(|known| known.pid == stat.pid));
        Self { under_root, strays }
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = &Stat> {
        let members = self.under_root.iter().chain(&self.strays);
        members.filter(|stat| stat.is_live())
    }
}

/// Never ourselves, nor the first process.
fn is_fair_game(stat: &&Stat) -> bool {
    stat.pid != std::process::id() as i32 && stat.pid > 1
}

/// Whoever lives and bears the mark.
fn bearers(mark: &Mark, all: &[Stat]) -> Vec<Stat> {
    all.iter()
        .filter(|stat| stat.is_live())
        .filter(is_fair_game)
        .filter(|stat| procfs::has_environment(stat.pid, &mark.0))
        .copied()
        .collect()
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

/// Those members who are not spared, nor in the session of one who is, nor below one.
fn unspared(members: Vec<Stat>, spared: &[Run]) -> Vec<Run> {
    let spares = |stat: &&Stat| {
        let is_spared = |run: &Run| *run == stat.run() || run.pid == stat.session;
        spared.iter().any(is_spared)
    };
    let mut kept: Vec<Stat> = members.iter().filter(spares).copied().collect();
    descend(&mut kept, &members);
    let live = members.iter().filter(|stat| stat.is_live());
    live.filter(|stat| !kept.iter().any(|kept| kept.pid == stat.pid))
        .map(Stat::run)
        .collect()
}

/// SIGKILL to a whole family. An error when its root may not be killed.
pub(crate) fn kill_family(root: Run, mark: &Mark, spared: &[Run]) -> Result<(), String> {
    kill_all(|| {
        let mut family = Family::of(root, mark, &procfs::all());
        family.under_root.append(&mut family.strays);
        unspared(family.under_root, spared)
    })
    .into_iter()
    .find(|(run, _)| *run == root)
    .map_or(Ok(()), |(_, why)| Err(why))
}

/// SIGKILL to everyone who bears the mark, whichever run they came from, and to what is below them.
pub(crate) fn sweep(mark: &Mark, spared: &[Run]) {
    kill_all(|| {
        let all = procfs::all();
        let mut marked = bearers(mark, &all);
        descend(&mut marked, &all);
        unspared(marked, spared)
    });
}

/// SIGKILL again and again until nobody is found: a member may fork while it is being read. Who may not be killed comes
/// back, with the reason.
fn kill_all(find: impl Fn() -> Vec<Run>) -> Vec<(Run, String)> {
    let mut refused: Vec<(Run, String)> = Vec::new();
    for round in 0..MAX_ROUNDS {
        let mut live = find();
        live.retain(|run| !refused.iter().any(|(known, _)| known == run));
        if live.is_empty() {
            return refused;
        }
        for run in live {
            if let Err(why) = signal(run, Signal::KILL) {
                tracing::warn!(why, "a process that should be gone cannot be killed");
                refused.push((run, why));
            }
        }
        // A killed process needs a moment to go.
        std::thread::sleep(Duration::from_millis(if round < 3 { 1 } else { 5 }));
    }
    tracing::warn!("killed processes do not go away");
    refused
}

/// A signal to exactly this run, which may be gone. An error when it may not be sent.
pub(crate) fn signal(run: Run, signal: Signal) -> Result<(), String> {
    let Some(pid) = Pid::from_raw(run.pid) else {
        return Ok(());
    };
    let sent = rustix::process::pidfd_open(pid, PidfdFlags::empty()).and_then(|pidfd| {
        // The pidfd holds the pid: what bears it now is what gets the signal.
        let same = Stat::read(run.pid).is_some_and(|stat| stat.start == run.start);
        match same {
            true => rustix::process::pidfd_send_signal(&pidfd, signal),
            false => Ok(()),
        }
    });
    told(sent, run, signal)
}

/// A signal to the process group that a command of ours leads.
pub(crate) fn signal_group(leader: Run, sig: Signal) -> Result<(), String> {
    let leads = Stat::read(leader.pid)
        .is_some_and(|stat| stat.start == leader.start && stat.session == leader.pid);
    match (leads, Pid::from_raw(leader.pid)) {
        (true, Some(pid)) => told(rustix::process::kill_process_group(pid, sig), leader, sig),
        (true | false, _) => signal(leader, sig),
    }
}

/// One that is gone needs no signal: its end is told by itself.
fn told(sent: Result<(), Errno>, run: Run, signal: Signal) -> Result<(), String> {
    let what = || format!("signal {} to pid {}", signal.as_raw(), run.pid);
    match sent {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(Errno::PERM) => {
            let owner = user::owner_of(run.pid).unwrap_or_else(|| "another user".to_owned());
            let sends = format!("send {} of {owner}", what());
            Err(user::cannot(&sends))
        }
        Err(error) => Err(format!("the agent cannot send {}: {error}", what())),
    }
}
