//! Our own children: the runs that we started, and the orphans that came to us.
//!
//! The kernel lists them in one file. Almost all are runs that are watched, so only the few others are looked at. Whoever
//! lives is below one of the list, which is whole: only we take anybody off it, by waiting for them. One of the list who
//! has ended before it was looked at may have left a child meanwhile, and one who is just becoming another program cannot
//! be told from a stranger; then it is not known yet, and the caller looks again a moment later.

use std::collections::HashSet;
use std::io;
use std::sync::OnceLock;

use rustix::process::{Pid, WaitOptions, waitpid};

use super::{Known, Whose, is_fair_game};
use crate::os::clock;
use crate::os::procfs::{self, Stat};
use crate::os::unknown::Unknown;

/// For how long in a row the list may change while it is read before it counts as it is.
const MAX_RESTLESS_MS: u64 = 100;

/// Since when every reading of the list found it changing.
#[derive(Debug, Default)]
pub(super) struct Restless(Option<u64>);

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
    pub(super) fn read(known: Known<'_>, restless: &mut Restless) -> Result<Self, Unknown> {
        let (below, is_whole) = Self::try_read(known)?;
        if is_whole {
            restless.0 = None;
            return Ok(below);
        }
        let now = clock::boot_ms();
        let since = *restless.0.get_or_insert(now);
        if now < since + MAX_RESTLESS_MS {
            return Err(Unknown::Yet);
        }
        tracing::warn!("orphans come and go faster than they can be looked at");
        restless.0 = None;
        Ok(below)
    }

    /// Not whole when one of them has ended, or was becoming another program, before it was looked at.
    fn try_read(known: Known<'_>) -> io::Result<(Self, bool)> {
        let us = std::process::id() as i32;
        let at = clock::boot_ticks();
        let pids: HashSet<i32> = procfs::children(us)?.into_iter().collect();
        let mut orphans = Vec::new();
        let mut is_whole = true;
        for pid in pids.iter().filter(|pid| !known.is_watched(**pid)) {
            match Orphan::read(*pid)? {
                Some(orphan) => orphans.push(orphan),
                None => is_whole &= !is_gone(*pid, us)?,
            }
        }
        Ok((Self { at, pids, orphans }, is_whole))
    }

    /// Whether this was read when the root was there already, and, if it has ended by now, after its end.
    pub(super) fn covers(&self, whose: &Whose<'_>) -> bool {
        let root = whose.root;
        root.is_none_or(|root| root.start < self.at && !self.pids.contains(&root.pid))
    }

    pub(super) fn family(&self, whose: &Whose<'_>) -> io::Result<Vec<Stat>> {
        let bearer = match whose.root {
            Some(root) => Stat::find(root.pid)?,
            None => None,
        };
        let session = whose.session(bearer.as_ref());
        let is_of = |orphan: &Orphan| {
            let is_young = orphan.stat.start >= whose.since();
            let is_in_session = Some(orphan.stat.session) == session;
            is_young && (is_in_session || whose.mark.is_in(&orphan.marks))
        };
        let strays = self.orphans.iter().filter(|orphan| is_of(orphan));
        let mut members: Vec<Stat> = strays.map(|orphan| orphan.stat).collect();
        for run in whose.runs.iter().chain(&whose.root) {
            let orphan = Orphan::read(run.pid)?.filter(|orphan| orphan.stat.run() == *run);
            let member = orphan.filter(|orphan| whose.root == Some(*run) || is_of(orphan));
            let stats = member.map(|member| member.stat);
            members.extend(stats.filter(|stat| !members.contains(stat)));
        }
        descend(&mut members)?;
        Ok(members)
    }
}

impl Orphan {
    /// One that lives, and is not just beginning or ending: then it has no environment to be told by.
    fn read(pid: i32) -> io::Result<Option<Self>> {
        let Some(stat) = Stat::find(pid)?.filter(Stat::is_live) else {
            return Ok(None);
        };
        let marks = procfs::marks(pid)?;
        let is_itself = !marks.is_empty() || !procfs::cmdline(pid, 1)?.is_empty();
        Ok(is_itself.then_some(Self { stat, marks }))
    }
}

/// Whether one that could not be read has ended, or is about to; it is waited for, so that it is off the list. Children of
/// others in this program, which are in our session, are left to them.
fn is_gone(pid: i32, us: i32) -> io::Result<bool> {
    let session = |pid| io::Result::Ok(Stat::find(pid)?.map(|stat| stat.session));
    let theirs = session(pid)?;
    if theirs.is_some() && theirs == session(us)? {
        return Ok(false);
    }
    let waited = Pid::from_raw(pid).map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
    let lives_on = matches!(waited, Some(Ok(None)));
    // One whose first thread alone has ended cannot be waited for.
    Ok(!lives_on || Stat::find(pid)?.is_some_and(|stat| stat.is_live()))
}

/// Adds every descendant of the members.
fn descend(members: &mut Vec<Stat>) -> io::Result<()> {
    let mut next = 0;
    while next < members.len() {
        for stat in procfs::find_all(&procfs::children(members[next].pid)?)? {
            let is_new = !members.iter().any(|known| known.pid == stat.pid);
            if is_new && is_fair_game(&stat) {
                members.push(stat);
            }
        }
        next += 1;
    }
    Ok(())
}
