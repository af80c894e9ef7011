//! monit: looks at pid files once a second, the shortest that it can.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::install::Package;
use super::stage::Stage;
use super::{Peer, Started, tree};

#[derive(Debug)]
pub(super) struct Monit;

impl Peer for Monit {
    fn name(&self) -> &'static str {
        "monit"
    }

    fn package(&self) -> Package {
        Package::Debian(&["monit"])
    }

    fn start(&self, stage: &Stage, n: usize) -> anyhow::Result<Started> {
        let dir = stage.dir().display();
        let mut text = format!(
            "set daemon 1\nset log /dev/null\nset pidfile {dir}/monit.pid\nset idfile {dir}/monit.id\n\
             set statefile {dir}/monit.state\n"
        );
        for index in 0..n {
            let pid_file = format!("{dir}/p{index}.pid");
            let command = stage.command(index);
            text += &format!(
                "check process p{index} with pidfile {pid_file}\n  \
                 start program = \"/bin/sh -c '{command} {pid_file} &'\"\n"
            );
        }
        let config = stage.dir().join("monitrc");
        std::fs::write(&config, text)?;
        std::fs::set_permissions(&config, PermissionsExt::from_mode(0o600))?;
        let mut program = Command::new(stage.peer(self.name()).join("usr/bin/monit"));
        program.arg("-I").arg("-c").arg(config);
        tree::start(stage, &program, "TERM")
    }
}
