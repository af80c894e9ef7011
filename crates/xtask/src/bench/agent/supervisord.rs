//! supervisord, without logs and without a time to wait before a process counts as started.

use std::process::Command;

use super::install::Package;
use super::stage::Stage;
use super::{Peer, Started, tree};

#[derive(Debug)]
pub(super) struct Supervisord;

impl Peer for Supervisord {
    fn name(&self) -> &'static str {
        "supervisord"
    }

    fn package(&self) -> Package {
        Package::Debian(&["supervisor", "python3-pkg-resources"])
    }

    fn start(&self, stage: &Stage, n: usize) -> anyhow::Result<Started> {
        let dir = stage.dir().display();
        let mut text = format!(
            "[supervisord]\nnodaemon=true\nlogfile=/dev/null\nlogfile_maxbytes=0\nloglevel=error\n\
             pidfile={dir}/supervisord.pid\nminfds=8192\n"
        );
        for index in 0..n {
            text += &format!(
                "[program:p{index}]\ncommand={}\nautorestart=true\nstartsecs=0\nstdout_logfile=NONE\n\
                 stderr_logfile=NONE\n",
                stage.command(index)
            );
        }
        let config = stage.dir().join("supervisord.conf");
        std::fs::write(&config, text)?;
        let root = stage.peer(self.name());
        let mut program = Command::new("/usr/bin/python3");
        program
            .arg(root.join("usr/bin/supervisord"))
            .arg("-c")
            .arg(config)
            .env("PYTHONPATH", root.join("usr/lib/python3/dist-packages"));
        tree::start(stage, &program, "TERM")
    }
}
