//! Which processes have a label: a bitmap for each pair of key and value, of processes and of hosts.
//!
//! A process has the labels of its definition, and those of its host whose keys its definition does not have. Processes without
//! labels are in no bitmap, so they cost nothing here.

use std::sync::Arc;

use model::Labels;
use model::change::{DefinitionId, HostId, ProcessId};
use model::selector::{LabelSelector, LabelTest, LabelWanted};
use roaring::RoaringBitmap;

use crate::cow::CowMap;
use crate::{Fleet, scan};

/// The label that an instance gets from its owner instead of its definition: no bitmap knows it.
pub(crate) const OWNER_LABEL: &str = "bk_process_id";

/// For each value, what has it.
type Values = CowMap<Box<str>, Arc<RoaringBitmap>>;

/// For each key and value, what has it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LabelIndex(CowMap<Box<str>, Values>);

impl LabelIndex {
    pub(crate) fn add(&mut self, labels: &Labels, more: &RoaringBitmap) {
        for (key, value) in labels.iter() {
            let values = self.0.get_or_default(key.into());
            let ids = values.get_or_default(value.into());
            *Arc::make_mut(ids) |= more;
        }
    }

    pub(crate) fn remove(&mut self, labels: &Labels, id: u32) {
        for (key, value) in labels.iter() {
            let Some(values) = self.0.get_mut(key) else {
                continue;
            };
            if let Some(ids) = values.get_mut(value) {
                Arc::make_mut(ids).remove(id);
                if ids.is_empty() {
                    values.remove(value);
                }
            }
            if values.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// What has the key, with any value.
    fn with_key(&self, key: &str) -> RoaringBitmap {
        let values = self.0.get(key).into_iter().flat_map(CowMap::values);
        values.fold(RoaringBitmap::new(), |all, one| all | &**one)
    }

    /// What has the key with a value that the test names, or with any value where it names none.
    fn named(&self, test: &LabelTest) -> RoaringBitmap {
        match &test.wanted {
            LabelWanted::In(values) | LabelWanted::NotIn(values) => {
                let known = self.0.get(test.key.as_str());
                let named = values.iter().filter_map(|value| known?.get(value.as_str()));
                named.fold(RoaringBitmap::new(), |all, one| all | &**one)
            }
            LabelWanted::Present | LabelWanted::Absent => self.with_key(&test.key),
        }
    }

    fn has_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    #[cfg(test)]
    pub(crate) fn n_keys(&self) -> usize {
        self.0.len()
    }
}

impl Fleet {
    pub(crate) fn index_labels(&mut self, definition: DefinitionId, id: ProcessId) {
        if let Some(definition) = self.definitions.get(definition)
            && !definition.labels.is_empty()
        {
            let id = RoaringBitmap::from([id.0]);
            Arc::make_mut(&mut self.process_labels).add(&definition.labels, &id);
        }
    }

    pub(crate) fn unindex_labels(&mut self, definition: DefinitionId, id: ProcessId) {
        if let Some(definition) = self.definitions.get(definition)
            && !definition.labels.is_empty()
        {
            Arc::make_mut(&mut self.process_labels).remove(&definition.labels, id.0);
        }
    }

    /// Those of `ids` whose labels pass every test.
    pub(crate) fn labelled(&self, ids: RoaringBitmap, selector: &LabelSelector) -> RoaringBitmap {
        let mut tests: Vec<&LabelTest> = selector.tests().iter().collect();
        // The others leave fewer processes to look at.
        tests.sort_by_key(|test| (test.key == OWNER_LABEL, self.host_labels.has_key(&test.key)));
        let narrow = |ids, test: &&LabelTest| match test.key == OWNER_LABEL {
            true => self.with_owner_label(ids, test),
            false => self.with_label(ids, test),
        };
        tests.iter().fold(ids, narrow)
    }

    fn with_label(&self, ids: RoaringBitmap, test: &LabelTest) -> RoaringBitmap {
        let mut named = &ids & self.process_labels.named(test);
        if self.host_labels.has_key(&test.key) {
            let without = &ids - self.process_labels.with_key(&test.key);
            named |= self.on_hosts(&without, &self.host_labels.named(test));
        }
        match &test.wanted {
            LabelWanted::In(_) | LabelWanted::Present => named,
            LabelWanted::NotIn(_) | LabelWanted::Absent => ids - named,
        }
    }

    /// Those of `ids` that are on these hosts. Goes through the shorter of both lists.
    fn on_hosts(&self, ids: &RoaringBitmap, hosts: &RoaringBitmap) -> RoaringBitmap {
        let views = (hosts.iter()).filter_map(|host| self.hosts.view(HostId(host)));
        let n_on_hosts: u64 = views.map(|view| u64::from(view.n_processes)).sum();
        if n_on_hosts < ids.len() {
            let on_hosts = hosts.iter().flat_map(|host| self.ids_on(HostId(host)));
            return ids & RoaringBitmap::from_iter(on_hosts.map(|id| id.0));
        }
        let mut wanted = vec![false; self.hosts.next_id() as usize];
        for host in hosts {
            wanted[host as usize] = true;
        }
        scan::filtered(ids, || {
            |id| {
                let place = self.columns.block(ProcessId(id));
                place.is_some_and(|(block, at)| wanted[block.host[at] as usize])
            }
        })
    }

    /// By the label that only rows know. A test that names owners looks their instances up first.
    fn with_owner_label(&self, mut ids: RoaringBitmap, test: &LabelTest) -> RoaringBitmap {
        if let LabelWanted::In(values) = &test.wanted
            && !self.host_labels.has_key(OWNER_LABEL)
        {
            let owners = values.iter().filter_map(|value| value.parse().ok());
            let owners = owners.map(model::topology::BkProcessId);
            let instances = owners.flat_map(|owner| self.instances_of(owner));
            let instances = RoaringBitmap::from_iter(instances.map(|id| id.0));
            ids &= instances | self.process_labels.named(test);
        }
        scan::filtered(&ids, || {
            |id| {
                let row = self.row(ProcessId(id));
                row.is_some_and(|row| test.matches(row.label(OWNER_LABEL).as_deref()))
            }
        })
    }
}

#[cfg(test)]
mod tests;
