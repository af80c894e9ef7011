//! Processes that a commit adds, until they are in the indexes: a bitmap takes many ids at once much faster than one by one.

use std::sync::Arc;

use hashbrown::HashMap;
use model::change::{DefinitionId, NameId, ProcessRow};
use roaring::RoaringBitmap;

use crate::Fleet;

/// What the indexes do not have yet.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    by_name: HashMap<NameId, Vec<u32>>,
    by_definition: HashMap<DefinitionId, Vec<u32>>,
}

impl Batch {
    pub(crate) fn add(&mut self, row: &ProcessRow) {
        self.by_name.entry(row.name).or_default().push(row.id.0);
        self.by_definition
            .entry(row.definition)
            .or_default()
            .push(row.id.0);
    }
}

impl Fleet {
    /// Adds the processes to the indexes, before any of them is changed or removed again.
    pub(crate) fn index(&mut self, batch: &mut Batch) {
        for (name, ids) in batch.by_name.drain() {
            let ids = RoaringBitmap::from_iter(ids);
            Arc::make_mut(&mut self.names).add_processes(name, &ids);
        }
        for (id, ids) in batch.by_definition.drain() {
            Arc::make_mut(&mut self.definitions).retain(id, ids.len() as u32);
            if let Some(definition) = self.definitions.get(id)
                && !definition.labels.is_empty()
            {
                let ids = RoaringBitmap::from_iter(ids);
                Arc::make_mut(&mut self.process_labels).add(&definition.labels, &ids);
            }
        }
    }
}
