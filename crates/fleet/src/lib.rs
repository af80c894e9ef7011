//! The whole fleet in memory: every query is answered from here.
//!
//! Desired state arrives as [`Changes`], in the order of their revisions ([`Fleet::apply`]); observed state arrives as statuses
//! ([`Fleet::observe`]). Processes are kept in columns, so that a million of them take little memory, and are found through
//! their hosts and bitmaps. The crate does no I/O and reads no clock.
//!
//! One fleet is changed, its snapshots are read ([`SharedFleet`]): a snapshot keeps what was committed as it was, without a
//! copy, and shows the latest statuses. So a read waits for no change, and no change for a read.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::change::{Changes, DefinitionId, HostId, NameId, ProcessId, ProcessRow, Revision};
use model::group::ProcessGroup;
use model::topology::BkProcessId;
use model::{AgentId, FullName, Host, Namespace, UnixMillis};
use roaring::RoaringBitmap;

mod batch;
mod bits;
mod columns;
mod condition;
mod cost;
mod cow;
mod definitions;
mod deltas;
mod facets;
mod filter;
mod fresh_ids;
mod host_query;
mod host_texts;
mod hosts;
mod labels;
mod moved;
mod names;
mod observed;
mod query;
mod reports;
mod row;
mod scan;
mod search;
mod shards;
mod shared;
mod summary;
mod unsaved;
pub mod view;

pub use definitions::Definition;
pub use deltas::{StatusesRead, WrittenStatuses};
pub use facets::{Facet, FacetKey, FacetValue};
pub use filter::Filter;
pub use fresh_ids::FreshIds;
pub use host_query::{HostFilter, HostKey, HostOrder};
pub use hosts::{AgentInfo, HostView, Link};
pub use moved::MovedProcess;
pub use query::{MAX_ORDER_KEYS, OrderKey, Page, RowOrder};
pub use reports::{HostProcesses, Observed, PackedStatus};
pub use row::Row;
pub use search::Found;
pub use shared::{FleetGuard, SharedFleet};
pub use summary::ProcessCounts;

use batch::Batch;
use columns::Columns;
use cow::CowMap;
use definitions::Definitions;
use hosts::Hosts;
use labels::LabelIndex;
use names::Names;
use unsaved::Unsaved;
use view::View;

#[derive(Debug, Default)]
pub struct Fleet {
    revision: Revision,
    hosts: Arc<Hosts>,
    names: Arc<Names>,
    definitions: Arc<Definitions>,
    columns: Arc<Columns>,
    /// Of processes, by the labels of their definitions.
    process_labels: Arc<LabelIndex>,
    host_labels: Arc<LabelIndex>,
    groups: Arc<HostGroups>,
    view: Arc<View>,
    unsaved: Unsaved,
}

type HostGroups = CowMap<HostId, BTreeMap<Namespace, Arc<[ProcessGroup]>>>;

impl Fleet {
    pub fn new() -> Self {
        Self::default()
    }

    /// The last commit that was applied.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Folds a commit in. Commits are applied in order, each once.
    pub fn apply(&mut self, revision: Revision, changes: &Changes) {
        debug_assert!(revision >= self.revision, "commits are applied in order");
        // Before the instances, which are counted into the view.
        if !changes.topology.is_empty() {
            Arc::make_mut(&mut self.view).apply(&changes.topology);
        }
        if !changes.templates.is_empty() {
            Arc::make_mut(&mut self.view).apply_templates(&changes.templates);
        }
        for row in changes.hosts.iter().filter(|row| row.removed_at.is_none()) {
            self.unindex_host_labels(row.id);
            Arc::make_mut(&mut self.hosts).put(row);
            if !row.labels.is_empty() {
                let id = RoaringBitmap::from([row.id.0]);
                Arc::make_mut(&mut self.host_labels).add(&row.labels, &id);
            }
        }
        for row in &changes.names {
            Arc::make_mut(&mut self.names).put(row);
        }
        for row in &changes.definitions {
            Arc::make_mut(&mut self.definitions).put(row);
            Arc::make_mut(&mut self.names).add_definition(row.name, row.id);
        }
        for id in &changes.processes_gone {
            self.remove_process(*id);
        }
        // Owners whose instances are another or have changed.
        let mut owners: RoaringBitmap = changes
            .topology
            .processes
            .iter()
            .map(|row| row.id.0)
            .collect();
        let mut batch = Batch::default();
        for row in &changes.processes {
            self.put_process(row, &mut batch);
            owners.extend(row.owner.map(|owner| owner.0));
        }
        self.index(&mut batch);
        for id in &changes.definitions_gone {
            if let Some(name) = Arc::make_mut(&mut self.definitions).remove(*id) {
                Arc::make_mut(&mut self.names).remove_definition(name, *id);
            }
        }
        for owner in owners {
            self.recount(BkProcessId(owner));
        }
        for row in &changes.groups {
            let here = Arc::make_mut(&mut self.groups).get_or_default(row.host);
            match row.groups.is_empty() {
                true => drop(here.remove(&row.namespace)),
                false => drop(here.insert(row.namespace.clone(), row.groups.as_slice().into())),
            }
        }
        // After the processes, which are in the list of their host.
        for row in &changes.hosts {
            if let Some(at) = row.removed_at {
                Arc::make_mut(&mut self.groups).remove(&row.id);
                self.unindex_host_labels(row.id);
                Arc::make_mut(&mut self.hosts).remove(row, at);
                self.unsaved.links_moved = true;
            }
        }
        // Last: a fleet with this revision has all of the commit.
        self.revision = revision;
    }

    fn unindex_host_labels(&mut self, id: HostId) {
        if let Some(host) = self.hosts.view(id)
            && !host.labels.is_empty()
        {
            Arc::make_mut(&mut self.host_labels).remove(host.labels, id.0);
        }
    }

    fn put_process(&mut self, row: &ProcessRow, batch: &mut Batch) {
        if self.columns.block(row.id).is_some() {
            self.index(batch);
            if self.columns.identity(row.id) == Some((row.host, row.name)) {
                // The same process with another spec, flag or managed.
                return self.change_process(row);
            }
            self.remove_process(row.id);
        }
        Arc::make_mut(&mut self.columns).insert(row);
        Arc::make_mut(&mut self.hosts).add_process(row.host, row.name, row.id);
        if let Some(owner) = row.owner {
            self.add_instance(owner, row.id);
        }
        batch.add(row);
    }

    fn change_process(&mut self, row: &ProcessRow) {
        let before = self.columns.definition(row.id);
        if before != row.definition {
            self.unindex_labels(before, row.id);
            self.index_labels(row.definition, row.id);
            let definitions = Arc::make_mut(&mut self.definitions);
            definitions.release(before);
            definitions.retain(row.definition, 1);
        }
        if self.columns.incarnation(row.id) != row.incarnation {
            self.columns.forget_status(row.id);
        }
        let owner = self.columns.owner(row.id);
        if let Some(owner) = owner.filter(|_| owner != row.owner) {
            self.drop_instance(owner, row.id);
        }
        Arc::make_mut(&mut self.columns).update(row);
        if let Some(new) = row.owner.filter(|new| owner != Some(*new)) {
            self.add_instance(new, row.id);
        }
    }

    fn remove_process(&mut self, id: ProcessId) {
        let Some((host, name)) = self.columns.identity(id) else {
            return;
        };
        if let Some(owner) = self.columns.owner(id) {
            self.drop_instance(owner, id);
        }
        let definition = self.columns.definition(id);
        self.unindex_labels(definition, id);
        Arc::make_mut(&mut self.definitions).release(definition);
        Arc::make_mut(&mut self.names).remove_process(name, id);
        Arc::make_mut(&mut self.hosts).remove_process(host, name);
        Arc::make_mut(&mut self.columns).remove(id);
        self.unsaved.mark(id, true);
    }

    /// Records that a host's agent connected or disconnected.
    pub fn set_link(&mut self, host: HostId, link: Link) {
        if Arc::make_mut(&mut self.hosts).set_link(host, link) {
            self.unsaved.links_moved = true;
        }
    }

    /// Records a sign of life of an agent: statuses that it did not report again still hold. All snapshots show it.
    pub fn heard(&self, host: HostId, at: UnixMillis) {
        self.hosts.heard(host, at);
    }

    /// Records what an agent reported about itself.
    pub fn set_agent_info(&mut self, host: HostId, info: AgentInfo) {
        Arc::make_mut(&mut self.hosts).set_info(host, info);
    }

    pub fn host_id(&self, host: &Host) -> Option<HostId> {
        self.hosts.find(host)
    }

    pub fn host_of_agent(&self, agent: &AgentId) -> Option<HostId> {
        self.hosts.find_agent(agent)
    }

    pub fn find_host(&self, host: &Host) -> Option<HostView<'_>> {
        self.host(self.host_id(host)?)
    }

    pub fn host(&self, id: HostId) -> Option<HostView<'_>> {
        self.hosts.view(id)
    }

    /// The address of a host, also of a removed one: history refers to it by its id.
    pub fn address(&self, id: HostId) -> Option<Host> {
        self.hosts.address(id)
    }

    /// The id of a host, and those that it had before it was removed.
    pub fn ids_of(&self, host: &Host) -> Vec<HostId> {
        self.hosts.ids_of(host)
    }

    /// When a host was last removed; it may have come back.
    pub fn removed_at(&self, host: &Host) -> Option<UnixMillis> {
        self.hosts.removed_at(host)
    }

    /// Every host that a request or an agent named and that was not removed, by id.
    pub fn hosts(&self) -> impl Iterator<Item = HostView<'_>> {
        self.hosts.iter()
    }

    pub fn n_hosts(&self) -> usize {
        self.hosts.len()
    }

    pub fn n_processes(&self) -> usize {
        self.columns.len()
    }

    /// Counted column by column: a tenth of a millisecond per hundred thousand.
    pub fn n_running(&self) -> usize {
        self.columns.n_running()
    }

    /// How many have a ready probe that succeeds, counted likewise.
    pub fn n_ready(&self) -> usize {
        self.columns.n_ready()
    }

    pub fn name(&self, id: NameId) -> Option<&FullName> {
        self.names.get(id)
    }

    pub fn name_id(&self, name: &FullName) -> Option<NameId> {
        self.names.find(name)
    }

    /// One process by its host and name.
    pub fn process(&self, host: HostId, name: NameId) -> Option<Row<'_>> {
        let id = self.hosts.find_process(host, name)?;
        self.row(id)
    }

    /// The durable part of a process: for plans that look at very many.
    pub fn registration(&self, id: ProcessId) -> Option<ProcessRow> {
        self.columns.row(id)
    }

    /// The same by its host and name.
    pub fn registered(&self, host: HostId, name: NameId) -> Option<ProcessRow> {
        self.columns.row(self.hosts.find_process(host, name)?)
    }

    /// One process by its address and its name.
    pub fn find_process(&self, host: &Host, name: &FullName) -> Option<Row<'_>> {
        self.process(self.host_id(host)?, self.name_id(name)?)
    }

    pub fn row(&self, id: ProcessId) -> Option<Row<'_>> {
        Row::new(self, id)
    }

    /// Every process of a host, by the id of its name.
    pub fn processes_of(&self, host: HostId) -> impl Iterator<Item = Row<'_>> {
        self.ids_on(host).map_while(|id| self.row(id))
    }

    fn ids_on(&self, host: HostId) -> impl Iterator<Item = ProcessId> {
        self.hosts.processes(host).iter().map(|(_, id)| *id)
    }

    /// Every host where a process of this name is registered.
    pub fn processes_named(&self, name: NameId) -> impl Iterator<Item = Row<'_>> {
        self.names
            .processes(name)
            .into_iter()
            .flatten()
            .filter_map(|id| self.row(ProcessId(id)))
    }

    /// The name of every process, once for all its hosts, in no order.
    pub fn names_in_use(&self) -> impl Iterator<Item = &FullName> {
        self.names.in_use()
    }

    pub fn namespaces(&self) -> impl Iterator<Item = (&Namespace, u64)> {
        self.names.namespaces()
    }

    /// Every definition of a name.
    pub fn definitions_of(
        &self,
        name: NameId,
    ) -> impl Iterator<Item = (DefinitionId, &Definition)> {
        let ids = self.names.definitions(name).iter();
        ids.filter_map(|id| Some((*id, self.definitions.get(*id)?)))
    }

    pub fn definition(&self, id: DefinitionId) -> Option<&Definition> {
        self.definitions.get(id)
    }

    /// The definitions with a dependency on other hosts.
    pub fn waiting_definitions(&self) -> impl Iterator<Item = (DefinitionId, &Definition)> {
        self.definitions.waiting()
    }

    /// How many processes use it.
    pub fn definition_users(&self, id: DefinitionId) -> u32 {
        self.definitions.users(id)
    }

    pub fn groups(&self, host: HostId, namespace: &Namespace) -> &[ProcessGroup] {
        let groups = self.groups.get(&host).and_then(|here| here.get(namespace));
        groups.map_or(&[], |groups| groups)
    }

    /// Every namespace that has groups on a host, with them.
    pub fn groups_of(&self, host: HostId) -> impl Iterator<Item = (&Namespace, &[ProcessGroup])> {
        let here = self.groups.get(&host).into_iter().flatten();
        here.map(|(namespace, groups)| (namespace, &**groups))
    }
}

/// Whole seconds in 32 bits: enough until 2106, in half the memory.
fn to_secs(at: UnixMillis) -> u32 {
    at.secs().clamp(0, i64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests;
