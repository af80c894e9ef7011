//! Counts of connections and bytes, for the log.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) open: AtomicU64,
    pub(crate) forwarded: AtomicU64,
    pub(crate) over_limit: AtomicU64,
    pub(crate) without_server: AtomicU64,
    pub(crate) idle: AtomicU64,
    pub(crate) bytes_up: AtomicU64,
    pub(crate) bytes_down: AtomicU64,
}

/// What a relay has done since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Connections that are open now.
    pub open: u64,
    /// Connections for which a server was reached.
    pub forwarded: u64,
    /// Connections that were closed at once because of a limit.
    pub over_limit: u64,
    /// Connections that were closed because no server could be reached.
    pub without_server: u64,
    /// Connections that were closed because both sides were silent.
    pub idle: u64,
    /// To servers, without PROXY headers.
    pub bytes_up: u64,
    /// From servers.
    pub bytes_down: u64,
}

pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

/// Counts an open connection until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection<'a>(&'a AtomicU64);

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counters {
    pub(crate) fn count_open(&self) -> OpenConnection<'_> {
        add(&self.open, 1);
        OpenConnection(&self.open)
    }

    pub(crate) fn totals(&self) -> Totals {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Totals {
            open: read(&self.open),
            forwarded: read(&self.forwarded),
            over_limit: read(&self.over_limit),
            without_server: read(&self.without_server),
            idle: read(&self.idle),
            bytes_up: read(&self.bytes_up),
            bytes_down: read(&self.bytes_down),
        }
    }
}

impl Totals {
    pub(crate) fn log(&self, message: &'static str) {
        tracing::info!(
            open = self.open,
            forwarded = self.forwarded,
            over_limit = self.over_limit,
            without_server = self.without_server,
            idle = self.idle,
            bytes_up = self.bytes_up,
            bytes_down = self.bytes_down,
            "{message}"
        );
    }
}
