//! Our own children: the runs that we started, and the orphans that came to us.
//!
//! The kernel lists them in one file. Almost all are runs that are watched, so only the few others are looked at. Whoever
//! lives is below one of the list, which is whole: only we take anybody off it, by waiting for them. One of the list who
//! has ended before it was looked at may have left a child meanwhile, and one who is just becoming another program cannot
//! be told from a stranger; then the list is read again.

use std::collections::HashSet;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, waitpid};

use super::{Known, Whose, is_fair_game};
use crate::os::clock;
use crate::os::procfs::{self, Stat};

/// How often the list is read again: each time somebody has begun or ended between two system calls.
const MAX_TRIES: u32 = 100;
const BETWEEN_TRIES: Duration = Duration::from_micros(200);

/// Our children at one moment.
#[derive(Debug)]
pub(super) struct Below {
    /// When it was read, in ticks.
    at: u64,
    pids: HashSet<i32>,
    /// Those whose runs nobody watches.
    orphans: Vec<Orphan>,
}

#[derive(Debug)]
struct Orphan {
    stat: Stat,
    marks: Vec<u8>,
}

/// Whether this kernel lists children.
pub(super) fn can_be_read() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| std::path::Path::new("/proc/thread-self/children").exists())
}

impl Below {
    pub(super) fn read(known: Known<'_>) -> Self {
        let (mut below, mut is_whole) = Self::try_read(known);
        for _ in 1..MAX_TRIES {
            if is_whole {
                return below;
            }
            std::thread::sleep(BETWEEN_TRIES);
            (below, is_whole) = Self::try_read(known);
        }
        tracing::warn!("orphans come and go faster than they can be looked at");
        below
    }

    /// Not whole when one of them has ended, or was becoming another program, before it was looked at.
    fn try_read(known: Known<'_>) -> (Self, bool) {
        let us = std::process::id() as i32;
        let at = clock::boot_ticks();
        let pids: HashSet<i32> = procfs::children(us).into_iter().collect();
        let mut orphans = Vec::new();
        let mut is_whole = true;
        for pid in pids.iter().filter(|pid| !known.is_watched(**pid)) {
            match Orphan::read(*pid) {
                Some(orphan) => orphans.push(orphan),
                None => is_whole &= !is_gone(*pid, us),
            }
        }
        (Self { at, pids, orphans }, is_whole)
    }

    /// Whether this was read when the root was there already, and, if it has ended by now, after its end.
    pub(super) fn covers(&self, whose: &Whose<'_>) -> bool {
        let root = whose.root;
        root.is_none_or(|root| root.start < self.at && !self.pids.contains(&root.pid))
    }

    pub(super) fn family(&self, whose: &Whose<'_>) -> Vec<Stat> {
        let bearer = whose.root.and_then(|root| Stat::read(root.pid));
        let session = whose.session(bearer.as_ref());
        let is_of = |orphan: &Orphan| {
            let is_young = orphan.stat.start >= whose.since();
            let is_in_session = Some(orphan.stat.session) == session;
            is_young && (is_in_session || whose.mark.is_in(&orphan.marks))
        };
        let strays = self.orphans.iter().filter(|orphan| is_of(orphan));
        let mut members: Vec<Stat> = strays.map(|orphan| orphan.stat).collect();
        for run in whose.runs.iter().chain(&whose.root) {
            let orphan = Orphan::read(run.pid).filter(|orphan| orphan.stat.run() == *run);
            let member = orphan.filter(|orphan| whose.root == Some(*run) || is_of(orphan));
            let stats = member.map(|member| member.stat);
            members.extend(stats.filter(|stat| !members.contains(stat)));
        }
        descend(&mut members);
        members
    }
}

impl Orphan {
    /// One that lives, and is not just beginning or ending: then it has no environment to be told by.
    fn read(pid: i32) -> Option<Self> {
        let stat = Stat::read(pid).filter(Stat::is_live)?;
        let marks = procfs::marks(pid);
        let is_itself = !marks.is_empty() || !procfs::cmdline(pid, 1).is_empty();
        is_itself.then_some(Self { stat, marks })
    }
}

/// Whether one that could not be read has ended, or is about to; it is waited for, so that it is off the list. Children of
/// others in this program, which are in our session, are left to them.
fn is_gone(pid: i32, us: i32) -> bool {
    let session = |pid| Stat::read(pid).map(|stat| stat.session);
    if session(pid).is_some() && session(pid) == session(us) {
        return false;
    }
    let waited = Pid::from_raw(pid).map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
    let lives_on = matches!(waited, Some(Ok(None)));
    // One whose first thread alone has ended cannot be waited for.
    !lives_on || Stat::read(pid).is_some_and(|stat| stat.is_live())
}

/// Adds every descendant of the members.
fn descend(members: &mut Vec<Stat>) {
    let mut next = 0;
    while next < members.len() {
        for pid in procfs::children(members[next].pid) {
            let is_new = !members.iter().any(|known| known.pid == pid);
            if let Some(stat) = Stat::read(pid).filter(|stat| is_new && is_fair_game(stat)) {
                members.push(stat);
            }
        }
        next += 1;
    }
}
