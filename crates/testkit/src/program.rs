//! Binaries of this workspace, found beside the running test or program.

use std::path::PathBuf;

/// The path of a binary of this workspace. `cargo build --workspace --bins` makes them all.
pub fn path(name: &str) -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let mut folder = this.parent().unwrap();
    if folder.ends_with("deps") {
        folder = folder.parent().unwrap();
    }
    let program = folder.join(name);
    assert!(
        program.exists(),
        "{} is missing: run `cargo build --workspace --bins` first",
        program.display()
    );
    program
}
