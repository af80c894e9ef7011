//! A real server on loopback, and command lines that call it from a home of their own.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::command::Output;

/// The server, whose data directory is `data` in its home.
pub(crate) struct RealServer {
    pub(crate) home: tempfile::TempDir,
    child: Child,
    pub(crate) url: String,
}

/// A certificate or key for tests.
pub(crate) fn pem(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/tls")
        .join(name)
}

/// `muster` with an empty environment but for a home.
pub(crate) fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    command
        .args(args)
        .current_dir(home)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home);
    command
}

/// Runs it to its end.
pub(crate) fn run(mut command: Command, stdin: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to = child.stdin.take().unwrap();
    // A command need not read its input.
    to.write_all(stdin.as_bytes()).ok();
    drop(to);
    let output = child.wait_with_output().unwrap();
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl RealServer {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// With the certificate `chain.pem`.
    pub(crate) fn start_tls() -> Self {
        let (chain, key) = (pem("chain.pem"), pem("key.pem"));
        Self::start_with(&[
            ("MUSTER_HTTP_TLS_CERT", chain.to_str().unwrap()),
            ("MUSTER_HTTP_TLS_KEY", key.to_str().unwrap()),
        ])
    }

    fn start_with(variables: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let args = ["server", "--http", "127.0.0.1:0", "--agents", "127.0.0.1:0"];
        let mut child = command(home.path(), &args)
            .args(["-o", "json", "--log", "error"])
            .env("MUSTER_DATA", home.path().join("data"))
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut first).unwrap();
        let said: Value = serde_json::from_str(&first).unwrap();
        Self {
            home,
            child,
            url: said["url"].as_str().unwrap().to_owned(),
        }
    }

    /// Runs as the app of the server's own file.
    pub(crate) fn run(&self, args: &[&str], stdin: &str) -> Output {
        let mut command = command(self.home.path(), args);
        command.env("MUSTER_DATA", self.home.path().join("data"));
        run(command, stdin)
    }

    #[track_caller]
    pub(crate) fn fine(&self, args: &[&str], stdin: &str) -> String {
        let ran = self.run(args, stdin);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran.stdout
    }

    /// Makes a user with the password `correct horse`.
    #[track_caller]
    pub(crate) fn add_user(&self, name: &str, more: &[&str]) {
        let create = ["user", "create", name, "--password-stdin"];
        self.fine(&[&create[..], more].concat(), "correct horse\n");
    }

    /// Makes an app that is not trusted; returns its secret.
    #[track_caller]
    pub(crate) fn add_app(&self, code: &str, more: &[&str]) -> String {
        let create = ["app", "create", code, "-o", "json"];
        let created = self.fine(&[&create[..], more].concat(), "");
        let created: Value = serde_json::from_str(&created).unwrap();
        created["secret"].as_str().unwrap().to_owned()
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        let _ = kill_process(pid, Signal::TERM);
        let _ = self.child.wait();
    }
}
