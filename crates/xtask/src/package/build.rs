//! The binaries of one target: built with zig, or taken from a folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use super::target::Target;
use super::tools::Tools;

#[derive(Debug)]
pub(crate) struct Binaries {
    pub(crate) target: Target,
    pub(crate) muster: Vec<u8>,
    pub(crate) agent: Vec<u8>,
    /// Whether they must run with the oldest glibc that packages support.
    pub(crate) has_ceiling: bool,
    folder: PathBuf,
}

/// Builds the web console, which the server embeds.
pub(crate) fn console() -> anyhow::Result<()> {
    let status = Command::new("scripts/console")
        .current_dir(super::ROOT)
        .status()
        .context("scripts/console cannot be run")?;
    ensure!(status.success(), "the web console cannot be built");
    Ok(())
}

impl Binaries {
    pub(crate) fn build(
        tools: &Tools,
        target: Target,
        target_folder: &Path,
    ) -> anyhow::Result<Self> {
        let status = tools
            .zigbuild()?
            .args(["--locked", "--profile", "dist"])
            .args(["--target", &target.to_build()])
            .args(["--package", "cli", "--bin", "muster"])
            .args(["--package", "agent", "--bin", "muster-agent"])
            .status()
            .context("cargo-zigbuild cannot be run")?;
        ensure!(status.success(), "the build for {} failed", target.triple());
        let folder = target_folder.join(target.triple()).join("dist");
        Self::read(&folder, target, true)
    }

    /// Stripped copies of what is there.
    pub(crate) fn of_folder(folder: &Path, target: Target) -> anyhow::Result<Self> {
        let copies = tempfile::tempdir()?;
        for name in ["muster", "muster-agent"] {
            let from = folder.join(name);
            ensure!(from.is_file(), "--built: there is no {}", from.display());
            let status = Command::new("strip")
                .arg("-o")
                .arg(copies.path().join(name))
                .arg(&from)
                .status()
                .context("strip cannot be run: install binutils")?;
            ensure!(
                status.success(),
                "--built: {} cannot be stripped",
                from.display()
            );
        }
        let mut binaries = Self::read(copies.path(), target, false)?;
        binaries.folder = folder.to_owned();
        Ok(binaries)
    }

    /// The two binaries of a folder.
    pub(super) fn read(folder: &Path, target: Target, has_ceiling: bool) -> anyhow::Result<Self> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))
        };
        Ok(Self {
            target,
            muster: read("muster")?,
            agent: read("muster-agent")?,
            has_ceiling,
            folder: folder.to_owned(),
        })
    }

    /// The version that both binaries say they are.
    pub(crate) fn version(&self) -> anyhow::Result<String> {
        let muster = self.run("muster", &["--version".as_ref()])?;
        let agent = self.run("muster-agent", &["--version".as_ref()])?;
        let version = muster.trim().strip_prefix("muster ");
        let version = version.with_context(|| format!("muster --version says {muster:?}"))?;
        ensure!(
            agent.trim() == format!("muster-agent {version}"),
            "muster is {version}, and muster-agent --version says {agent:?}"
        );
        Ok(version.to_owned())
    }

    /// Writes man pages and completions.
    pub(crate) fn generate(&self, folder: &Path) -> anyhow::Result<()> {
        self.run("muster", &["generate".as_ref(), folder])?;
        Ok(())
    }

    fn run(&self, name: &str, args: &[&Path]) -> anyhow::Result<String> {
        let program = self.folder.join(name);
        let output = Command::new(&program)
            .args(args)
            .output()
            .with_context(|| format!("{} cannot be run", program.display()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "{} failed: {said}",
            program.display()
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
