//! Simulated agents beside real ones.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;
use testkit::api::{APP_CODE, APP_SECRET};
use testkit::{Cluster, program, wait};

/// The simulator as a child process.
pub(crate) struct Sim {
    n_agents: u64,
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Sim {
    pub(crate) fn start(cluster: &Cluster, n_agents: u64, more: &[&str]) -> Self {
        let mut child = Command::new(program::path("sim"))
            .args(["--server", &cluster.agents().to_string()])
            .args(["--join", "test-join-token"])
            .args(["--agents", &n_agents.to_string(), "--procs", "3"])
            .args(["--api", &format!("http://{}", cluster.http())])
            .args(["--app", APP_CODE, "--secret", APP_SECRET])
            .arg("--data")
            .arg(cluster.path().join("sim"))
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut sim = Self {
            n_agents,
            child,
            stdin,
            lines,
        };
        assert_eq!(sim.next()["event"], "enrolled");
        sim
    }

    pub(crate) fn next(&mut self) -> Value {
        let line = self.lines.next().expect("the simulator goes on").unwrap();
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    pub(crate) fn stats(&mut self) -> Value {
        self.tell("stats");
        self.next()
    }

    pub(crate) fn until_connected(&mut self) {
        wait::until("all simulated agents to be connected", || {
            self.stats()["connected"] == self.n_agents
        });
    }

    pub(crate) fn quit(mut self) -> Value {
        self.tell("quit");
        let summary = self.next();
        assert!(self.child.wait().unwrap().success());
        summary
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
