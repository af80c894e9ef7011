//! A set of ids that all snapshots of a fleet share: a change is seen by every reader at once, and copies nothing.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use roaring::RoaringBitmap;

use crate::cow::Paged;

const WORDS: usize = 64;
const PAGE_BITS: u32 = 64 * WORDS as u32;
/// Ids in a container of a roaring bitmap.
const CONTAINER_BITS: u32 = 1 << 16;
/// Of fewer ids each is looked up; of more, a bitmap is made.
const MAX_LOOKED_UP: u64 = 4096;

#[derive(Debug, Clone, Default)]
pub(crate) struct SharedBits {
    pages: Paged<Arc<[AtomicU64; WORDS]>>,
}

fn place(id: u32) -> (u32, usize, u64) {
    let bit = id % PAGE_BITS;
    (id / PAGE_BITS, (bit / 64) as usize, 1 << (bit % 64))
}

impl SharedBits {
    /// Makes room for an id, so that [`Self::set`] can be called with it.
    pub(crate) fn make_room(&mut self, id: u32) {
        let (page, _, _) = place(id);
        if self.pages.get(page).is_none() {
            let empty = Arc::new([const { AtomicU64::new(0) }; WORDS]);
            self.pages.insert(page, empty);
        }
    }

    /// Adds or removes an id that there is room for.
    pub(crate) fn set(&self, id: u32, is_member: bool) {
        let (page, word, mask) = place(id);
        let Some(page) = self.pages.get(page) else {
            debug_assert!(!is_member, "no room was made for {id}");
            return;
        };
        match is_member {
            true => page[word].fetch_or(mask, Relaxed),
            false => page[word].fetch_and(!mask, Relaxed),
        };
    }

    pub(crate) fn contains(&self, id: u32) -> bool {
        let (page, word, mask) = place(id);
        let page = self.pages.get(page);
        page.is_some_and(|page| page[word].load(Relaxed) & mask != 0)
    }

    /// Those of `ids` that are members.
    pub(crate) fn among(&self, ids: &RoaringBitmap) -> RoaringBitmap {
        match ids.len() <= MAX_LOOKED_UP {
            true => ids.iter().filter(|id| self.contains(*id)).collect(),
            false => self.to_bitmap() & ids,
        }
    }

    pub(crate) fn count_among(&self, ids: &RoaringBitmap) -> u64 {
        match ids.len() <= MAX_LOOKED_UP {
            true => ids.iter().filter(|id| self.contains(*id)).count() as u64,
            false => self.to_bitmap().intersection_len(ids),
        }
    }

    pub(crate) fn to_bitmap(&self) -> RoaringBitmap {
        let mut all = RoaringBitmap::new();
        let mut bytes = Vec::new();
        let mut container = None;
        for (number, page) in self.pages.iter() {
            let first = number * PAGE_BITS;
            let base = first - first % CONTAINER_BITS;
            if container != Some(base) {
                add(&mut all, container, &mut bytes);
                container = Some(base);
            }
            bytes.resize((first - base) as usize / 8, 0);
            for word in page.iter() {
                bytes.extend(word.load(Relaxed).to_le_bytes());
            }
        }
        add(&mut all, container, &mut bytes);
        all
    }
}

fn add(all: &mut RoaringBitmap, base: Option<u32>, bytes: &mut Vec<u8>) {
    if let Some(base) = base {
        *all |= RoaringBitmap::from_lsb0_bytes(base, bytes);
    }
    bytes.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_those_of_a_bitmap() {
        let mut bits = SharedBits::default();
        let ids = (0..200_000).filter(|id| id % 3 == 0 && !(70_000..140_000).contains(id));
        let ids: RoaringBitmap = ids.chain([4_000_000_000]).collect();
        for id in &ids {
            bits.make_room(id);
            bits.set(id, true);
        }
        assert_eq!(bits.to_bitmap(), ids);
        assert!(bits.contains(4_000_000_000) && !bits.contains(1) && !bits.contains(80_001));
        let few = RoaringBitmap::from_iter([0, 1, 3, 70_001, 139_999, 140_001]);
        assert_eq!(bits.among(&few), &few & &ids);
        let many: RoaringBitmap = (0..150_000).collect();
        assert_eq!(bits.among(&many), &many & &ids);
        assert_eq!(bits.count_among(&many), many.intersection_len(&ids));
        let shared = bits.clone();
        bits.set(3, false);
        assert!(!shared.contains(3), "a clone has the same members");
    }
}
