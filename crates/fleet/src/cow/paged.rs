//! A sparse array, indexed by ids that come in runs: neighbours are adjacent in memory, and gaps cost nothing.

use hashbrown::HashMap;

const PAGE: usize = 128;

#[derive(Debug)]
pub(crate) struct Paged<T> {
    pages: HashMap<u32, Page<T>>,
    len: usize,
    /// The first index after all that were ever used.
    next: u32,
}

#[derive(Debug)]
struct Page<T> {
    cells: Box<[Option<T>; PAGE]>,
    used: usize,
}

impl<T> Default for Paged<T> {
    fn default() -> Self {
        Self {
            pages: HashMap::new(),
            len: 0,
            next: 1,
        }
    }
}

fn place(id: u32) -> (u32, usize) {
    (id / PAGE as u32, id as usize % PAGE)
}

impl<T> Paged<T> {
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        let (page, at) = place(id);
        self.pages.get(&page)?.cells[at].as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        let (page, at) = place(id);
        self.pages.get_mut(&page)?.cells[at].as_mut()
    }

    pub(crate) fn insert(&mut self, id: u32, value: T) -> Option<T> {
        let (page, at) = place(id);
        let page = self.pages.entry(page).or_insert_with(|| Page {
            cells: Box::new([const { None }; PAGE]),
            used: 0,
        });
        let before = page.cells[at].replace(value);
        if before.is_none() {
            page.used += 1;
            self.len += 1;
            self.next = self.next.max(id.saturating_add(1));
        }
        before
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<T> {
        let (number, at) = place(id);
        let page = self.pages.get_mut(&number)?;
        let before = page.cells[at].take()?;
        page.used -= 1;
        self.len -= 1;
        if page.used == 0 {
            self.pages.remove(&number);
        }
        Some(before)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn next(&self) -> u32 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_until_removed_and_gaps_cost_nothing() {
        let mut table = Paged::default();
        for id in [0, 1, 127, 128, 4_000_000_000] {
            assert_eq!(table.insert(id, id), None);
        }
        assert_eq!(table.insert(1, 7), Some(1));
        assert_eq!((table.len(), table.pages.len()), (5, 3));
        assert_eq!(table.next(), 4_000_000_001);
        assert_eq!((table.get(1), table.get(2)), (Some(&7), None));
        assert_eq!(table.remove(128), Some(128));
        assert_eq!(table.remove(128), None);
        assert_eq!((table.len(), table.pages.len()), (4, 2));
    }
}
