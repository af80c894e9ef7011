//! What a loss of power leaves of a file.

use std::fs::File;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

/// A sync that goes on beside the caller's thread.
pub(crate) type Done = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// Returns when everything that was written is on the disk.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// Begins to bring everything that was written so far to the disk.
pub(crate) fn begin(file: &Arc<File>) -> Done {
    let file = Arc::clone(file);
    let work = tokio::task::spawn_blocking(move || sync(&file));
    Box::pin(async move {
        work.await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
    })
}
