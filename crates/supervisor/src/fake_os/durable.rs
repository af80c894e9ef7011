//! fsync: remembers how much of the journal survives a loss of power.

use std::fs::File;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use super::host;

pub(crate) type SyncDone = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// The file keeps at least this length after a loss of power.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    let length = file.metadata()?.len();
    host::call(|table| table.durable_length = length);
    Ok(())
}

/// Takes no time.
pub(crate) fn begin(file: &Arc<File>) -> SyncDone {
    Box::pin(std::future::ready(sync(file)))
}
