//! Free ids for plans.

use model::change::{DefinitionId, HostId, NameId, ProcessId};

use crate::Fleet;

impl Fleet {
    /// Free ids for a plan against this revision.
    pub fn fresh_ids(&self) -> FreshIds {
        FreshIds {
            next_host: self.hosts.next_id(),
            next_name: self.names.next_id(),
            next_definition: self.definitions.next_id(),
            free_definitions: self.definitions.free_ids(),
            next_process: self.columns.next_id(),
            free_processes: self.columns.free_ids(),
        }
    }
}

/// Assigns ids that are free at one revision, released ones first, so that columns stay dense.
#[derive(Debug, Clone)]
pub struct FreshIds {
    next_host: u32,
    next_name: u32,
    next_definition: u32,
    free_definitions: Vec<u32>,
    next_process: u32,
    free_processes: Vec<u32>,
}

impl FreshIds {
    pub fn host(&mut self) -> HostId {
        HostId(step(&mut self.next_host))
    }

    pub fn name(&mut self) -> NameId {
        NameId(step(&mut self.next_name))
    }

    pub fn definition(&mut self) -> DefinitionId {
        DefinitionId(
            self.free_definitions
                .pop()
                .unwrap_or_else(|| step(&mut self.next_definition)),
        )
    }

    pub fn process(&mut self) -> ProcessId {
        ProcessId(
            self.free_processes
                .pop()
                .unwrap_or_else(|| step(&mut self.next_process)),
        )
    }
}

pub(crate) fn step(next: &mut u32) -> u32 {
    let id = *next;
    *next += 1;
    id
}
