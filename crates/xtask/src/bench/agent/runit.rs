//! runit: one `runsv` a process below one `runsvdir`.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use super::install::Package;
use super::stage::Stage;
use super::{Peer, Started, tree};

#[derive(Debug)]
pub(super) struct Runit;

impl Peer for Runit {
    fn name(&self) -> &'static str {
        "runit"
    }

    fn package(&self) -> Package {
        Package::Debian(&["runit"])
    }

    fn start(&self, stage: &Stage, n: usize) -> anyhow::Result<Started> {
        let services = services(stage, n)?;
        let binaries = stage.peer(self.name()).join("usr/bin");
        let mut program = Command::new(binaries.join("runsvdir"));
        program.arg(services);
        program.env("PATH", format!("{}:/usr/bin:/bin", binaries.display()));
        tree::start(stage, &program, "HUP")
    }
}

/// A folder of folders, each with a `run`: s6 has the same.
pub(super) fn services(stage: &Stage, n: usize) -> anyhow::Result<PathBuf> {
    let services = stage.dir().join("services");
    std::fs::create_dir(&services)?;
    for index in 0..n {
        let service = services.join(format!("p{index}"));
        std::fs::create_dir(&service)?;
        let run = service.join("run");
        std::fs::write(&run, format!("#!/bin/sh\nexec {}\n", stage.command(index)))?;
        std::fs::set_permissions(&run, PermissionsExt::from_mode(0o755))?;
    }
    Ok(services)
}
