//! The fake host has no shortages.

use std::io;

pub(crate) fn is_shortage(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::OutOfMemory
}

pub(crate) fn words(error: &io::Error) -> String {
    super::plain(error)
}

pub(crate) fn require_room() -> io::Result<()> {
    Ok(())
}
