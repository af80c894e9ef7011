//! Counts of processes by state, and of those that need attention.

use model::change::{HostId, ProcessId};
use model::{Flag, Namespace, ProcessState};

use crate::Fleet;
use crate::columns::Block;

/// Counts over all processes, or those of some namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessCounts {
    pub processes: u64,
    /// By state, in the order of [`ProcessState::ALL`].
    pub states: [u64; ProcessState::ALL.len()],
    /// Wanted running and not running, although the agent is connected.
    pub wanted_down: u64,
    pub restart_needed: u64,
    /// With a file that differs from the md5 in the spec.
    pub config_drift: u64,
}

impl ProcessCounts {
    pub fn in_state(&self, state: ProcessState) -> u64 {
        let at = ProcessState::ALL.iter().position(|one| *one == state);
        at.map_or(0, |at| self.states[at])
    }
}

impl Fleet {
    /// Counted column by column: a few milliseconds for a million processes. None stands for every namespace.
    pub fn process_counts(&self, namespaces: Option<&[Namespace]>) -> ProcessCounts {
        let mut tally = Tally {
            counts: ProcessCounts::default(),
            places: [0; 16],
            is_up: vec![false; self.hosts.next_id() as usize],
        };
        for host in self.hosts.iter() {
            tally.is_up[host.id.index()] = host.link.is_up();
        }
        for (place, state) in ProcessState::ALL.iter().enumerate() {
            tally.places[usize::from(state.number())] = place;
        }
        match namespaces {
            None => {
                for (_, block) in self.columns.blocks() {
                    let live = (0..block.host.len()).filter(|at| block.is_live(*at));
                    live.for_each(|at| tally.add(block, at));
                }
            }
            Some(namespaces) => {
                let ids = self.ids_of_namespaces(namespaces);
                for id in &ids {
                    if let Some((block, at)) = self.columns.block(ProcessId(id)) {
                        tally.add(block, at);
                    }
                }
            }
        }
        tally.counts
    }
}

struct Tally {
    counts: ProcessCounts,
    /// Where the state of each number is counted.
    places: [usize; 16],
    /// By host.
    is_up: Vec<bool>,
}

impl Tally {
    fn add(&mut self, block: &Block, at: usize) {
        let marks = block.observed.marks(at);
        let is_up = self.is_up.get(HostId(block.host[at]).index()) == Some(&true);
        let state = match is_up {
            true => marks.state(),
            false => ProcessState::Unknown,
        };
        self.counts.processes += 1;
        self.counts.states[self.places[usize::from(state.number())]] += 1;
        let is_down = match state {
            ProcessState::Backoff
            | ProcessState::Failed
            | ProcessState::Stopped
            | ProcessState::Unknown => true,
            ProcessState::Running
            | ProcessState::Ready
            | ProcessState::Starting
            | ProcessState::Unhealthy
            | ProcessState::Completed
            | ProcessState::Scheduled => false,
        };
        self.counts.wanted_down += u64::from(is_up && is_down && block.flag(at) == Flag::Running);
        self.counts.restart_needed += u64::from(marks.restart_needed());
        self.counts.config_drift += u64::from(block.observed.is_drifted(at));
    }
}
