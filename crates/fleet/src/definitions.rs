//! Specs with their labels, each stored once for all hosts that use it.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::change::{DefinitionId, DefinitionRow, NameId};
use model::digest;
use model::spec::after::Place;
use model::{Labels, Spec};
use roaring::RoaringBitmap;

use crate::cow::Paged;

#[derive(Debug)]
pub struct Definition {
    pub name: NameId,
    pub spec: Arc<Spec>,
    pub labels: Arc<Labels>,
    /// As sent to agents.
    pub spec_json: Arc<str>,
    pub labels_json: Arc<str>,
    /// [`digest::definition_hash`] of the two.
    pub hash: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Definitions {
    cells: Paged<Arc<Definition>>,
    users: Paged<u32>,
    /// Those with a dependency on other hosts.
    waiting: Arc<BTreeSet<DefinitionId>>,
    free: Arc<RoaringBitmap>,
}

impl Definitions {
    pub(crate) fn put(&mut self, row: &DefinitionRow) {
        let (id, next) = (row.id.0, self.cells.next());
        if id > next {
            Arc::make_mut(&mut self.free).insert_range(next..id);
        } else if self.free.contains(id) {
            Arc::make_mut(&mut self.free).remove(id);
        }
        let mut after = row.spec.after.iter();
        let waits = after.any(|dependency| dependency.place != Place::SameHost);
        self.set_waiting(row.id, waits);
        let spec_json = row.spec.to_json();
        let labels_json =
            serde_json::to_string(&*row.labels).expect("labels have only string keys");
        let definition = Definition {
            name: row.name,
            spec: row.spec.clone(),
            labels: row.labels.clone(),
            hash: digest::definition_hash(&spec_json, &labels_json),
            spec_json: spec_json.into(),
            labels_json: labels_json.into(),
        };
        self.cells.insert(id, Arc::new(definition));
    }

    fn set_waiting(&mut self, id: DefinitionId, waits: bool) {
        if self.waiting.contains(&id) != waits {
            let waiting = Arc::make_mut(&mut self.waiting);
            match waits {
                true => waiting.insert(id),
                false => waiting.remove(&id),
            };
        }
    }

    /// Removes it; returns its name.
    pub(crate) fn remove(&mut self, id: DefinitionId) -> Option<NameId> {
        self.set_waiting(id, false);
        let removed = self.cells.remove(id.0)?;
        Arc::make_mut(&mut self.free).insert(id.0);
        Some(removed.name)
    }

    pub(crate) fn get(&self, id: DefinitionId) -> Option<&Definition> {
        self.cells.get(id.0).map(|cell| &**cell)
    }

    pub(crate) fn waiting(&self) -> impl Iterator<Item = (DefinitionId, &Definition)> {
        let ids = self.waiting.iter();
        ids.filter_map(|id| Some((*id, self.get(*id)?)))
    }

    /// Counts more processes that use it.
    pub(crate) fn retain(&mut self, id: DefinitionId, more: u32) {
        match self.users.get_mut(id.0) {
            Some(users) => *users += more,
            None => drop(self.users.insert(id.0, more)),
        }
    }

    pub(crate) fn release(&mut self, id: DefinitionId) {
        if let Some(users) = self.users.get_mut(id.0) {
            *users = users.saturating_sub(1);
        }
    }

    pub(crate) fn users(&self, id: DefinitionId) -> u32 {
        self.users.get(id.0).copied().unwrap_or(0)
    }

    pub(crate) fn next_id(&self) -> u32 {
        self.cells.next()
    }

    pub(crate) fn free_ids(&self) -> &Arc<RoaringBitmap> {
        &self.free
    }
}
