//! Where the odd child program is: it behaves as it is told (see `src/bin/odd.rs`).

use std::path::PathBuf;

/// The path of the program, which Cargo builds beside the test that asks.
pub fn odd() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    // target/PROFILE/deps/TEST
    let profile = test
        .ancestors()
        .nth(2)
        .expect("tests are built into target/PROFILE/deps");
    let odd = profile.join("odd");
    assert!(
        odd.exists(),
        "{} does not exist: build it with `cargo build -p testkit --bin odd`",
        odd.display()
    );
    odd
}
