//! The agent's own children: runs that it started, and orphans that were reparented to it.
//!
//! The kernel lists them in one file. Almost all are watched runs, so only the few others are read. The list is complete:
//! every live descendant is below a listed child, and only the agent removes a child from it, by waiting for it. A child
//! that exits before it is read may have left a child meanwhile, and one that is in the middle of an exec cannot be
//! identified; then the result is not known yet, and the caller searches again a moment later.

use std::collections::HashSet;
use std::io;
use std::sync::OnceLock;

use rustix::process::{Pid, WaitOptions, waitpid};

use super::{FamilyQuery, WatchedRuns, is_fair_game};
use crate::os::clock;
use crate::os::observe_error::ObserveError;
use crate::os::procfs::{self, Stat};

/// How many readings in a row, and for how long, may be incomplete before one is used as it is: a busy host delays the
/// readings, too.
const MAX_INCOMPLETE: u32 = 50;
const MAX_INCOMPLETE_MS: u64 = 100;
/// Readings further apart are not in a row: the search between them was given up.
const IN_A_ROW_MS: u64 = 1_000;

/// Incomplete readings of the list in a row.
#[derive(Debug, Default)]
pub(super) struct Restless {
    n: u32,
    since_ms: u64,
    last_ms: u64,
}

impl Restless {
    /// Counts an incomplete reading; whether it has to be used as it is.
    fn is_too_much(&mut self, now_ms: u64) -> bool {
        if self.n == 0 || now_ms > self.last_ms + IN_A_ROW_MS {
            (self.n, self.since_ms) = (0, now_ms);
        }
        (self.n, self.last_ms) = (self.n + 1, now_ms);
        self.n > MAX_INCOMPLETE && now_ms >= self.since_ms + MAX_INCOMPLETE_MS
    }
}

/// The agent's children at one moment.
#[derive(Debug)]
pub(super) struct Below {
    /// When it was read, in ticks.
    at: u64,
    pids: HashSet<i32>,
    /// Those that are not watched runs.
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
    pub(super) fn read(
        known: WatchedRuns<'_>,
        restless: &mut Restless,
    ) -> Result<Self, ObserveError> {
        let (below, is_whole) = Self::try_read(known)?;
        if !is_whole && !restless.is_too_much(clock::boot_ms()) {
            return Err(ObserveError::NotYet);
        }
        if !is_whole {
            tracing::warn!("orphans come and go faster than they can be looked at");
        }
        *restless = Restless::default();
        Ok(below)
    }

    /// Incomplete when a child exited, or was in the middle of an exec, before it was read.
    fn try_read(known: WatchedRuns<'_>) -> io::Result<(Self, bool)> {
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

    /// Whether this was read after the root began, and, if the root has ended by now, after its end.
    pub(super) fn covers(&self, query: &FamilyQuery<'_>) -> bool {
        let root = query.root;
        root.is_none_or(|root| root.start < self.at && !self.pids.contains(&root.pid))
    }

    pub(super) fn family(&self, query: &FamilyQuery<'_>) -> io::Result<Vec<Stat>> {
        let bearer = match query.root {
            Some(root) => Stat::find(root.pid)?,
            None => None,
        };
        let session = query.session(bearer.as_ref());
        let is_of = |orphan: &Orphan| {
            let is_young = orphan.stat.start >= query.since();
            let is_in_session = Some(orphan.stat.session) == session;
            is_young && (is_in_session || query.mark.is_in(&orphan.marks))
        };
        let strays = self.orphans.iter().filter(|orphan| is_of(orphan));
        let mut members: Vec<Stat> = strays.map(|orphan| orphan.stat).collect();
        for run in query.runs.iter().chain(&query.root) {
            let orphan = Orphan::read(run.pid)?.filter(|orphan| orphan.stat.run() == *run);
            let member = orphan.filter(|orphan| query.root == Some(*run) || is_of(orphan));
            let stats = member.map(|member| member.stat);
            members.extend(stats.filter(|stat| !members.contains(stat)));
        }
        descend(&mut members)?;
        Ok(members)
    }
}

impl Orphan {
    /// A live process that is not in the middle of an exec or exit: then it has no environment to identify it by.
    fn read(pid: i32) -> io::Result<Option<Self>> {
        let Some(stat) = Stat::find(pid)?.filter(Stat::is_live) else {
            return Ok(None);
        };
        let marks = procfs::marks(pid)?;
        let is_itself = !marks.is_empty() || !procfs::cmdline(pid, 1)?.is_empty();
        Ok(is_itself.then_some(Self { stat, marks }))
    }
}

/// Whether a child that could not be read has ended, or is about to; waits for it, so that it leaves the list. Children of
/// other code of this program, which are in the agent's session, are left to that code.
fn is_gone(pid: i32, us: i32) -> io::Result<bool> {
    let session = |pid| io::Result::Ok(Stat::find(pid)?.map(|stat| stat.session));
    let theirs = session(pid)?;
    if theirs.is_some() && theirs == session(us)? {
        return Ok(false);
    }
    let waited = Pid::from_raw(pid).map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
    let lives_on = matches!(waited, Some(Ok(None)));
    // A process whose first thread alone has ended cannot be waited for.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_many_incomplete_readings_in_a_row_are_too_much() {
        let mut restless = Restless::default();
        assert!(!restless.is_too_much(0));
        // The search of then was given up: this is another.
        assert!(!restless.is_too_much(5_000));
        // A slow host: long, but few.
        assert!((1..30).all(|n| !restless.is_too_much(5_000 + 500 * n)));
        // Many within a moment.
        let mut restless = Restless::default();
        assert!((0..99).all(|now| !restless.is_too_much(now)));
        assert!(restless.is_too_much(100));
    }
}
