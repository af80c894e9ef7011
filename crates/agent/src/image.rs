//! The program that runs as the agent: what it says about itself in `agent.run`, and how it makes way for the next one.
//!
//! Another image takes over by `execve`: same pid, same arguments, same environment. The kernel keeps the children, so
//! the next image still sees how each of them ends.

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
use crate::memory::SHRUNK_AT;

/// Within the data directory.
pub const RUN_FILE: &str = "agent.run";
/// What the kernel says behind the path of a program that is no longer there.
const DELETED: &[u8] = b" (deleted)";

/// What `agent.run` holds. It is true of a living process only if that one has this pid and this start time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFile {
    pub pid: i32,
    /// In ticks since the boot, as `/proc/PID/stat` has it. A new image does not change it.
    pub start_time: u64,
    /// `muster` or `muster-agent`.
    pub program: String,
    pub version: String,
    /// The path that it was started from and will be started from again.
    pub exe: PathBuf,
    /// How often an agent has begun to supervise under this pid.
    pub generation: u64,
    /// Whether a server has welcomed it and is still there.
    pub connected: bool,
    /// Why the image that this one was to make way for could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec_error: Option<String>,
}

impl RunFile {
    pub fn read(data: &Path) -> io::Result<Self> {
        let text = std::fs::read(data.join(RUN_FILE))?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// This very program.
#[derive(Debug)]
pub(crate) struct Image {
    program: &'static str,
    exe: PathBuf,
    start_time: u64,
}

impl Image {
    /// To be asked early: the path is the one that the program has now.
    pub(crate) fn this(program: &'static str) -> io::Result<Self> {
        let pid = rustix::process::getpid();
        Ok(Self {
            program,
            exe: without_deleted(std::env::current_exe()?),
            start_time: start_time(pid.as_raw_nonzero().get())?,
        })
    }

    /// The first entry of this image, or of its next try after one that failed.
    pub(crate) fn entry(&self, data: &DataDir, exec_error: Option<String>) -> RunFile {
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

    /// Becomes the program that is at our path now. Returns only when that cannot be started.
    ///
    /// A SIGHUP that arrives meanwhile waits for the next image, which may have been replaced again: unheard, it would end
    /// an image that does not listen yet.
    pub(crate) fn exec(&self, shrunk_at: Option<u64>) -> io::Error {
        let mut args = std::env::args_os();
        let mut command = Command::new(&self.exe);
        if let Some(name) = args.next() {
            command.arg0(name);
        }
        if let Some(at) = shrunk_at {
            command.env(SHRUNK_AT, at.to_string());
        }
        hold_hangups();
        let error = command.args(args).exec();
        take_hangups();
        error
    }
}

/// Keeps `agent.run` true for as long as it is awaited.
pub(crate) async fn note(data: &DataDir, mut entry: RunFile, mut connected: watch::Receiver<bool>) {
    loop {
        entry.connected = *connected.borrow_and_update();
        let written = serde_json::to_string(&entry)
            .map_err(io::Error::from)
            .and_then(|text| data.note(RUN_FILE, &text));
        if let Err(error) = written {
            tracing::warn!(%error, "cannot write {RUN_FILE}: upgrades will not find this agent");
        }
        if connected.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// When a process started, in ticks since the boot.
pub(crate) fn start_time(pid: i32) -> io::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // Its name may contain anything, but nothing behind it contains a parenthesis.
    stat.rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(19)?.parse().ok())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn without_deleted(path: PathBuf) -> PathBuf {
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
    fn the_path_is_known_after_the_file_was_replaced() {
        let path = |text: &str| without_deleted(text.into());
        assert_eq!(path("/usr/bin/a (deleted)"), Path::new("/usr/bin/a"));
        assert_eq!(path("/usr/bin/a"), Path::new("/usr/bin/a"));
    }

    #[test]
    fn each_beginning_under_one_pid_counts() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::open(dir.path()).unwrap();
        let image = Image::this("muster-agent").unwrap();
        let put = |entry: &RunFile| {
            data.note(RUN_FILE, &serde_json::to_string(entry).unwrap())
                .unwrap();
        };
        let first = image.entry(&data, None);
        assert_eq!(first.generation, 1);
        put(&first);
        assert_eq!(image.entry(&data, None).generation, 2);
        // Left by another process that had the same pid.
        put(&RunFile {
            start_time: first.start_time + 1,
            generation: 7,
            ..first
        });
        assert_eq!(image.entry(&data, None).generation, 1);
    }
}
