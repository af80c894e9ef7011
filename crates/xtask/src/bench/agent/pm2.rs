//! pm2 in the foreground, each process in fork mode and without logs.

use std::process::Command;

use serde_json::json;

use super::install::Package;
use super::stage::Stage;
use super::{Peer, Started, tree};

#[derive(Debug)]
pub(super) struct Pm2;

impl Peer for Pm2 {
    fn name(&self) -> &'static str {
        "pm2"
    }

    fn package(&self) -> Package {
        Package::Npm("pm2")
    }

    fn start(&self, stage: &Stage, n: usize) -> anyhow::Result<Started> {
        let app = |index: usize| {
            json!({
                "name": format!("p{index}"),
                "script": stage.sleeper(),
                "args": [stage.fifo(), index.to_string()],
                "interpreter": "none",
                "exec_mode": "fork",
                "autorestart": true,
                "max_restarts": 1_000_000,
                "min_uptime": 0,
                "restart_delay": 0,
                "out_file": "/dev/null",
                "error_file": "/dev/null",
                "pmx": false,
                "vizion": false,
            })
        };
        let apps: Vec<_> = (0..n).map(app).collect();
        let config = stage.dir().join("ecosystem.json");
        std::fs::write(&config, json!({ "apps": apps }).to_string())?;
        let pm2 = stage.peer(self.name()).join("node_modules/pm2");
        let mut program = Command::new("node");
        match n {
            // Told to start nothing it would end; its daemon does not.
            0 => program.arg(pm2.join("lib/Daemon.js")),
            _ => program
                .arg(pm2.join("bin/pm2"))
                .arg("start")
                .arg(config)
                .arg("--no-daemon"),
        };
        program
            .env("PM2_HOME", stage.dir().join("pm2"))
            .env("PM2_DISCRETE_MODE", "true");
        tree::start(stage, &program, "TERM")
    }
}
