//! A real server as a child process, on random ports and in a temporary folder.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::client::Client;

pub(crate) const APP_CODE: &str = "bench";
pub(crate) const APP_SECRET: &str = "bench-secret";
pub(crate) const JOIN_TOKEN: &str = "bench-join-token";

#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) http: SocketAddr,
    /// Where agents connect.
    pub(crate) agents: SocketAddr,
}

/// The packages of all programs that benchmarks and the soak test run. Always built together: cargo unites the features of
/// one build's packages, so another set would compile most dependencies again.
pub(crate) const PROGRAMS: [&str; 3] = ["cli", "agent", "testkit"];

/// Builds the binaries of these packages in the profile of this one: `cargo xtask` is `release`, and
/// `cargo run --profile dist -p xtask` measures what packages ship.
pub(crate) fn build(packages: &[&str]) -> anyhow::Result<()> {
    let folder = binaries()?;
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        Some(profile) => profile,
        None => bail!("{} is no folder of a profile", folder.display()),
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--profile", profile]);
    for package in packages {
        cargo.args(["--package", package]);
    }
    forget_xtask(&mut cargo);
    ensure!(cargo.status()?.success(), "cargo build failed");
    Ok(())
}

/// Removes what cargo has set in the environment for `cargo xtask`. Build scripts that read it would run again with each build,
/// and everything that depends on them would be compiled again.
pub(crate) fn forget_xtask(command: &mut Command) {
    let of_xtask =
        |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(of_xtask) {
            command.env_remove(name);
        }
    }
}

/// The folder of the binaries, which this one is in.
pub(crate) fn binaries() -> anyhow::Result<PathBuf> {
    let xtask = std::env::current_exe()?;
    let folder = xtask.parent().context("xtask lies in a folder")?;
    Ok(folder.to_owned())
}

/// A server's addresses and further arguments.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) http: SocketAddr,
    pub(crate) agents: SocketAddr,
    /// Further arguments.
    pub(crate) more: Vec<String>,
}

impl Default for Settings {
    /// Free ports, an embedded store.
    fn default() -> Self {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            http: any,
            agents: any,
            more: Vec::new(),
        }
    }
}

impl Server {
    /// Starts `muster` of this folder and waits until it is ready; returns how long that took.
    pub(crate) fn start(binaries: &Path, data: &Path) -> anyhow::Result<(Self, Duration)> {
        Self::start_with(binaries, data, &Settings::default())
    }

    pub(crate) fn start_with(
        binaries: &Path,
        data: &Path,
        settings: &Settings,
    ) -> anyhow::Result<(Self, Duration)> {
        let started = Instant::now();
        let muster = binaries.join("muster");
        let mut child = Command::new(&muster)
            .arg("server")
            .arg("--data")
            .arg(data)
            .args(["--http", &settings.http.to_string()])
            .args(["--agents", &settings.agents.to_string()])
            .args(&settings.more)
            .env("MUSTER_APP_CODE", APP_CODE)
            .env("MUSTER_APP_SECRET", APP_SECRET)
            .env("MUSTER_JOIN_TOKEN", JOIN_TOKEN)
            .env("MUSTER_LOG", "warn")
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", muster.display()))?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut lines = BufReader::new(stdout).lines();
        let (http, agents) = loop {
            let Some(line) = lines.next() else {
                bail!("the server ended before it was up")
            };
            if let [http, agents] = addresses_in(&line?)[..] {
                break (http, agents);
            }
        };
        // A thread drains the pipe, so that the server never blocks on it.
        std::thread::spawn(move || lines.for_each(drop));
        let server = Self {
            child,
            http,
            agents,
        };
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

    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// By SIGKILL.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Every word of a line that is an address with a port.
fn addresses_in(line: &str) -> Vec<SocketAddr> {
    line.split_whitespace()
        .map(|word| {
            word.trim_start_matches("http://")
                .trim_end_matches(['/', ','])
        })
        .filter_map(|word| word.parse().ok())
        .collect()
}
