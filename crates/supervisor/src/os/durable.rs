//! What a loss of power leaves of a file.

use std::fs::File;
use std::io;

/// Returns when everything that was written is on the disk.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    file.sync_data()
}
