//! What a loss of power leaves of a file.

use std::fs::File;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use super::host;

pub(crate) type Done = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// From here on the file has this length even after a loss of power.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    let length = file.metadata()?.len();
    host::call(|table| table.durable_length = length);
    Ok(())
}

/// Takes no time here.
pub(crate) fn begin(file: &Arc<File>) -> Done {
    Box::pin(std::future::ready(sync(file)))
}
