//! fsync, which the simulation replaces to model a loss of power.

use std::fs::File;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

/// A sync on another thread.
pub(crate) type SyncDone = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// Returns when everything written so far is on the disk.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// Begins to sync everything written so far.
pub(crate) fn begin(file: &Arc<File>) -> SyncDone {
    let file = Arc::clone(file);
    let work = tokio::task::spawn_blocking(move || sync(&file));
    Box::pin(async move {
        work.await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
    })
}
