//! s6: one `s6-supervise` a process below one `s6-svscan`.

use std::process::Command;

use super::install::Package;
use super::stage::Stage;
use super::{Peer, Started, runit, tree};

#[derive(Debug)]
pub(super) struct S6;

impl Peer for S6 {
    fn name(&self) -> &'static str {
        "s6"
    }

    fn package(&self) -> Package {
        Package::Debian(&["s6", "libs6-2.11", "libskarnet2.13", "libexecline2.9"])
    }

    fn start(&self, stage: &Stage, n: usize) -> anyhow::Result<Started> {
        let services = runit::services(stage, n)?;
        let root = stage.peer(self.name());
        let binaries = root.join("usr/bin");
        let libraries = root.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
        let mut program = Command::new(binaries.join("s6-svscan"));
        program
            .args(["-c", "2000"])
            .arg(services)
            .env("PATH", runit::path_with(&binaries))
            .env("LD_LIBRARY_PATH", libraries);
        tree::start(stage, &program, "TERM")
    }
}
