//! Ids for rows that have none in their source.

use model::topology::{BkHostId, BkProcessId, ModuleId, ProgramId, ServiceId, SetId};

use super::View;
use crate::fresh_ids::step;

#[derive(Debug, Clone)]
pub(super) struct NextIds {
    pub(super) set: u32,
    pub(super) module: u32,
    pub(super) machine: u32,
    pub(super) program: u32,
}

impl Default for NextIds {
    fn default() -> Self {
        Self {
            set: 1,
            module: 1,
            machine: 1,
            program: 1,
        }
    }
}

/// Assigns ids that are free at one revision.
#[derive(Debug, Clone)]
pub struct FreshTopologyIds {
    set: u32,
    module: u32,
    machine: u32,
    program: u32,
    service: u32,
    process: u32,
}

impl View {
    pub fn fresh_ids(&self) -> FreshTopologyIds {
        FreshTopologyIds {
            set: self.ids.set,
            module: self.ids.module,
            machine: self.ids.machine,
            program: self.ids.program,
            service: self.services.next().max(1),
            process: self.processes.next().max(1),
        }
    }
}

impl FreshTopologyIds {
    /// Starts above the ids of this revision; the plan reserves those of its source.
    pub fn skip_process(&mut self, taken: BkProcessId) {
        self.process = self.process.max(taken.0.saturating_add(1));
    }

    pub fn skip_service(&mut self, taken: ServiceId) {
        self.service = self.service.max(taken.0.saturating_add(1));
    }

    pub fn skip_set(&mut self, taken: SetId) {
        self.set = self.set.max(taken.0.saturating_add(1));
    }

    pub fn skip_module(&mut self, taken: ModuleId) {
        self.module = self.module.max(taken.0.saturating_add(1));
    }

    pub fn skip_machine(&mut self, taken: BkHostId) {
        self.machine = self.machine.max(taken.0.saturating_add(1));
    }

    pub fn set(&mut self) -> SetId {
        SetId(step(&mut self.set))
    }

    pub fn module(&mut self) -> ModuleId {
        ModuleId(step(&mut self.module))
    }

    pub fn machine(&mut self) -> BkHostId {
        BkHostId(step(&mut self.machine))
    }

    pub fn program(&mut self) -> ProgramId {
        ProgramId(step(&mut self.program))
    }

    pub fn service(&mut self) -> ServiceId {
        ServiceId(step(&mut self.service))
    }

    pub fn process(&mut self) -> BkProcessId {
        BkProcessId(step(&mut self.process))
    }
}
