//! The process image of the agent: its description in `agent.run`, and its replacement by `execve`.
//!
//! `execve` keeps pid, arguments, environment and children, so the next image still gets the exit status of each child.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use supervisor::ourselves::{hold_hangups, take_hangups};
use tokio::sync::watch;

use crate::data::DataDir;
use crate::memory::REEXEC_AT;

/// Within the data directory.
pub const RUN_FILE: &str = "agent.run";
/// The kernel appends this to the path of a deleted executable.
const DELETED: &[u8] = b" (deleted)";

/// The content of `agent.run`. It describes a live process only if that has this pid and this start time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFile {
    pub pid: i32,
    /// In ticks since boot, as in `/proc/PID/stat`. `execve` does not change it.
    pub start_time: u64,
    /// `muster` or `muster-agent`.
    pub program: String,
    pub version: String,
    /// The path of the executable, which `execve` starts again.
    pub exe: PathBuf,
    /// How many agents have begun to supervise under this pid.
    pub generation: u64,
    /// Whether the agent has a session.
    pub connected: bool,
    /// EndReason the image that this one was to make way for could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec_error: Option<String>,
}

impl RunFile {
    pub fn read(data: &Path) -> io::Result<Self> {
        let text = std::fs::read(data.join(RUN_FILE))?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// The executable of this process.
#[derive(Debug)]
pub(crate) struct Image {
    program: &'static str,
    exe: PathBuf,
    start_time: u64,
}

impl Image {
    /// Call it early: the path is resolved now.
    pub(crate) fn this(program: &'static str) -> io::Result<Self> {
        let pid = rustix::process::getpid();
        Ok(Self {
            program,
            exe: without_deleted(std::env::current_exe()?),
            start_time: start_time(pid.as_raw_nonzero().get())?,
        })
    }

    pub(crate) fn program(&self) -> &'static str {
        self.program
    }

    /// The first `agent.run` of this image, or the one after a failed `execve`.
    pub(crate) fn run_file(&self, data: &DataDir, exec_error: Option<String>) -> RunFile {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let before = RunFile::read(data.path())
            .ok()
            .filter(|before| (before.pid, before.start_time) == (pid, self.start_time));
        RunFile {
            pid,
            start_time: self.start_time,
            program: self.program.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            exe: self.exe.clone(),
            generation: before.map_or(1, |before| before.generation + 1),
            connected: false,
            exec_error,
        }
    }

    /// Executes the program at this image's path. Returns only if that fails.
    ///
    /// SIGHUP stays blocked until the next image handles it: its default action would kill an image without a handler.
    pub(crate) fn exec(&self, reexec_at: Option<u64>) -> io::Error {
        let mut args = std::env::args_os();
        let mut command = Command::new(&self.exe);
        if let Some(name) = args.next() {
            command.arg0(name);
        }
        if let Some(at) = reexec_at {
            command.env(REEXEC_AT, at.to_string());
        }
        hold_hangups();
        let error = command.args(args).exec();
        take_hangups();
        error
    }
}

/// Keeps `agent.run` up to date for as long as it is polled.
pub(crate) async fn keep_run_file(
    data: &DataDir,
    mut entry: RunFile,
    mut connected: watch::Receiver<bool>,
) {
    loop {
        entry.connected = *connected.borrow_and_update();
        let written = serde_json::to_string(&entry)
            .map_err(io::Error::from)
            .and_then(|text| data.replace_unsynced(RUN_FILE, &text));
        if let Err(error) = written {
            tracing::warn!(%error, "cannot write {RUN_FILE}: upgrades will not find this agent");
        }
        if connected.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// When a process started, in ticks since boot.
pub(crate) fn start_time(pid: i32) -> io::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name may contain anything; no field after it contains a parenthesis.
    stat.rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(19)?.parse().ok())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

pub(crate) fn without_deleted(path: PathBuf) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    match bytes.strip_suffix(DELETED) {
        Some(bytes) => OsString::from_vec(bytes.to_vec()).into(),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_replaced_executable_is_known() {
        let path = |text: &str| without_deleted(text.into());
        assert_eq!(path("/usr/bin/a (deleted)"), Path::new("/usr/bin/a"));
        assert_eq!(path("/usr/bin/a"), Path::new("/usr/bin/a"));
    }

    #[test]
    fn each_start_under_one_pid_raises_the_generation() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::open(dir.path()).unwrap();
        let image = Image::this("muster-agent").unwrap();
        let put = |entry: &RunFile| {
            data.replace_unsynced(RUN_FILE, &serde_json::to_string(entry).unwrap())
                .unwrap();
        };
        let first = image.run_file(&data, None);
        assert_eq!(first.generation, 1);
        put(&first);
        assert_eq!(image.run_file(&data, None).generation, 2);
        // Written by an earlier process with the same pid.
        put(&RunFile {
            start_time: first.start_time + 1,
            generation: 7,
            ..first
        });
        assert_eq!(image.run_file(&data, None).generation, 1);
    }
}
