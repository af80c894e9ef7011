//! circus: one watcher a process, looked at ten times a second. It restarts when it looks; by default every five seconds.

use std::process::Command;

use super::install::Package;
use super::stage::Stage;
use super::{Peer, Started, tree};

#[derive(Debug)]
pub(super) struct Circus;

impl Peer for Circus {
    fn name(&self) -> &'static str {
        "circus"
    }

    fn package(&self) -> Package {
        Package::PyPi("circus")
    }

    fn start(&self, stage: &Stage, n: usize) -> anyhow::Result<Started> {
        let dir = stage.dir().display();
        let mut text = format!(
            "[circus]\nendpoint=ipc://{dir}/endpoint\npubsub_endpoint=ipc://{dir}/pubsub\nwarmup_delay=0\n\
             check_delay=0.1\n"
        );
        for index in 0..n {
            let command = stage.command(index);
            text += &format!(
                "[watcher:p{index}]\ncmd={command}\ncopy_env=true\nwarmup_delay=0\nmax_retry=-1\n"
            );
        }
        let config = stage.dir().join("circus.ini");
        std::fs::write(&config, text)?;
        let mut program = Command::new(stage.peer(self.name()).join("bin/circusd"));
        program.args(["--log-level", "error"]).arg(config);
        tree::start(stage, &program, "TERM")
    }
}
