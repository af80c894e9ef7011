//! Programs of the web console that drive Debian's chromium against a server: benchmark and screenshots.
//!
//! They ask for what only this side can do by a line `@request` on standard output, and go on after a line on standard input.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::json;

use crate::client::Client;

/// The administrator that programs log in as, on a server that lives as long as they do.
const USER: &str = "ada";
const PASSWORD: &str = "correct horse";

/// Where the sources of the console are.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console")
}

/// Builds the console, which the server embeds, and installs what drives the browser.
pub(crate) fn build() -> anyhow::Result<()> {
    let script = folder().join("../scripts/console");
    let status = Command::new(&script).status();
    let status = status.with_context(|| format!("cannot run {}", script.display()))?;
    ensure!(status.success(), "the console could not be built: {status}");
    let chromium = Path::new("/usr/bin/chromium");
    ensure!(
        chromium.exists(),
        "chromium is missing: ./scripts/setup test"
    );
    Ok(())
}

/// Creates the administrator on a new server.
pub(crate) fn add_user(client: &mut Client) -> anyhow::Result<()> {
    let user = json!({"name": USER, "password": PASSWORD, "grants": [{"role": "admin"}]});
    client.post("/api/v1/users", user.to_string().as_bytes())?;
    Ok(())
}

/// A program in `console/scripts`, with what it needs to know.
#[derive(Debug)]
pub(crate) struct Script<'a> {
    pub(crate) name: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) http: SocketAddr,
    /// A folder in which processes may run.
    pub(crate) folder: &'a Path,
    /// The host of the real agent.
    pub(crate) host: &'a str,
}

impl Script<'_> {
    /// Runs it to its end. `on_request` does what it asks for, `on_line` takes every other line.
    pub(crate) fn run(
        &self,
        mut on_request: impl FnMut(&str) -> anyhow::Result<()>,
        mut on_line: impl FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut child = Command::new("node")
            .arg(folder().join("scripts").join(self.name))
            .args(self.args)
            .env("MUSTER_URL", format!("http://{}", self.http))
            .env("MUSTER_USER", USER)
            .env("MUSTER_PASSWORD", PASSWORD)
            .env("MUSTER_FOLDER", self.folder)
            .env("MUSTER_HOST", self.host)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start node")?;
        let mut stdin = child.stdin.take().context("stdin is piped")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            match line.strip_prefix('@') {
                Some(request) => {
                    on_request(request)?;
                    writeln!(stdin, "done")?;
                }
                None => on_line(&line)?,
            }
        }
        let status = child.wait()?;
        ensure!(status.success(), "{} ended with {status}", self.name);
        Ok(())
    }
}
