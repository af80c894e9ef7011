//! zinit: a TOML file a process, restarted after the shortest delay that it takes.

use std::process::Command;

use super::install::Package;
use super::stage::Stage;
use super::{Peer, Started, tree};

#[derive(Debug)]
pub(super) struct Zinit;

impl Peer for Zinit {
    fn name(&self) -> &'static str {
        "zinit"
    }

    fn package(&self) -> Package {
        Package::Cargo("zinit")
    }

    fn start(&self, stage: &Stage, n: usize) -> anyhow::Result<Started> {
        let services = stage.dir().join("services");
        std::fs::create_dir(&services)?;
        for index in 0..n {
            let text = format!(
                "[service]\nname = \"p{index}\"\nexec = \"{}\"\n\
                 [lifecycle]\nrestart = \"always\"\nrestart_delay_ms = 1\nrestart_delay_max_ms = 1\n\
                 max_restarts = 0\n",
                stage.command(index)
            );
            std::fs::write(services.join(format!("p{index}.toml")), text)?;
        }
        let mut program = Command::new(stage.peer(self.name()).join("bin/zinit-server"));
        program
            .arg("--config-dir")
            .arg(services)
            .arg("--socket")
            .arg(stage.dir().join("zinit.sock"))
            .args(["--log-level", "error"])
            .env("HOME", stage.dir());
        tree::start(stage, &program, "TERM")
    }
}
