//! All processes of the host, by one walk over `/proc`, sorted so that the cost of finding a family depends on its size.

use std::cell::OnceCell;
use std::io;

use super::{FamilyQuery, WatchedRuns, is_fair_game};
use crate::os::clock;
use crate::os::procfs::{self, Stat};

/// All live processes at one moment.
#[derive(Debug)]
pub(super) struct Walk {
    /// When it began, in ticks.
    at: u64,
    /// By pid.
    processes: Vec<Stat>,
    by_parent: Vec<u32>,
    by_session: Vec<u32>,
    /// Possible orphans, each with the marks in its environment.
    left: OnceCell<Vec<(Stat, OnceCell<Vec<u8>>)>>,
}

impl Walk {
    pub(super) fn read() -> io::Result<Self> {
        let at = clock::boot_ticks();
        Ok(Self::of(procfs::all()?, at))
    }

    pub(super) fn of(mut processes: Vec<Stat>, at: u64) -> Self {
        processes.retain(Stat::is_live);
        processes.sort_unstable_by_key(|stat| stat.pid);
        let sorted_by = |key: fn(&Stat) -> i32| {
            let mut order: Vec<u32> = (0..processes.len() as u32).collect();
            order.sort_unstable_by_key(|index| key(&processes[*index as usize]));
            order
        };
        Self {
            at,
            by_parent: sorted_by(|stat| stat.ppid),
            by_session: sorted_by(|stat| stat.session),
            processes,
            left: OnceCell::new(),
        }
    }

    /// Whether the walk began after the root did. A root that has ended since is still found, so the caller searches again.
    pub(super) fn covers(&self, query: &FamilyQuery<'_>) -> bool {
        query.root.is_none_or(|root| root.start < self.at)
    }

    pub(super) fn family(
        &self,
        query: &FamilyQuery<'_>,
        known: WatchedRuns<'_>,
    ) -> io::Result<Vec<Stat>> {
        let mut members: Vec<Stat> = Vec::new();
        let mut add = |stat: &Stat| {
            if stat.start >= query.since() && is_fair_game(stat) && !members.contains(stat) {
                members.push(*stat);
            }
        };
        let bearer = query.root.and_then(|root| self.find(root.pid));
        bearer
            .filter(|stat| Some(stat.run()) == query.root)
            .into_iter()
            .for_each(&mut add);
        if let Some(session) = query.session(bearer) {
            self.those(&self.by_session, |stat| stat.session, session)
                .for_each(&mut add);
        }
        let runs = query.runs.iter();
        for stat in runs.filter_map(|run| self.find(run.pid).filter(|stat| stat.run() == *run)) {
            if stat.start >= query.since() && query.mark.is_in(&procfs::marks(stat.pid)?) {
                add(stat);
            }
        }
        let left = self.left.get_or_init(|| self.left(known)).iter();
        for (stat, marks) in left.filter(|(stat, _)| stat.start >= query.since()) {
            let marks = match marks.get() {
                Some(marks) => marks,
                None => {
                    let read = procfs::marks(stat.pid)?;
                    marks.get_or_init(|| read)
                }
            };
            if query.mark.is_in(marks) {
                add(stat);
            }
        }
        self.descend(&mut members);
        Ok(members)
    }

    /// Processes with a parent in another session: orphans and those that left theirs. All others are below one of them,
    /// and watched runs are their own families.
    fn left(&self, known: WatchedRuns<'_>) -> Vec<(Stat, OnceCell<Vec<u8>>)> {
        let has_parent = |stat: &Stat| {
            let parent = self.find(stat.ppid);
            parent.is_some_and(|parent| parent.session == stat.session)
        };
        let heads = self.processes.iter().filter(|stat| !has_parent(stat));
        let unknown = heads.filter(|stat| !known.is_watched(stat.pid));
        unknown.map(|stat| (*stat, OnceCell::new())).collect()
    }

    fn find(&self, pid: i32) -> Option<&Stat> {
        let index = self.processes.binary_search_by_key(&pid, |stat| stat.pid);
        index.ok().map(|index| &self.processes[index])
    }

    /// The processes with this key, by the order that is sorted by it.
    fn those<'a>(
        &'a self,
        order: &'a [u32],
        key: fn(&Stat) -> i32,
        wanted: i32,
    ) -> impl Iterator<Item = &'a Stat> {
        let begin = order.partition_point(|index| key(&self.processes[*index as usize]) < wanted);
        let rest = order[begin..].iter();
        let rest = rest.map(|index| &self.processes[*index as usize]);
        rest.take_while(move |stat| key(stat) == wanted)
    }

    /// Adds every descendant of the members.
    fn descend(&self, members: &mut Vec<Stat>) {
        let mut next = 0;
        while next < members.len() {
            let parent = members[next].pid;
            for child in self.those(&self.by_parent, |stat| stat.ppid, parent) {
                if is_fair_game(child) && !members.contains(child) {
                    members.push(*child);
                }
            }
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Run;
    use crate::os::exits::Exits;
    use crate::os::family::{Mark, SearchScope};

    fn process(pid: i32, ppid: i32, session: i32, start: u64) -> Stat {
        Stat {
            pid,
            ppid,
            session,
            start,
            state: b'S',
            ..Stat::default()
        }
    }

    #[tokio::test]
    async fn a_family_is_the_session_and_all_descendants_that_are_not_older() {
        // Above the kernel's pids, so that no environment is read.
        let base = 5_000_000;
        let pids = |all: &[Stat]| -> Vec<i32> { all.iter().map(|stat| stat.pid - base).collect() };
        let at =
            |pid, ppid, session, start| process(base + pid, base + ppid, base + session, start);
        let walk = Walk::of(
            vec![
                at(14, 13, 14, 105),
                at(10, 1, 10, 100),
                at(11, 10, 10, 101),
                at(12, 11, 12, 102),
                at(13, 1, 10, 103),
                at(15, 1, 10, 99),
                at(20, 1, 20, 100),
            ],
            200,
        );
        let exits = Exits::new().unwrap();
        let known = WatchedRuns {
            exits: &exits,
            is_of_another: &|_| false,
        };
        let family = |pid, start| {
            let root = Run {
                pid: base + pid,
                start,
            };
            let query = FamilyQuery {
                root: Some(root),
                is_ours: false,
                runs: &[],
                mark: &Mark::none(),
                own: None,
                among: SearchScope::Host,
                found_for: None,
            };
            assert!(walk.covers(&query));
            pids(&walk.family(&query, known).unwrap())
        };
        assert_eq!(family(10, 100), [10, 11, 13, 12, 14]);
        assert_eq!(family(20, 100), [20]);
        assert!(family(10, 98).is_empty(), "its number is used again");
        assert!(family(30, 100).is_empty());
    }

    #[test]
    fn a_walk_does_not_cover_later_runs() {
        let walk = Walk::of(Vec::new(), 200);
        let covers = |start| {
            walk.covers(&FamilyQuery {
                root: Some(Run { pid: 10, start }),
                is_ours: false,
                runs: &[],
                mark: &Mark::none(),
                own: None,
                among: SearchScope::Host,
                found_for: None,
            })
        };
        assert!(covers(199));
        assert!(!covers(200) && !covers(201));
    }
}
