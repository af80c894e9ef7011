//! The tools that link binaries for old versions of glibc: cargo-zigbuild and zig, both from PyPI, in a virtual environment
//! below `target/`. No other tool is needed: `.deb`, `.rpm` and `.tar.gz` files are written by this program.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

/// What `--setup` installs. Both are wheels with ready binaries: nothing is compiled.
const PYPI: [&str; 2] = ["ziglang==0.17.0", "cargo-zigbuild==0.24.0"];

/// The virtual environment.
#[derive(Debug)]
pub(crate) struct Tools {
    folder: PathBuf,
}

impl Tools {
    fn new(target: &Path) -> Self {
        Self {
            folder: target.join("package-tools"),
        }
    }

    /// Finds the tools, or says how to get them.
    pub(crate) fn find(target: &Path) -> anyhow::Result<Self> {
        let tools = Self::new(target);
        let is_installed =
            std::fs::read_to_string(tools.stamp()).is_ok_and(|it| it == PYPI.join("\n"));
        ensure!(
            is_installed,
            "{} are missing: run `cargo xtask package --setup`, which installs them from PyPI into {}",
            PYPI.join(" and "),
            tools.folder.display()
        );
        Ok(tools)
    }

    /// Installs the tools, unless these versions are there.
    pub(crate) fn install(target: &Path) -> anyhow::Result<Self> {
        if let Ok(tools) = Self::find(target) {
            return Ok(tools);
        }
        let tools = Self::new(target);
        let python = "python3";
        eprintln!("installing {} from PyPI", PYPI.join(" and "));
        let made = Command::new(python)
            .args(["-m", "venv", "--clear"])
            .arg(&tools.folder)
            .status()
            .context(
                "python3 cannot be run: install Python 3 (Debian: apt-get install python3-venv)",
            )?;
        ensure!(
            made.success(),
            "`python3 -m venv` failed: it needs Python's venv (Debian: apt-get install python3-venv)"
        );
        let installed = Command::new(tools.bin().join("pip"))
            .args(["install", "--quiet", "--disable-pip-version-check"])
            .args(PYPI)
            .status()
            .context("pip of the new environment cannot be run")?;
        ensure!(
            installed.success(),
            "pip cannot install {}",
            PYPI.join(" and ")
        );
        std::fs::write(tools.stamp(), PYPI.join("\n"))?;
        Ok(tools)
    }

    /// Written last: a half-made environment does not count.
    fn stamp(&self) -> PathBuf {
        self.folder.join("installed")
    }

    fn bin(&self) -> PathBuf {
        self.folder.join("bin")
    }

    /// `cargo zigbuild` with zig on its path.
    pub(crate) fn zigbuild(&self) -> anyhow::Result<Command> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = [self.bin()].into_iter().chain(std::env::split_paths(&path));
        let mut command = Command::new(self.bin().join("cargo-zigbuild"));
        command
            .arg("zigbuild")
            .env("PATH", std::env::join_paths(paths)?)
            .current_dir(super::ROOT);
        crate::server::forget_xtask(&mut command);
        Ok(command)
    }
}
