//! The odd child program, whose options determine its behaviour (see `src/bin/odd.rs`).

use std::path::PathBuf;

/// The path of the program.
pub fn odd() -> PathBuf {
    crate::program::path("odd")
}
