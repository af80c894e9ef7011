//! Runs `muster` in an environment of its own.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process};

/// Output and exit code of one run.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// One command line with an empty environment, to which the test adds.
pub(crate) struct Muster {
    command: Command,
    stdin: String,
    /// Home and data directory, empty unless the test fills it.
    home: tempfile::TempDir,
}

impl Muster {
    pub(crate) fn new(args: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("MUSTER_DATA", home.path())
            .env("MUSTER_USER", "tester");
        Self {
            command,
            stdin: String::new(),
            home,
        }
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Talks to this server, as the app `test`.
    pub(crate) fn to(self, url: &str) -> Self {
        self.env("MUSTER_URL", url)
            .env("MUSTER_APP_CODE", "test")
            .env("MUSTER_APP_SECRET", "hush")
    }

    pub(crate) fn stdin(mut self, text: &str) -> Self {
        self.stdin = text.to_owned();
        self
    }

    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.home().join(name), text).unwrap();
        self
    }

    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    pub(crate) fn in_home(mut self) -> Self {
        let home = self.home.path().to_owned();
        self.command.current_dir(home);
        self
    }

    /// Runs as a user other than root. A test that runs as root keeps the capability to reach the program and the files.
    pub(crate) fn by_ordinary_user(mut self) -> Self {
        if geteuid().is_root() {
            let mut wrapped = Command::new("setpriv");
            wrapped
                .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
                .args(["--inh-caps=+dac_override", "--ambient-caps=+dac_override"])
                .arg("--")
                .arg(self.command.get_program())
                .args(self.command.get_args())
                .env_clear()
                .envs(
                    self.command
                        .get_envs()
                        .filter_map(|(name, value)| Some((name, value?))),
                );
            self.command = wrapped;
        }
        self
    }

    fn start(mut self) -> (Child, tempfile::TempDir) {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command need not read its input.
        stdin.write_all(self.stdin.as_bytes()).ok();
        drop(stdin);
        (child, self.home)
    }

    pub(crate) fn run(self) -> Output {
        let (child, _home) = self.start();
        ended(child)
    }

    /// Sends SIGINT when `wait` returns.
    pub(crate) fn run_until(self, wait: impl FnOnce()) -> Output {
        let (child, _home) = self.start();
        wait();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        ended(child)
    }
}

fn ended(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn muster(args: &[&str]) -> Muster {
    Muster::new(args)
}
