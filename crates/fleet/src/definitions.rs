//! Specs with their labels, each stored once for all hosts that use it.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::change::{DefinitionId, DefinitionRow, NameId};
use model::digest;
use model::spec::after::Place;
use model::{Labels, Spec};

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

#[derive(Debug, Default)]
pub(crate) struct Definitions {
    cells: Vec<Option<Definition>>,
    users: Vec<u32>,
    /// Those with a dependency on other hosts.
    waiting: BTreeSet<DefinitionId>,
}

impl Definitions {
    pub(crate) fn put(&mut self, row: &DefinitionRow) {
        let index = row.id.index();
        if self.cells.len() <= index {
            self.cells.resize_with(index + 1, || None);
            self.users.resize(index + 1, 0);
        }
        let mut after = row.spec.after.iter();
        match after.any(|dependency| dependency.place != Place::SameHost) {
            true => self.waiting.insert(row.id),
            false => self.waiting.remove(&row.id),
        };
        let spec_json = row.spec.to_json();
        let labels_json =
            serde_json::to_string(&*row.labels).expect("labels have only string keys");
        self.cells[index] = Some(Definition {
            name: row.name,
            spec: row.spec.clone(),
            labels: row.labels.clone(),
            hash: digest::definition_hash(&spec_json, &labels_json),
            spec_json: spec_json.into(),
            labels_json: labels_json.into(),
        });
    }

    /// Removes it; returns its name.
    pub(crate) fn remove(&mut self, id: DefinitionId) -> Option<NameId> {
        self.waiting.remove(&id);
        self.cells
            .get_mut(id.index())?
            .take()
            .map(|definition| definition.name)
    }

    pub(crate) fn get(&self, id: DefinitionId) -> Option<&Definition> {
        self.cells.get(id.index())?.as_ref()
    }

    pub(crate) fn waiting(&self) -> impl Iterator<Item = (DefinitionId, &Definition)> {
        let ids = self.waiting.iter();
        ids.filter_map(|id| Some((*id, self.get(*id)?)))
    }

    pub(crate) fn retain(&mut self, id: DefinitionId) {
        if let Some(users) = self.users.get_mut(id.index()) {
            *users += 1;
        }
    }

    pub(crate) fn release(&mut self, id: DefinitionId) {
        if let Some(users) = self.users.get_mut(id.index()) {
            *users = users.saturating_sub(1);
        }
    }

    pub(crate) fn users(&self, id: DefinitionId) -> u32 {
        self.users.get(id.index()).copied().unwrap_or(0)
    }

    pub(crate) fn next_id(&self) -> u32 {
        self.cells.len() as u32
    }

    pub(crate) fn free_ids(&self) -> Vec<u32> {
        let free = self
            .cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| cell.is_none());
        free.map(|(id, _)| id as u32).collect()
    }
}
