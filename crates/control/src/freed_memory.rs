//! Returns freed memory to the host after changes of very many rows.
//!
//! The allocator keeps what a large plan has freed, because small pieces that live on are scattered over it. The program that
//! runs the server knows how to return it ([`crate::Control::return_memory_by`]).

use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// How many rows were planned since the last time, before memory is returned. That takes up to a tenth of a second.
const MIN_ROWS: usize = 250_000;

#[derive(Debug, Default)]
pub(crate) struct FreedMemory {
    give_back: OnceLock<fn()>,
    n_rows: AtomicUsize,
}

impl FreedMemory {
    /// Sets how memory is returned, once, and returns what the start has freed.
    pub(crate) fn return_by(&self, give_back: fn()) {
        if self.give_back.set(give_back).is_ok() {
            tokio::task::spawn_blocking(give_back);
        }
    }

    /// Counts rows that were planned, and whose memory is free again.
    pub(crate) async fn count(&self, n_rows: usize) {
        if n_rows == 0 || self.n_rows.fetch_add(n_rows, Relaxed) + n_rows < MIN_ROWS {
            return;
        }
        self.n_rows.store(0, Relaxed);
        if let Some(give_back) = self.give_back.get() {
            // It ends in any case; a stopping runtime does not wait for it.
            let _ = tokio::task::spawn_blocking(*give_back).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static N_CALLS: AtomicUsize = AtomicUsize::new(0);

    #[tokio::test]
    async fn memory_is_returned_after_very_many_rows() {
        let freed = FreedMemory::default();
        freed.count(MIN_ROWS).await;
        freed.return_by(|| {
            N_CALLS.fetch_add(1, Relaxed);
        });
        while N_CALLS.load(Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        freed.count(MIN_ROWS - 1).await;
        assert_eq!(N_CALLS.load(Relaxed), 1);
        freed.count(1).await;
        assert_eq!(N_CALLS.load(Relaxed), 2);
    }
}
