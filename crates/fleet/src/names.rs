//! (namespace, name) pairs, with their processes and definitions.

use std::sync::Arc;

use hashbrown::Equivalent;
use model::change::{DefinitionId, NameId, NameRow, ProcessId};
use model::selector::NamePattern;
use model::{FullName, Namespace, ProcessName};
use roaring::RoaringBitmap;

use crate::cow::{CowMap, Paged};

#[derive(Debug, Clone)]
struct NameCell {
    name: FullName,
    definitions: Vec<DefinitionId>,
    processes: RoaringBitmap,
}

/// Has the hash of the [`FullName`] that it equals.
#[derive(Hash)]
struct NameParts<'a> {
    namespace: &'a str,
    name: &'a str,
}

impl Equivalent<FullName> for NameParts<'_> {
    fn equivalent(&self, key: &FullName) -> bool {
        (key.namespace.as_str(), key.name.as_str()) == (self.namespace, self.name)
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    cells: Paged<Arc<NameCell>>,
    by_name: CowMap<FullName, NameId>,
    by_namespace: CowMap<Namespace, Arc<RoaringBitmap>>,
}

impl Names {
    pub(crate) fn put(&mut self, row: &NameRow) {
        if self.cells.get(row.id.0).is_none() {
            let cell = NameCell {
                name: row.name.clone(),
                definitions: Vec::new(),
                processes: RoaringBitmap::new(),
            };
            self.cells.insert(row.id.0, Arc::new(cell));
            self.by_name.insert(row.name.clone(), row.id);
        }
    }

    pub(crate) fn find(&self, name: &FullName) -> Option<NameId> {
        self.by_name.get(name).copied()
    }

    /// The same without a [`FullName`] in memory.
    pub(crate) fn find_parts(&self, namespace: &str, name: &str) -> Option<NameId> {
        self.by_name.get(&NameParts { namespace, name }).copied()
    }

    pub(crate) fn get(&self, id: NameId) -> Option<&FullName> {
        self.cell(id).map(|cell| &cell.name)
    }

    pub(crate) fn next_id(&self) -> u32 {
        self.cells.next()
    }

    pub(crate) fn add_definition(&mut self, id: NameId, definition: DefinitionId) {
        if let Some(cell) = self.cell_mut(id)
            && !cell.definitions.contains(&definition)
        {
            cell.definitions.push(definition);
        }
    }

    pub(crate) fn remove_definition(&mut self, id: NameId, definition: DefinitionId) {
        if let Some(cell) = self.cell_mut(id) {
            cell.definitions.retain(|other| *other != definition);
        }
    }

    pub(crate) fn definitions(&self, id: NameId) -> &[DefinitionId] {
        self.cell(id).map_or(&[], |cell| &cell.definitions)
    }

    pub(crate) fn add_processes(&mut self, id: NameId, processes: &RoaringBitmap) {
        let Some(cell) = self.cells.get_mut(id.0).map(Arc::make_mut) else {
            return;
        };
        cell.processes |= processes;
        match self.by_namespace.get_mut(&cell.name.namespace) {
            Some(all) => *Arc::make_mut(all) |= processes,
            None => {
                let all = Arc::new(processes.clone());
                self.by_namespace.insert(cell.name.namespace.clone(), all);
            }
        }
    }

    pub(crate) fn remove_process(&mut self, id: NameId, process: ProcessId) {
        let Some(cell) = self.cells.get_mut(id.0).map(Arc::make_mut) else {
            return;
        };
        cell.processes.remove(process.0);
        if let Some(processes) = self.by_namespace.get_mut(&cell.name.namespace) {
            Arc::make_mut(processes).remove(process.0);
        }
    }

    pub(crate) fn processes(&self, id: NameId) -> Option<&RoaringBitmap> {
        self.cell(id).map(|cell| &cell.processes)
    }

    pub(crate) fn processes_in(&self, namespace: &Namespace) -> Option<&RoaringBitmap> {
        self.by_namespace
            .get(namespace)
            .map(|processes| &**processes)
    }

    /// The processes of these names, in any namespace.
    pub(crate) fn processes_called(&self, names: &[ProcessName]) -> RoaringBitmap {
        let cells = self.cells();
        cells
            .filter(|cell| !cell.processes.is_empty() && names.contains(&cell.name.name))
            .fold(RoaringBitmap::new(), |all, cell| all | &cell.processes)
    }

    /// The processes whose name matches one of the patterns. A name without wildcards is looked up, others cost every name.
    pub(crate) fn processes_matching(&self, patterns: &[NamePattern]) -> RoaringBitmap {
        let mut found = RoaringBitmap::new();
        for pattern in patterns {
            if let Some(name) = pattern.literal() {
                let processes = self.find(&name).and_then(|id| self.processes(id));
                found |= processes.unwrap_or(&RoaringBitmap::new());
                continue;
            }
            let (mut namespace, mut name) = (pattern.namespace.matcher(), pattern.name.matcher());
            for cell in self.cells() {
                if !cell.processes.is_empty()
                    && namespace.matches(cell.name.namespace.as_str())
                    && name.matches(cell.name.name.as_str())
                {
                    found |= &cell.processes;
                }
            }
        }
        found
    }

    pub(crate) fn all_processes(&self) -> RoaringBitmap {
        self.by_namespace
            .values()
            .fold(RoaringBitmap::new(), |all, one| all | &**one)
    }

    /// Names of processes, in no order.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = &FullName> {
        let cells = self.cells();
        let used = cells.filter(|cell| !cell.processes.is_empty());
        used.map(|cell| &cell.name)
    }

    /// Namespaces that hold processes, and how many.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = (&Namespace, u64)> {
        self.by_namespace
            .iter()
            .map(|(namespace, processes)| (namespace, processes.len()))
            .filter(|(_, n)| *n > 0)
    }

    fn cells(&self) -> impl Iterator<Item = &NameCell> {
        self.cells.iter().map(|(_, cell)| &**cell)
    }

    fn cell(&self, id: NameId) -> Option<&NameCell> {
        self.cells.get(id.0).map(|cell| &**cell)
    }

    fn cell_mut(&mut self, id: NameId) -> Option<&mut NameCell> {
        self.cells.get_mut(id.0).map(Arc::make_mut)
    }
}
