//! `Draft`: changes that are not committed yet, on top of the fleet. Every planner uses it.
//!
//! A draft assigns ids and reuses definitions, so that all planners store the same thing in the same way. It reads the fleet
//! and commits nothing.

use std::sync::Arc;

use fleet::{Fleet, FreshIds};
use hashbrown::HashMap;
use model::access::Audit;
use model::change::{
    Changes, DefinitionId, DefinitionRow, HostId, HostRow, NameId, NameRow, ProcessRow, Revision,
};
use model::topology::BkProcessId;
use model::version::{VersionOrigin, VersionRow};
use model::{Code, Flag, FullName, Host, Labels, Spec, UnixMillis};

use crate::answers::{HostDecision, answer_each, spec_lacking, success};
use crate::commit::World;
use crate::{HostAnswer, Mode, TargetHost};

/// How a draft changed a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    New,
    Changed,
    AsItWas,
}

/// A spec with its labels, shared by all registrations of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    pub(crate) spec: Arc<Spec>,
    pub(crate) labels: Arc<Labels>,
    /// As [`fleet::Definition::hash`].
    pub(crate) hash: u64,
}

impl Content {
    pub(crate) fn new(spec: Spec, labels: Labels) -> Self {
        let labels_json = serde_json::to_string(&labels).expect("labels have only string keys");
        Self {
            hash: model::digest::definition_hash(&spec.to_json(), &labels_json),
            spec: Arc::new(spec),
            labels: Arc::new(labels),
        }
    }
}

/// A definition of the fleet or of this draft.
#[derive(Debug)]
struct Known {
    id: DefinitionId,
    spec: Arc<Spec>,
    labels: Arc<Labels>,
}

/// Changes that are not committed yet, on top of the fleet.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) changes: Changes,
    pub(crate) at: UnixMillis,
    revision: Revision,
    ids: FreshIds,
    new_hosts: HashMap<Host, HostId>,
    new_names: HashMap<FullName, NameId>,
    /// Processes that this draft changes, by index.
    put: HashMap<(HostId, NameId), usize>,
    /// The definitions of each name that this draft looked up, by the hash of their content.
    by_content: HashMap<NameId, HashMap<u64, Vec<Known>>>,
    /// How many users each definition loses.
    released: HashMap<DefinitionId, u32>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(world: &World<'a>, at: UnixMillis) -> Self {
        Self {
            fleet: world.fleet,
            changes: Changes::default(),
            at,
            revision: world.revision,
            ids: world.fleet.fresh_ids(),
            new_hosts: Default::default(),
            new_names: Default::default(),
            put: Default::default(),
            by_content: Default::default(),
            released: Default::default(),
        }
    }

    /// Adds a line to the audit trail, if the draft changes anything.
    pub(crate) fn audit(&mut self, audit: Audit) {
        if !self.changes.is_empty() {
            self.changes.audit.push(audit);
        }
    }

    /// The changes, including the removal of definitions that lose their last user.
    pub(crate) fn finish(mut self) -> Changes {
        let mut gained: HashMap<DefinitionId, u32> = Default::default();
        for row in &self.changes.processes {
            *gained.entry(row.definition).or_default() += 1;
        }
        for (definition, lost) in self.released {
            let users =
                self.fleet.definition_users(definition) + gained.get(&definition).unwrap_or(&0);
            if users == lost {
                self.changes.definitions_gone.push(definition);
            }
        }
        self.changes
    }

    /// Removes a registration.
    pub(crate) fn forget(&mut self, id: model::change::ProcessId) {
        if let Some(row) = self.fleet.registration(id) {
            self.release(row.definition);
            self.changes.processes_gone.push(id);
        }
    }

    /// Counts one user less of a definition.
    pub(crate) fn release(&mut self, definition: DefinitionId) {
        *self.released.entry(definition).or_default() += 1;
    }

    pub(crate) fn host(&mut self, host: Host) -> HostId {
        if let Some(id) = self
            .fleet
            .host_id(&host)
            .or_else(|| self.new_hosts.get(&host).copied())
        {
            return id;
        }
        let id = self.ids.host();
        self.new_hosts.insert(host, id);
        self.changes.hosts.push(HostRow::new(id, host));
        id
    }

    /// Keeps the suppliers of the hosts on which the process was registered.
    pub(crate) fn note_suppliers(
        &mut self,
        suppliers: &std::collections::HashMap<Host, i64>,
        answers: &[HostAnswer],
    ) {
        for row in &mut self.changes.hosts {
            row.supplier = suppliers.get(&row.host).copied().unwrap_or(row.supplier);
        }
        let registered = answers.iter().filter(|answer| answer.code == Code::OK);
        for host in registered.filter_map(|answer| answer.host) {
            let id = self.fleet.host_id(&host);
            let view = id.and_then(|id| self.fleet.host(id));
            let (Some(view), Some(supplier)) = (view, suppliers.get(&host)) else {
                continue;
            };
            if view.supplier != *supplier {
                self.changes.hosts.push(HostRow {
                    supplier: *supplier,
                    ..view.to_change()
                });
            }
        }
    }

    pub(crate) fn name(&mut self, name: &FullName) -> NameId {
        if let Some(id) = self
            .fleet
            .name_id(name)
            .or_else(|| self.new_names.get(name).copied())
        {
            return id;
        }
        let id = self.ids.name();
        self.new_names.insert(name.clone(), id);
        self.changes.names.push(NameRow {
            id,
            name: name.clone(),
        });
        id
    }

    pub(crate) fn definition(&mut self, name: NameId, content: &Content) -> DefinitionId {
        let fleet = self.fleet;
        let known = self.by_content.entry(name).or_insert_with(|| {
            let mut known: HashMap<u64, Vec<Known>> = HashMap::new();
            for (id, definition) in fleet.definitions_of(name) {
                let (spec, labels) = (definition.spec.clone(), definition.labels.clone());
                let alike = known.entry(definition.hash).or_default();
                alike.push(Known { id, spec, labels });
            }
            known
        });
        let alike = known.entry(content.hash).or_default();
        let same = alike
            .iter()
            .find(|known| known.spec == content.spec && known.labels == content.labels);
        if let Some(known) = same {
            return known.id;
        }
        let id = self.ids.definition();
        let (spec, labels) = (content.spec.clone(), content.labels.clone());
        alike.push(Known {
            id,
            spec: spec.clone(),
            labels: labels.clone(),
        });
        self.changes.definitions.push(DefinitionRow {
            id,
            name,
            spec,
            labels,
        });
        id
    }

    pub(crate) fn register(
        &mut self,
        name: &FullName,
        content: &Content,
        hosts: &[TargetHost],
        mode: Mode,
        origin: &VersionOrigin,
    ) -> Vec<HostAnswer> {
        let (mut ids, mut replaces) = (None, false);
        let answers = answer_each(self.fleet, hosts, |host| {
            if let Some(lacking) = spec_lacking(self.fleet, host, &content.spec, None) {
                return HostDecision {
                    code: Code::COMMAND_FAILED,
                    message: lacking,
                    changed: false,
                };
            }
            let (name, definition) = *ids.get_or_insert_with(|| {
                let name = self.name(name);
                (name, self.definition(name, content))
            });
            match self.put(host, name, definition, mode) {
                Some(put) => {
                    replaces |= put == Put::Changed;
                    success(put != Put::AsItWas)
                }
                None => HostDecision {
                    code: Code::EXISTS,
                    message: "Fail to register, for the process info already exists.".to_owned(),
                    changed: false,
                },
            }
        });
        self.drop_unused_definition(ids.map(|(_, definition)| definition));
        if let Some((name, definition)) = ids {
            let is_new = |row: &DefinitionRow| row.id == definition;
            // One more host with a definition that others have is no version.
            if replaces || self.changes.definitions.iter().any(is_new) {
                self.add_version(name, content, origin);
            }
        }
        answers
    }

    /// Replaces the definition of a registered process on a host.
    pub(crate) fn replace(&mut self, host: Host, name: &FullName, content: &Content) {
        let name = self.name(name);
        let definition = self.definition(name, content);
        self.put(host, name, definition, Mode::Update);
    }

    /// Makes a definition the newest version of its process, unless it is that already.
    pub(crate) fn add_version(&mut self, name: NameId, content: &Content, origin: &VersionOrigin) {
        self.changes.versions.push(VersionRow {
            name,
            spec: content.spec.clone(),
            labels: content.labels.clone(),
            at: self.at,
            origin: origin.clone(),
        });
    }

    /// Registers an instance of the view; an existing registration gets this owner.
    pub(crate) fn put_instance(
        &mut self,
        host: HostId,
        name: NameId,
        definition: DefinitionId,
        owner: BkProcessId,
    ) -> Put {
        let before = self.fleet.registered(host, name);
        let row = match before {
            Some(before) if (before.definition, before.owner) == (definition, Some(owner)) => {
                return Put::AsItWas;
            }
            Some(before) => {
                if before.definition != definition {
                    self.release(before.definition);
                }
                ProcessRow {
                    definition,
                    owner: Some(owner),
                    ..before
                }
            }
            None => ProcessRow {
                owner: Some(owner),
                ..self.new_process(host, name, definition)
            },
        };
        self.put.insert((host, name), self.changes.processes.len());
        self.changes.processes.push(row);
        match before {
            Some(_) => Put::Changed,
            None => Put::New,
        }
    }

    fn new_process(&mut self, host: HostId, name: NameId, definition: DefinitionId) -> ProcessRow {
        ProcessRow {
            id: self.ids.process(),
            host,
            name,
            definition,
            flag: Flag::Stopped,
            managed: false,
            registered_at: self.at,
            incarnation: self.revision,
            owner: None,
        }
    }

    /// None when another spec is registered there and may not be replaced.
    fn put(
        &mut self,
        host: Host,
        name: NameId,
        definition: DefinitionId,
        mode: Mode,
    ) -> Option<Put> {
        let host = self.host(host);
        if let Some(index) = self.put.get(&(host, name)) {
            self.changes.processes[*index].definition = definition;
            return Some(Put::Changed);
        }
        let (row, put) = match self.fleet.registered(host, name) {
            Some(before) if before.definition == definition => return Some(Put::AsItWas),
            Some(_) if mode == Mode::Register => return None,
            Some(before) => {
                self.release(before.definition);
                let row = ProcessRow {
                    definition,
                    ..before
                };
                (row, Put::Changed)
            }
            None => (self.new_process(host, name, definition), Put::New),
        };
        self.put.insert((host, name), self.changes.processes.len());
        self.changes.processes.push(row);
        Some(put)
    }

    /// Drops the drafted definition if every key was refused, so that nothing uses it.
    fn drop_unused_definition(&mut self, definition: Option<DefinitionId>) {
        let Some(definition) = definition else { return };
        if !self
            .changes
            .processes
            .iter()
            .any(|row| row.definition == definition)
        {
            self.changes.definitions.retain(|row| row.id != definition);
            for known in self.by_content.values_mut().flat_map(HashMap::values_mut) {
                known.retain(|known| {
                    known.id != definition || self.fleet.definition(definition).is_some()
                });
            }
        }
    }
}
