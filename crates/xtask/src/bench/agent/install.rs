//! Fetches the other supervisors: packages unpacked below `target/peers`, never installed into the system.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};

use super::{BenchPaths, Peer};

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

/// Written last, so that an incomplete installation is repeated.
const MARK: &str = "installed";

/// Fails if a peer is missing and may not, or cannot, be fetched.
pub(super) fn ensure(paths: &BenchPaths, peer: &Peer, may_install: bool) -> anyhow::Result<()> {
    let package = &peer.package;
    let dir = paths.peers.join(peer.name);
    if matches!(package, Package::Ours) || dir.join(MARK).exists() {
        return Ok(());
    }
    if !may_install {
        bail!("not in target/peers (--install fetches it)");
    }
    eprintln!("  installing into {}", dir.display());
    std::fs::create_dir_all(&dir)?;
    fetch(package, &dir).context("could not be installed")?;
    std::fs::write(dir.join(MARK), "")?;
    Ok(())
}

fn fetch(package: &Package, dir: &Path) -> anyhow::Result<()> {
    match package {
        Package::Ours => Ok(()),
        Package::Debian(names) => {
            let mut download = Command::new("apt-get");
            run(download.arg("download").args(*names).current_dir(dir))?;
            for entry in std::fs::read_dir(dir)? {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "deb") {
                    run(Command::new("dpkg-deb").arg("-x").arg(path).arg(dir))?;
                }
            }
            Ok(())
        }
        Package::PyPi(name) => {
            run(Command::new("python3").args(["-m", "venv"]).arg(dir))?;
            let mut pip = Command::new(dir.join("bin/python3"));
            run(pip.args(["-m", "pip", "install", "--quiet", name]))
        }
        Package::Npm(name) => {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--prefix"]);
            run(npm.arg(dir).arg(name))
        }
        Package::Cargo(name) => {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["install", "--quiet", "--root"]).arg(dir);
            cargo.arg("--target-dir").arg(dir.join("build"));
            run(cargo.arg(name).current_dir("/"))?;
            // It is large and not needed any more.
            std::fs::remove_dir_all(dir.join("build")).or(Ok(()))
        }
    }
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    ensure!(
        output.status.success(),
        "{}: {}",
        command.get_program().display(),
        last.unwrap_or("failed without a message")
    );
    Ok(())
}
