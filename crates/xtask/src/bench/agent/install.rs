//! Where the others come from: packages by name, unpacked below `target/peers`, never installed into the system.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};

use super::{Peer, Place};

#[derive(Debug)]
pub(super) enum Package {
    /// Built here.
    Ours,
    /// Downloaded by apt and unpacked, with the libraries that it needs.
    Debian(&'static [&'static str]),
    PyPi(&'static str),
    Npm(&'static str),
    Cargo(&'static str),
}

/// Written last, so that half an installation is none.
const MARK: &str = "installed";

/// Says why a peer cannot be measured, if it is not there and may not be fetched, or could not be.
pub(super) fn ensure(place: &Place, peer: &dyn Peer, may_install: bool) -> anyhow::Result<()> {
    let package = peer.package();
    let dir = place.peers.join(peer.name());
    if matches!(package, Package::Ours) || dir.join(MARK).exists() {
        return Ok(());
    }
    if !may_install {
        bail!("not in target/peers (--install fetches it)");
    }
    eprintln!("  installing into {}", dir.display());
    std::fs::create_dir_all(&dir)?;
    fetch(&package, &dir).context("could not be installed")?;
    std::fs::write(dir.join(MARK), "")?;
    Ok(())
}

fn fetch(package: &Package, dir: &Path) -> anyhow::Result<()> {
    match package {
        Package::Ours => Ok(()),
        Package::Debian(names) => {
            let download = Command::new("apt-get")
                .arg("download")
                .args(*names)
                .current_dir(dir)
                .output()?;
            succeeded("apt-get", &download)?;
            for entry in std::fs::read_dir(dir)? {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "deb") {
                    let unpack = Command::new("dpkg-deb")
                        .arg("-x")
                        .arg(path)
                        .arg(dir)
                        .output()?;
                    succeeded("dpkg-deb", &unpack)?;
                }
            }
            Ok(())
        }
        Package::PyPi(name) => {
            let make = Command::new("python3")
                .args(["-m", "venv"])
                .arg(dir)
                .output()?;
            succeeded("python3 -m venv", &make)?;
            let install = Command::new(dir.join("bin/python3"))
                .args(["-m", "pip", "install", "--quiet", name])
                .output()?;
            succeeded("pip", &install)
        }
        Package::Npm(name) => {
            let install = Command::new("npm")
                .args(["install", "--no-audit", "--no-fund", "--prefix"])
                .arg(dir)
                .arg(name)
                .output()?;
            succeeded("npm", &install)
        }
        Package::Cargo(name) => {
            let install = Command::new(env!("CARGO"))
                .args(["install", "--quiet", "--root"])
                .arg(dir)
                .arg("--target-dir")
                .arg(dir.join("build"))
                .arg(name)
                .current_dir("/")
                .output()?;
            succeeded("cargo install", &install)?;
            // It is large and of no more use.
            std::fs::remove_dir_all(dir.join("build")).or(Ok(()))
        }
    }
}

fn succeeded(what: &str, output: &std::process::Output) -> anyhow::Result<()> {
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    ensure!(
        output.status.success(),
        "{what}: {}",
        last.unwrap_or("failed without a word")
    );
    Ok(())
}
