//! Checks that a thread takes locks in the order of their ranks. Only debug builds check.

#[cfg(debug_assertions)]
use std::cell::RefCell;

#[cfg(debug_assertions)]
thread_local! {
    /// Rank and content of each lock with a rank that this thread holds.
    static HELD: RefCell<Vec<(u8, &'static str)>> = const { RefCell::new(Vec::new()) };
}

/// Records that the thread holds a lock of this rank, until it is dropped.
#[derive(Debug)]
pub(crate) struct RankCheck {
    #[cfg(debug_assertions)]
    rank: u8,
}

#[cfg(debug_assertions)]
impl RankCheck {
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
impl Drop for RankCheck {
    fn drop(&mut self) {
        // Locks of one rank are never held together, so this removes the right one.
        HELD.with_borrow_mut(|held| held.retain(|(rank, _)| *rank != self.rank));
    }
}

#[cfg(not(debug_assertions))]
impl RankCheck {
    pub(crate) fn new<T>(_rank: u8) -> Self {
        Self {}
    }
}
