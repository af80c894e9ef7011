//! Processes with reports that the other replicas do not have yet: those of which more than figures changed, and those of which
//! only figures did, host by host in the order in which they were reported first.
//!
//! It is no queue of reports: a process that is reported again before it is taken stays where it is.

use std::collections::VecDeque;

use model::change::{HostId, ProcessId};
use roaring::RoaringBitmap;

/// A process and its host. They are sorted by host.
pub type MovedProcess = (HostId, ProcessId);

#[derive(Debug, Default)]
pub(crate) struct Moved {
    changed: RoaringBitmap,
    figures: RoaringBitmap,
    /// Hosts with processes in `figures`, each once.
    hosts: VecDeque<HostId>,
    is_waiting: RoaringBitmap,
}

impl Moved {
    /// `has_changed` when more than figures did.
    pub(crate) fn add(&mut self, host: HostId, id: ProcessId, has_changed: bool) {
        if has_changed {
            self.changed.insert(id.0);
            return;
        }
        self.figures.insert(id.0);
        if self.is_waiting.insert(host.0) {
            self.hosts.push_back(host);
        }
    }

    /// All that changed, and the figures of as many hosts as it takes to have `most_figures` of them.
    pub(crate) fn take<P: Iterator<Item = ProcessId>>(
        &mut self,
        most_figures: usize,
        host_of: impl Fn(ProcessId) -> Option<HostId>,
        processes_of: impl Fn(HostId) -> P,
    ) -> Vec<MovedProcess> {
        let changed = std::mem::take(&mut self.changed);
        let changed = changed.iter().map(ProcessId);
        let mut taken = Vec::from_iter(changed.filter_map(|id| Some((host_of(id)?, id))));
        let most = taken.len() + most_figures;
        while taken.len() < most
            && let Some(host) = self.hosts.pop_front()
        {
            self.is_waiting.remove(host.0);
            let moved = processes_of(host).filter(|id| self.figures.remove(id.0));
            taken.extend(moved.map(|id| (host, id)));
        }
        taken.sort_unstable();
        taken.dedup();
        taken
    }

    /// All of one host. It stays among the hosts, where nothing is found of it.
    pub(crate) fn take_of(
        &mut self,
        host: HostId,
        processes: impl Iterator<Item = ProcessId>,
    ) -> Vec<MovedProcess> {
        let moved = processes.filter(|id| {
            let has_changed = self.changed.remove(id.0);
            self.figures.remove(id.0) || has_changed
        });
        let mut taken = Vec::from_iter(moved.map(|id| (host, id)));
        taken.sort_unstable();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: HostId = HostId(1);
    const B: HostId = HostId(2);

    /// Host 1 has the processes 10 to 12, host 2 has 20 to 22.
    fn processes_of(host: HostId) -> impl Iterator<Item = ProcessId> {
        (0..3).map(move |n| ProcessId(host.0 * 10 + n))
    }

    fn host_of(id: ProcessId) -> Option<HostId> {
        Some(HostId(id.0 / 10)).filter(|host| [A, B].contains(host))
    }

    fn ids(taken: Vec<MovedProcess>) -> Vec<u32> {
        taken.into_iter().map(|(_, id)| id.0).collect()
    }

    #[test]
    fn what_changed_goes_before_figures() {
        let mut moved = Moved::default();
        moved.add(B, ProcessId(20), false);
        moved.add(A, ProcessId(11), false);
        moved.add(A, ProcessId(10), true);
        moved.add(A, ProcessId(10), false);
        // Of a process that is gone.
        moved.add(A, ProcessId(99), true);
        assert_eq!(ids(moved.take(0, host_of, processes_of)), [10]);
        assert_eq!(ids(moved.take(1, host_of, processes_of)), [20]);
        assert_eq!(ids(moved.take(1, host_of, processes_of)), [10, 11]);
        assert!(moved.take(1, host_of, processes_of).is_empty());
    }

    #[test]
    fn hosts_with_figures_take_turns() {
        let mut moved = Moved::default();
        for id in [10, 11, 12, 11] {
            moved.add(A, ProcessId(id), false);
        }
        moved.add(B, ProcessId(22), false);
        assert_eq!(ids(moved.take(1, host_of, processes_of)), [10, 11, 12]);
        moved.add(A, ProcessId(12), false);
        assert_eq!(ids(moved.take(1, host_of, processes_of)), [22]);
        assert_eq!(ids(moved.take(1, host_of, processes_of)), [12]);
    }

    #[test]
    fn everything_of_a_host_is_taken_at_once() {
        let mut moved = Moved::default();
        moved.add(A, ProcessId(10), true);
        moved.add(B, ProcessId(20), true);
        moved.add(A, ProcessId(12), false);
        assert_eq!(ids(moved.take_of(A, processes_of(A))), [10, 12]);
        assert_eq!(ids(moved.take(9, host_of, processes_of)), [20]);
        moved.add(A, ProcessId(11), false);
        assert_eq!(ids(moved.take(9, host_of, processes_of)), [11]);
    }
}
