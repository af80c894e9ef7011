//! In which order a thread may take locks: those with lower ranks first. Only debug builds look.

#[cfg(debug_assertions)]
use std::cell::RefCell;

#[cfg(debug_assertions)]
thread_local! {
    /// Rank and content of each lock with a rank that this thread holds.
    static HELD: RefCell<Vec<(u8, &'static str)>> = const { RefCell::new(Vec::new()) };
}

/// Notes that the thread holds a lock of this rank.
#[derive(Debug)]
pub(crate) struct Held {
    #[cfg(debug_assertions)]
    rank: u8,
}

#[cfg(debug_assertions)]
impl Held {
    /// Panics when the thread holds a lock that must be taken after this one, or one of the same rank.
    pub(crate) fn new<T>(rank: u8) -> Self {
        if rank != crate::UNRANKED {
            let content = std::any::type_name::<T>();
            HELD.with_borrow_mut(|held| {
                if let Some((_, other)) = held.iter().find(|(other, _)| *other >= rank) {
                    panic!("lock order: {content} is locked while {other} is, which can deadlock");
                }
                held.push((rank, content));
            });
        }
        Self { rank }
    }
}

#[cfg(debug_assertions)]
impl Drop for Held {
    fn drop(&mut self) {
        // Locks of one rank are never held together, so this finds the right one.
        HELD.with_borrow_mut(|held| held.retain(|(rank, _)| *rank != self.rank));
    }
}

#[cfg(not(debug_assertions))]
impl Held {
    pub(crate) fn new<T>(_rank: u8) -> Self {
        Self {}
    }
}
