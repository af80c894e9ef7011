//! Registers the instances of the view, on the hosts of their services.

use std::collections::BTreeMap;

use fleet::Fleet;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use model::Invalid;
use model::change::{DefinitionId, HostId, NameId};
use model::topology::{
    BkHostId, BkProcessId, MachineRow, ModuleId, ModuleRow, SetId, inst_id, instance_name,
};

use super::expected;
use super::fault::Fault;
use super::plan::{PlannedProcess, Planner};
use super::programs::{AliasNumber, ProgramNumber};
use super::render::{self, Variables};
use super::watched::watched;
use crate::draft::{Content, Put};

/// Caches what instances share.
#[derive(Default)]
struct Shared {
    /// Of programs without variables, which are the same for every instance.
    contents: HashMap<ProgramNumber, Result<Content, Invalid>>,
    /// Instances of such programs, by `local_inst_id`.
    plain: HashMap<(ProgramNumber, u32), (NameId, DefinitionId)>,
    names: HashMap<(AliasNumber, u32), NameId>,
    /// The largest number of instances on a host.
    largest: HashMap<(ModuleId, AliasNumber), u32>,
    /// The names of set and module.
    places: BTreeMap<ModuleId, (String, String)>,
}

/// An instance that is to be registered.
struct Wanted<'p> {
    process: &'p PlannedProcess<'p>,
    local_inst_id: u32,
    host: HostId,
}

impl Planner<'_> {
    pub(super) fn instances(&mut self, planned: &[PlannedProcess<'_>]) {
        let mut shared = Shared::default();
        for process in planned {
            let program = self.programs.get(process.program);
            let key = (process.module, program.alias);
            let largest = shared.largest.entry(key).or_insert(1);
            *largest = (*largest).max(program.program.proc_num);
        }
        shared.places = self.names_of_modules(planned);
        self.desired.reserve(planned.len());
        let mut hosts = self.hosts_of_machines(planned);
        for process in planned {
            let host = match hosts.get(&process.machine) {
                Some(MachineHost::Known(host)) => *host,
                Some(MachineHost::New(host)) => {
                    let id = self.draft.host(*host);
                    hosts.insert(process.machine, MachineHost::Known(id));
                    id
                }
                None => continue,
            };
            for local_inst_id in 1..=self.programs.get(process.program).program.proc_num {
                let wanted = Wanted {
                    process,
                    local_inst_id,
                    host,
                };
                if let Err(invalid) = self.instance(&wanted, &mut shared) {
                    self.add_fault(process.source(), Fault::Invalid(invalid));
                    self.faulty.insert(process.row.id);
                    // The other instances have the same fault.
                    break;
                }
            }
        }
    }

    /// The host of each machine, as far as the machine is known.
    fn hosts_of_machines(&self, planned: &[PlannedProcess<'_>]) -> HashMap<BkHostId, MachineHost> {
        let drafted = self.draft.changes.topology.machines.iter();
        let drafted: HashMap<BkHostId, &MachineRow> = drafted.map(|row| (row.id, row)).collect();
        let mut hosts = HashMap::new();
        let mut last = None;
        for process in planned {
            let machine = process.machine;
            // Processes of one machine are neighbours, mostly.
            if last.replace(machine) == Some(machine) || hosts.contains_key(&machine) {
                continue;
            }
            let row = drafted.get(&machine).copied();
            if let Some(row) = row.or_else(|| self.view.machine(machine)) {
                hosts.insert(machine, MachineHost::of(self.draft.fleet, row));
            }
        }
        hosts
    }

    fn names_of_modules(
        &self,
        planned: &[PlannedProcess<'_>],
    ) -> BTreeMap<ModuleId, (String, String)> {
        let drafted = &self.draft.changes.topology;
        let modules: HashMap<ModuleId, &ModuleRow> =
            drafted.modules.iter().map(|row| (row.id, row)).collect();
        let sets: HashMap<SetId, &str> = drafted
            .sets
            .iter()
            .map(|row| (row.id, &*row.name))
            .collect();
        let mut names = BTreeMap::new();
        let mut last = None;
        for process in planned {
            if last.replace(process.module) == Some(process.module) {
                continue;
            }
            names.entry(process.module).or_insert_with(|| {
                let module = modules.get(&process.module).copied();
                let module = module.or_else(|| self.view.module(process.module));
                let set = module.map(|module| module.set);
                let set_name = set.and_then(|set| {
                    let name = sets.get(&set).copied();
                    name.or_else(|| self.view.set(set).map(|row| &*row.name))
                });
                let module_name = module.map_or("", |module| &*module.name);
                (
                    set_name.unwrap_or_default().to_owned(),
                    module_name.to_owned(),
                )
            });
        }
        names
    }

    fn instance(&mut self, wanted: &Wanted<'_>, shared: &mut Shared) -> Result<(), Invalid> {
        let process = wanted.process;
        let key = (process.program, wanted.local_inst_id);
        let files = self.view.config_files(process.row.id).map(|file| &**file);
        let watched = watched(files.filter(|file| file.local_inst_id == key.1));
        let is_plain = watched.is_empty() && self.programs.get(process.program).is_plain;
        if is_plain && let Some((name, definition)) = shared.plain.get(&key).copied() {
            self.claim(wanted, name)?;
            self.put(wanted, name, definition);
            return Ok(());
        }
        let content = match is_plain {
            true => {
                let cached = shared.contents.get(&process.program).cloned();
                let content = cached.unwrap_or_else(|| self.content(wanted, shared, watched));
                shared.contents.insert(process.program, content.clone());
                content
            }
            false => self.content(wanted, shared, watched),
        }?;
        let program = self.programs.get(process.program);
        let name = *shared
            .names
            .entry((program.alias, key.1))
            .or_insert_with(|| {
                let alias = &program.program.bk_process_name;
                self.draft.name(&instance_name(self.business, alias, key.1))
            });
        self.claim(wanted, name)?;
        let definition = self.draft.definition(name, &content);
        if is_plain {
            shared.plain.insert(key, (name, definition));
        }
        self.put(wanted, name, definition);
        Ok(())
    }

    /// Refuses a second process with the same name on the same host.
    fn claim(&mut self, wanted: &Wanted<'_>, name: NameId) -> Result<(), Invalid> {
        match self.desired.entry((wanted.host, name)) {
            Entry::Vacant(free) => {
                free.insert(wanted.process.row.id);
                Ok(())
            }
            Entry::Occupied(other) => Err(Invalid::new(
                "bk_process_name",
                format!("process {} has the same name on the same host", other.get()),
            )),
        }
    }

    fn put(&mut self, wanted: &Wanted<'_>, name: NameId, definition: DefinitionId) {
        let owner: BkProcessId = wanted.process.row.id;
        match self
            .draft
            .put_instance(wanted.host, name, definition, owner)
        {
            Put::New => self.difference.instances.new += 1,
            Put::Changed => self.difference.instances.changed += 1,
            Put::AsItWas => {}
        }
    }

    /// The spec and labels of an instance.
    fn content(
        &self,
        wanted: &Wanted<'_>,
        shared: &Shared,
        watched: Vec<(String, String)>,
    ) -> Result<Content, Invalid> {
        let (process, local_inst_id) = (wanted.process, wanted.local_inst_id);
        let planned = self.programs.get(process.program);
        let program = &planned.program;
        let largest = shared
            .largest
            .get(&(process.module, planned.alias))
            .copied();
        let names = shared.places.get(&process.module);
        let (set_name, module_name) = names.map_or(("", ""), |(set, module)| (set, module));
        let variables = Variables {
            inst_id: inst_id(process.row.ordinal, largest.unwrap_or(1), local_inst_id),
            local_inst_id,
            set_name,
            module_name,
            process_name: &program.bk_process_name,
            func_name: &program.bk_func_name,
        };
        let spec = render::spec(program, &variables, watched)?;
        Ok(Content::new(spec, render::labels(program)))
    }
}

/// The host of a machine.
enum MachineHost {
    Known(HostId),
    /// Drafted with its first instance.
    New(model::Host),
}

impl MachineHost {
    fn of(fleet: &Fleet, machine: &MachineRow) -> Self {
        match expected::host_of(fleet, machine) {
            Some(host) => Self::Known(host),
            None => Self::New(machine.host),
        }
    }
}
