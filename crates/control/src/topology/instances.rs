//! Registers the instances of the view, on the hosts of their services.

use std::collections::HashMap;

use model::change::HostId;
use model::topology::{
    BkHostId, BkProcessId, MachineRow, ModuleId, ProgramId, SetId, inst_id, instance_name,
};
use model::{FullName, Invalid};

use super::expected;
use super::fault::Fault;
use super::plan::{PlannedProcess, Planner};
use super::render::{self, Variables};
use super::watched::watched;
use crate::draft::{Content, Put};

/// Caches what instances share.
#[derive(Default)]
struct Shared<'p> {
    /// Of programs without variables, which are the same for every instance.
    contents: HashMap<ProgramId, Result<Content, Invalid>>,
    machines: HashMap<BkHostId, HostId>,
    /// By module and alias.
    largest: HashMap<(ModuleId, &'p str), u32>,
    names: HashMap<ModuleId, (String, String)>,
}

impl Planner<'_> {
    pub(super) fn instances(&mut self, planned: &[PlannedProcess<'_>]) {
        let mut shared = Shared::default();
        for process in planned {
            let key = (process.module, process.program.bk_process_name.as_str());
            let largest = shared.largest.entry(key).or_insert(1);
            *largest = (*largest).max(process.program.proc_num);
        }
        let drafted = &self.draft.changes.topology;
        let machines: HashMap<BkHostId, MachineRow> = drafted
            .machines
            .iter()
            .map(|row| (row.id, row.clone()))
            .collect();
        shared.names = self.names_of_modules(planned);
        let mut placed: HashMap<model::topology::ServiceId, BkHostId> = HashMap::new();
        placed.extend(drafted.services.iter().map(|row| (row.id, row.machine)));
        for process in planned {
            let service = process.row.service;
            let machine = placed.get(&service).copied();
            let machine = machine.or_else(|| self.view.service(service).map(|row| row.machine));
            let Some(machine) = machine else { continue };
            let row = machines
                .get(&machine)
                .or_else(|| self.view.machine(machine));
            let Some(row) = row.cloned() else { continue };
            let host = *shared
                .machines
                .entry(machine)
                .or_insert_with(|| self.host_of(&row));
            self.instances_of(process, host, &mut shared);
        }
    }

    fn host_of(&mut self, machine: &MachineRow) -> HostId {
        expected::host_of(self.draft.fleet, machine)
            .unwrap_or_else(|| self.draft.host(machine.host))
    }

    fn names_of_modules(
        &self,
        planned: &[PlannedProcess<'_>],
    ) -> HashMap<ModuleId, (String, String)> {
        let drafted = &self.draft.changes.topology;
        let modules: HashMap<ModuleId, (SetId, &str)> = drafted
            .modules
            .iter()
            .map(|row| (row.id, (row.set, &*row.name)))
            .collect();
        let sets: HashMap<SetId, &str> = drafted
            .sets
            .iter()
            .map(|row| (row.id, &*row.name))
            .collect();
        let mut names = HashMap::new();
        for process in planned {
            names.entry(process.module).or_insert_with(|| {
                let module = modules.get(&process.module).copied().or_else(|| {
                    let row = self.view.module(process.module)?;
                    Some((row.set, &*row.name))
                });
                let (set, module) = module.unwrap_or((SetId(0), ""));
                let set = sets.get(&set).copied();
                let set = set.or_else(|| {
                    let id = modules.get(&process.module).map(|(set, _)| *set);
                    let id = id.or_else(|| self.view.module(process.module).map(|row| row.set))?;
                    self.view.set(id).map(|row| &*row.name)
                });
                (set.unwrap_or_default().to_owned(), module.to_owned())
            });
        }
        names
    }

    fn instances_of(
        &mut self,
        process: &PlannedProcess<'_>,
        host: HostId,
        shared: &mut Shared<'_>,
    ) {
        let alias = process.program.bk_process_name.as_str();
        for local in 1..=process.program.proc_num {
            let content = self.content(process, local, shared);
            let name = instance_name(self.business, alias, local);
            let done = content.and_then(|content| self.put(process.row.id, host, &name, &content));
            if let Err(invalid) = done {
                self.add_fault(process.source.to_string(), Fault::Invalid(invalid));
                self.faulty.insert(process.row.id);
                // The other instances have the same fault.
                return;
            }
        }
    }

    fn put(
        &mut self,
        owner: BkProcessId,
        host: HostId,
        name: &FullName,
        content: &Content,
    ) -> Result<(), Invalid> {
        let id = self.draft.name(name);
        if let Some(other) = self.desired.insert((host, id), owner) {
            self.desired.insert((host, id), other);
            return Err(Invalid::new(
                "bk_process_name",
                format!("process {other} has the same name on the same host"),
            ));
        }
        let definition = self.draft.definition(id, content);
        match self.draft.put_instance(host, id, definition, owner) {
            Put::New => self.difference.instances.new += 1,
            Put::Changed => self.difference.instances.changed += 1,
            Put::AsItWas => {}
        }
        Ok(())
    }

    /// The spec and labels of an instance.
    fn content(
        &self,
        process: &PlannedProcess<'_>,
        local_inst_id: u32,
        shared: &mut Shared<'_>,
    ) -> Result<Content, Invalid> {
        let program = &process.program;
        let alias = program.bk_process_name.as_str();
        let files = self.view.config_files(process.row.id).map(|file| &**file);
        let watched = watched(files.filter(|file| file.local_inst_id == local_inst_id));
        let alike = watched.is_empty() && render::is_plain(program);
        if alike && let Some(content) = shared.contents.get(&process.row.program) {
            return content.clone();
        }
        let largest = shared.largest.get(&(process.module, alias)).copied();
        let names = shared.names.get(&process.module);
        let (set_name, module_name) = names.map_or(("", ""), |(set, module)| (set, module));
        let variables = Variables {
            inst_id: inst_id(process.row.ordinal, largest.unwrap_or(1), local_inst_id),
            local_inst_id,
            set_name,
            module_name,
            process_name: alias,
            func_name: &program.bk_func_name,
        };
        let content = render::spec(program, &variables, watched)
            .map(|spec| Content::new(spec, render::labels(program)));
        if alike {
            shared.contents.insert(process.row.program, content.clone());
        }
        content
    }
}
