//! One process of the view, borrowed from the fleet.

use std::sync::Arc;

use model::AgentId;
use model::change::ProcessId;
use model::config_template::TemplateRow;
use model::expression::escaped;
use model::scope::ProcessStatus;
use model::topology::{
    BkProcessId, BusinessRow, MachineRow, ModuleRow, Program, SetRow, ViewProcessRow, inst_id,
    split_instance_name,
};

use super::View;
use crate::{Fleet, Row};

#[derive(Debug, Clone, Copy)]
pub struct ViewRow<'a> {
    fleet: &'a Fleet,
    pub process: &'a ViewProcessRow,
    pub business: &'a BusinessRow,
    pub set: &'a SetRow,
    pub module: &'a ModuleRow,
    pub machine: &'a MachineRow,
    pub service_name: &'a str,
    pub program: &'a Arc<Program>,
    /// None when the cloud area has no name.
    pub cloud_name: Option<&'a str>,
    /// Of all processes with the same alias in the same module.
    pub largest_proc_num: u32,
}

/// A registered process that belongs to one of the view.
#[derive(Debug, Clone)]
pub struct Instance<'a> {
    pub row: Row<'a>,
    pub local_inst_id: u32,
    pub inst_id: u64,
}

impl Instance<'_> {
    pub fn status(&self) -> ProcessStatus {
        match self.row.state() {
            model::State::Unknown => ProcessStatus::Unregistered,
            model::State::Running => ProcessStatus::Running,
            model::State::Stopped => ProcessStatus::Terminated,
        }
    }
}

impl<'a> ViewRow<'a> {
    pub fn id(&self) -> BkProcessId {
        self.process.id
    }

    pub fn status(&self) -> ProcessStatus {
        let (view, id) = (&self.fleet.view, self.process.id.0);
        if view.running.contains(id) {
            ProcessStatus::Running
        } else if view.unregistered.contains(id) {
            ProcessStatus::Unregistered
        } else {
            ProcessStatus::Terminated
        }
    }

    pub fn is_auto(&self) -> bool {
        self.fleet.view.managed.contains(self.process.id.0)
    }

    /// `set.module.service.process.id`, an expression that selects only this process.
    pub fn expression(&self) -> String {
        let names = self.names().map(escaped);
        format!("{}.{}", names.join("."), self.process.id)
    }

    /// The same without escapes, as GSEKit shows it. It does not parse where a name holds a dot.
    pub fn joined_names(&self) -> String {
        format!("{}.{}", self.names().join("."), self.process.id)
    }

    fn names(&self) -> [&str; 4] {
        [
            &self.set.name,
            &self.module.name,
            self.service_name,
            &self.program.bk_process_name,
        ]
    }

    /// The config templates that are bound to it.
    pub fn config_templates(&self) -> Vec<&'a Arc<TemplateRow>> {
        self.fleet.view.templates_for(self.process.id)
    }

    /// Whether the agent of its host is connected.
    pub fn is_connected(&self) -> bool {
        let host = self.fleet.find_host(&self.machine.host);
        host.is_some_and(|host| host.link.is_up())
    }

    /// The agent id of the topology, else that of the host.
    pub fn agent_id(&self) -> Option<&'a AgentId> {
        let by_host = || {
            let id = self.fleet.host_id(&self.machine.host)?;
            self.fleet.host(id)?.agent_id
        };
        self.machine.agent_id.as_ref().or_else(by_host)
    }

    /// Ordered by `local_inst_id`; those of an older name or host last.
    pub fn instances(&self) -> Vec<Instance<'a>> {
        let mut all: Vec<Instance<'a>> = self
            .fleet
            .instances_of(self.process.id)
            .filter_map(|id| self.instance(id))
            .collect();
        all.sort_by_key(|instance| (instance.local_inst_id, instance.row.id()));
        all
    }

    fn instance(&self, id: ProcessId) -> Option<Instance<'a>> {
        let row = self.fleet.row(id)?;
        let (_, local_inst_id) = split_instance_name(&row.name().name)?;
        Some(Instance {
            row,
            local_inst_id,
            inst_id: inst_id(self.process.ordinal, self.largest_proc_num, local_inst_id),
        })
    }
}

impl Fleet {
    /// The process view.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// One process of the view; None when it, or a row that it belongs to, is not known.
    pub fn view_row(&self, id: BkProcessId) -> Option<ViewRow<'_>> {
        let cell = self.view.processes.get(id.0)?;
        let program = self.view.programs.get(&cell.row.program)?;
        let service = self.view.services.get(cell.row.service.0)?;
        let largest = self
            .view
            .largest_proc_num(service.module, &program.bk_process_name);
        self.view_row_with(id, largest)
    }

    pub(super) fn view_row_with(
        &self,
        id: BkProcessId,
        largest_proc_num: u32,
    ) -> Option<ViewRow<'_>> {
        let view = &self.view;
        let cell = view.processes.get(id.0)?;
        let service = view.services.get(cell.row.service.0)?;
        let module = view.modules.get(&service.module)?;
        let set = view.sets.get(&module.row.set)?;
        let machine = view.machines.get(&service.machine)?;
        let cloud = view.clouds.get(&machine.row.host.cloud);
        Some(ViewRow {
            fleet: self,
            process: &cell.row,
            business: &view.businesses.get(&set.row.business)?.row,
            set: &set.row,
            module: &module.row,
            machine: &machine.row,
            service_name: &service.name,
            program: view.programs.get(&cell.row.program)?,
            cloud_name: cloud.map(|name| &**name),
            largest_proc_num,
        })
    }
}
