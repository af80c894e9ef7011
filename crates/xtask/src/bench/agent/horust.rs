//! Horust: a TOML file a process, restarted without delay.

use std::process::Command;

use super::install::Package;
use super::stage::Stage;
use super::{Peer, Started, tree};

#[derive(Debug)]
pub(super) struct Horust;

impl Peer for Horust {
    fn name(&self) -> &'static str {
        "horust"
    }

    fn package(&self) -> Package {
        Package::Cargo("horust")
    }

    fn start(&self, stage: &Stage, n: usize) -> anyhow::Result<Started> {
        let services = stage.dir().join("services");
        std::fs::create_dir(&services)?;
        for index in 0..n {
            let text = format!(
                "command = \"{}\"\nstdout = \"/dev/null\"\nstderr = \"/dev/null\"\n\
                 [restart]\nstrategy = \"always\"\nbackoff = \"0s\"\nattempts = 0\n",
                stage.command(index)
            );
            std::fs::write(services.join(format!("p{index}.toml")), text)?;
        }
        let mut program = Command::new(stage.peer(self.name()).join("bin/horust"));
        program
            .arg("--services-path")
            .arg(services)
            .arg("--uds-folder-path")
            .arg(stage.dir());
        tree::start(stage, &program, "TERM")
    }
}
