//! Where the odd child program is: it behaves as it is told (see `src/bin/odd.rs`).

use std::path::PathBuf;

/// The path of the program.
pub fn odd() -> PathBuf {
    crate::program::path("odd")
}
