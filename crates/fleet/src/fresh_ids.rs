//! Free ids for plans.

use std::sync::Arc;

use model::change::{DefinitionId, HostId, NameId, ProcessId};
use roaring::RoaringBitmap;

use crate::Fleet;

impl Fleet {
    /// Free ids for a plan against this revision.
    pub fn fresh_ids(&self) -> FreshIds {
        FreshIds {
            next_host: self.hosts.next_id(),
            next_name: self.names.next_id(),
            next_definition: self.definitions.next_id(),
            free_definitions: FreeIds::new(self.definitions.free_ids()),
            next_process: self.columns.next_id(),
            free_processes: FreeIds::new(self.columns.free_ids()),
        }
    }
}

/// Assigns ids that are free at one revision, released ones first, so that columns stay dense.
#[derive(Debug, Clone)]
pub struct FreshIds {
    next_host: u32,
    next_name: u32,
    next_definition: u32,
    free_definitions: FreeIds,
    next_process: u32,
    free_processes: FreeIds,
}

/// The ids of a set, smallest first. Copies nothing.
#[derive(Debug, Clone)]
struct FreeIds {
    free: Arc<RoaringBitmap>,
    from: u32,
}

impl FreeIds {
    fn new(free: &Arc<RoaringBitmap>) -> Self {
        Self {
            free: free.clone(),
            from: 0,
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let id = self.free.range(self.from..).next()?;
        self.from = id + 1;
        Some(id)
    }
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
