//! A real server in a process of its own, on random ports and a temporary folder.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::client::Client;

pub(crate) const APP_CODE: &str = "bench";
pub(crate) const APP_SECRET: &str = "bench-secret";

#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) http: SocketAddr,
}

/// Builds the release binary and says where it is.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--package", "cli"])
        .status()?;
    ensure!(status.success(), "cargo build failed");
    let target = std::env::current_exe()?;
    let muster = target
        .parent()
        .context("xtask lies in a folder")?
        .join("muster");
    ensure!(muster.exists(), "{} is missing", muster.display());
    Ok(muster)
}

impl Server {
    /// Starts and waits until it is ready; answers how long that took.
    pub(crate) fn start(muster: &Path, data: &Path) -> anyhow::Result<(Self, Duration)> {
        let started = Instant::now();
        let mut child = Command::new(muster)
            .arg("server")
            .arg("--data")
            .arg(data)
            .args(["--http", "127.0.0.1:0", "--agents", "127.0.0.1:0"])
            .env("MUSTER_APP_CODE", APP_CODE)
            .env("MUSTER_APP_SECRET", APP_SECRET)
            .env("MUSTER_LOG", "warn")
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", muster.display()))?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut lines = BufReader::new(stdout).lines();
        let http = loop {
            let Some(line) = lines.next() else {
                bail!("the server ended before it was up")
            };
            if let Some(address) = line?
                .split_once("http://")
                .and_then(|(_, rest)| rest.split_whitespace().next())
            {
                break address.trim_end_matches(['/', ',']).parse::<SocketAddr>()?;
            }
        };
        // Nobody reads on, so the pipe is kept open by a thread that throws the rest away.
        std::thread::spawn(move || lines.for_each(drop));
        let server = Self { child, http };
        while !server.is_ready() {
            ensure!(
                started.elapsed() < Duration::from_secs(120),
                "the server was not ready in two minutes"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok((server, started.elapsed()))
    }

    fn is_ready(&self) -> bool {
        Client::connect(self.http)
            .and_then(|mut client| client.get("/readyz"))
            .is_ok()
    }

    /// Resident memory in bytes.
    pub(crate) fn memory(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .context("VmRSS is there")?;
        let kib: u64 = line
            .split_whitespace()
            .nth(1)
            .context("VmRSS has a value")?
            .parse()?;
        Ok(kib * 1024)
    }

    /// As if the power had gone.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ended already is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
