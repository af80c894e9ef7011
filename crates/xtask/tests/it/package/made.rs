//! Packages of the debug binaries that this test run has built, made by `cargo xtask package`; or of those in the folder that
//! `MUSTER_TEST_PROGRAMS` names.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::root::said;

pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A version after [`VERSION`], of the same length.
pub(super) fn next_version() -> String {
    let (start, last) = VERSION.split_at(VERSION.len() - 1);
    let last: u32 = last.parse().unwrap();
    format!("{start}{}", (last + 1) % 10)
}

/// What the binaries of the next version say. An optimised binary has its version in no place where it can be changed, so
/// named ones are packaged as the next version as they are.
pub(super) fn next_says() -> String {
    match std::env::var_os("MUSTER_TEST_PROGRAMS") {
        None => next_version(),
        Some(_) => VERSION.to_owned(),
    }
}

/// The folder of the programs that the workspace is built into.
pub(super) fn programs() -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_xtask")).parent().unwrap();
    let named = std::env::var_os("MUSTER_TEST_PROGRAMS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| built.to_owned());
    for name in ["muster", "muster-agent"] {
        assert!(
            folder.join(name).exists(),
            "{name} is missing: run `cargo build --workspace --bins` first"
        );
    }
    folder
}

/// Packages in a folder of their own.
pub(super) struct Made {
    pub(super) folder: tempfile::TempDir,
    pub(super) version: String,
    pub(super) said: String,
}

impl Made {
    /// Of the binaries as they are.
    pub(super) fn new(kind: &str) -> Self {
        Self::of(&programs(), kind, VERSION)
    }

    /// Of the same binaries with the next version in them.
    pub(super) fn next(kind: &str) -> Self {
        let next = next_version();
        let copies = tempfile::tempdir().unwrap();
        for name in ["muster", "muster-agent"] {
            let copy = copies.path().join(name);
            let stripped = Command::new("strip")
                .arg("-o")
                .arg(&copy)
                .arg(programs().join(name))
                .status();
            assert!(stripped.unwrap().success());
            let edit = format!("s/{}/{next}/g", VERSION.replace('.', "\\."));
            let edited = Command::new("sed")
                .args(["--in-place", &edit])
                .arg(&copy)
                .env("LC_ALL", "C")
                .status()
                .unwrap();
            assert!(edited.success());
        }
        Self::of(copies.path(), kind, &next)
    }

    fn of(built: &Path, kind: &str, version: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(["package", "--fast", "--only", kind, "--built"])
            .arg(built)
            .arg("--output")
            .arg(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
        Self {
            folder,
            version: version.to_owned(),
            said: said(&output),
        }
    }

    /// The name of the file of a package.
    pub(super) fn deb(&self, package: &str) -> String {
        let arch = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        format!("{package}_{}-1_{arch}.deb", self.version)
    }

    pub(super) fn rpm(&self, package: &str) -> String {
        format!(
            "{package}-{}-1.{}.rpm",
            self.version,
            std::env::consts::ARCH
        )
    }
}
