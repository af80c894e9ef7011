//! A sparse array, indexed by ids that come in runs: neighbours are adjacent in memory, and gaps cost little.
//!
//! Three levels, so that a lookup is three loads, and a change copies one page and the pointers above it.

use std::sync::Arc;

const PAGE: usize = 128;
/// Pages of a node.
const NODE: usize = 512;

#[derive(Debug, Clone)]
pub(crate) struct Paged<T> {
    nodes: Vec<Option<Arc<Node<T>>>>,
    len: usize,
    /// The first index after all that were ever used.
    next: u32,
}

#[derive(Debug, Clone)]
struct Node<T> {
    pages: Box<[Option<Arc<Page<T>>>]>,
    used: usize,
}

#[derive(Debug, Clone)]
struct Page<T> {
    cells: [Option<T>; PAGE],
    used: usize,
}

impl<T> Default for Paged<T> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            len: 0,
            next: 0,
        }
    }
}

impl<T> Node<T> {
    fn new() -> Self {
        Self {
            pages: (0..NODE).map(|_| None).collect(),
            used: 0,
        }
    }
}

impl<T> Page<T> {
    fn new() -> Self {
        Self {
            cells: [const { None }; PAGE],
            used: 0,
        }
    }
}

/// Node, page and cell.
fn place(id: u32) -> (usize, usize, usize) {
    let id = id as usize;
    (id / (PAGE * NODE), id / PAGE % NODE, id % PAGE)
}

impl<T> Paged<T> {
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        let (node, page, at) = place(id);
        let page = self.nodes.get(node)?.as_ref()?.pages[page].as_ref()?;
        page.cells[at].as_ref()
    }

    pub(crate) fn cursor(&self) -> PagedCursor<'_, T> {
        PagedCursor {
            paged: self,
            // No id is on this page.
            number: u32::MAX,
            page: None,
        }
    }

    /// With their ids, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let nodes = self.nodes.iter().enumerate();
        let pages = nodes.flat_map(|(number, node)| {
            let pages = node.iter().flat_map(|node| node.pages.iter().enumerate());
            pages.map(move |(at, page)| (number * NODE + at, page))
        });
        pages.flat_map(|(number, page)| {
            let cells = page.iter().flat_map(|page| page.cells.iter().enumerate());
            cells.filter_map(move |(at, cell)| Some(((number * PAGE + at) as u32, cell.as_ref()?)))
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Never hands out an id below this one as [`Self::next`].
    pub(crate) fn skip_to(&mut self, next: u32) {
        self.next = self.next.max(next);
    }
}

/// Reads ids in rising order: it remembers the page that it read last.
#[derive(Debug)]
pub(crate) struct PagedCursor<'a, T> {
    paged: &'a Paged<T>,
    number: u32,
    page: Option<&'a Page<T>>,
}

impl<'a, T> PagedCursor<'a, T> {
    #[inline]
    pub(crate) fn get(&mut self, id: u32) -> Option<&'a T> {
        let number = id / PAGE as u32;
        if self.number != number {
            let (node, page, _) = place(id);
            let node = self.paged.nodes.get(node).and_then(Option::as_ref);
            self.page = node.and_then(|node| node.pages[page].as_deref());
            self.number = number;
        }
        self.page?.cells[id as usize % PAGE].as_ref()
    }
}

impl<T: Clone> Paged<T> {
    /// Copies nothing when there is no such value.
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.get(id)?;
        let (node, page, at) = place(id);
        let node = Arc::make_mut(self.nodes.get_mut(node)?.as_mut()?);
        Arc::make_mut(node.pages[page].as_mut()?).cells[at].as_mut()
    }

    /// Returns the value that it replaces.
    pub(crate) fn insert(&mut self, id: u32, value: T) -> Option<T> {
        let (node, page, at) = place(id);
        if self.nodes.len() <= node {
            self.nodes.resize_with(node + 1, || None);
        }
        let node = self.nodes[node].get_or_insert_with(|| Arc::new(Node::new()));
        let node = Arc::make_mut(node);
        if node.pages[page].is_none() {
            node.used += 1;
        }
        let page = node.pages[page].get_or_insert_with(|| Arc::new(Page::new()));
        let page = Arc::make_mut(page);
        let before = page.cells[at].replace(value);
        if before.is_none() {
            page.used += 1;
            self.len += 1;
            self.next = self.next.max(id.saturating_add(1));
        }
        before
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<T> {
        self.get(id)?;
        let (number, page_number, at) = place(id);
        let node = Arc::make_mut(self.nodes[number].as_mut()?);
        let page = Arc::make_mut(node.pages[page_number].as_mut()?);
        let before = page.cells[at].take()?;
        page.used -= 1;
        self.len -= 1;
        if page.used == 0 {
            node.pages[page_number] = None;
            node.used -= 1;
            if node.used == 0 {
                self.nodes[number] = None;
            }
        }
        Some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_until_removed_and_gaps_cost_little() {
        let mut table = Paged::default();
        for id in [0, 1, 127, 128, 4_000_000_000] {
            assert_eq!(table.insert(id, id), None);
        }
        assert_eq!(table.insert(1, 7), Some(1));
        let n_nodes = |table: &Paged<u32>| table.nodes.iter().flatten().count();
        assert_eq!((table.len(), n_nodes(&table)), (5, 2));
        assert_eq!(table.next(), 4_000_000_001);
        assert_eq!((table.get(1), table.get(2)), (Some(&7), None));
        let all: Vec<(u32, u32)> = table.iter().map(|(id, value)| (id, *value)).collect();
        assert_eq!(all[..4], [(0, 0), (1, 7), (127, 127), (128, 128)]);
        assert_eq!(all[4], (4_000_000_000, 4_000_000_000));
        let mut cursor = table.cursor();
        let read = [0, 1, 2, 127, 128, 129, 70_000, 4_000_000_000, 1].map(|id| cursor.get(id));
        let found = [Some(&0), Some(&7), None, Some(&127), Some(&128)];
        assert_eq!(read[..5], found);
        assert_eq!(read[5..], [None, None, Some(&4_000_000_000), Some(&7)]);
        assert_eq!(table.remove(4_000_000_000), Some(4_000_000_000));
        assert_eq!(table.remove(128), Some(128));
        assert_eq!(table.remove(128), None);
        assert_eq!((table.len(), n_nodes(&table)), (3, 1));
        table.skip_to(u32::MAX);
        assert_eq!(table.next(), u32::MAX);
    }

    #[test]
    fn a_clone_keeps_what_it_had_when_the_original_changes() {
        let mut table = Paged::default();
        for id in 0..100_000 {
            table.insert(id, id);
        }
        let before = table.clone();
        *table.get_mut(500).unwrap() = 1;
        table.remove(501);
        table.insert(100_000, 2);
        assert_eq!((before.get(500), table.get(500)), (Some(&500), Some(&1)));
        assert_eq!((before.get(501), table.get(501)), (Some(&501), None));
        assert_eq!((before.len(), table.len()), (100_000, 100_000));
        let pages = |table: &Paged<u32>| -> Vec<_> {
            let nodes = table.nodes.iter().flatten();
            nodes
                .flat_map(|node| node.pages.iter().flatten().cloned())
                .collect()
        };
        let (before, after) = (pages(&before), pages(&table));
        let copied = before
            .iter()
            .zip(&after)
            .filter(|(a, b)| !Arc::ptr_eq(a, b));
        assert_eq!(copied.count(), 2, "one that changed, one that grew");
    }
}
