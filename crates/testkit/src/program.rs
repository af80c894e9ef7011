//! Programs of this workspace, as built beside the test that runs.

use std::path::PathBuf;

/// The path of a binary of this workspace. `cargo build --workspace --bins` makes them all.
pub fn path(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap();
    let program = folder.join(name);
    assert!(
        program.exists(),
        "{} is missing: run `cargo build --workspace --bins` first",
        program.display()
    );
    program
}
