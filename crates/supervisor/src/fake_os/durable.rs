//! What a loss of power leaves of a file.

use std::fs::File;
use std::io;

use super::host;

/// From here on the file has this length even after a loss of power.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    let length = file.metadata()?.len();
    host::call(|table| table.durable_length = length);
    Ok(())
}
