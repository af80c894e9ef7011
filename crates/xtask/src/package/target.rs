//! The platforms that packages are made for.

use std::process::Command;

use anyhow::{Context, bail};

use super::elf::Glibc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Libc {
    Gnu,
    Musl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    /// As `uname -m` prints it, and as `.rpm` files are named.
    pub(crate) arch: &'static str,
    /// As `.deb` files are named.
    pub(crate) debian_arch: &'static str,
    pub(crate) libc: Libc,
}

const fn target(arch: &'static str, debian_arch: &'static str, libc: Libc) -> Target {
    Target {
        arch,
        debian_arch,
        libc,
    }
}

/// In the order in which they are built.
pub(crate) const ALL: [Target; 4] = [
    target("x86_64", "amd64", Libc::Gnu),
    target("x86_64", "amd64", Libc::Musl),
    target("aarch64", "arm64", Libc::Gnu),
    target("aarch64", "arm64", Libc::Musl),
];

impl Target {
    /// `x86_64-unknown-linux-gnu`
    pub(crate) fn triple(self) -> String {
        format!("{}-unknown-linux-{}", self.arch, self.libc_name())
    }

    /// `x86_64-linux-gnu`, in the names of archives.
    pub(crate) fn short(self) -> String {
        format!("{}-linux-{}", self.arch, self.libc_name())
    }

    /// What cargo-zigbuild takes: with the version of glibc to link against.
    pub(crate) fn to_build(self) -> String {
        match self.libc {
            Libc::Gnu => format!("{}.{}", self.triple(), Glibc::CEILING),
            Libc::Musl => self.triple(),
        }
    }

    fn libc_name(self) -> &'static str {
        match self.libc {
            Libc::Gnu => "gnu",
            Libc::Musl => "musl",
        }
    }

    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut all = ALL.into_iter();
        if let Some(target) = all.find(|target| target.triple() == text) {
            return Ok(target);
        }
        let known = ALL.map(Self::triple).join(", ");
        bail!("--target {text}: packages are made for {known}")
    }

    /// The platform of this machine.
    pub(crate) fn host() -> anyhow::Result<Self> {
        let target = ALL
            .into_iter()
            .find(|target| target.arch == std::env::consts::ARCH && target.libc == Libc::Gnu);
        target.context("this machine is neither x86_64 nor aarch64")
    }

    /// Whether binaries of this target run on this machine.
    pub(crate) fn runs_here(self) -> bool {
        self.arch == std::env::consts::ARCH
    }

    /// Whether the toolchain has the standard library for it.
    pub(crate) fn is_installed(self) -> anyhow::Result<bool> {
        let output = Command::new("rustc")
            .args(["--print", "target-libdir", "--target", &self.triple()])
            .current_dir(super::ROOT)
            .output()
            .context("rustc cannot be run")?;
        let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let entries = std::fs::read_dir(folder).map(|mut entries| entries.next().is_some());
        Ok(output.status.success() && entries.unwrap_or(false))
    }

    pub(crate) fn how_to_install(self) -> String {
        format!("rustup target add {}", self.triple())
    }
}
