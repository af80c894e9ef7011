//! Brings back an agent that ended during an upgrade: the service manager does it, or this does, with the same arguments.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use supervisor::OtherProcess;

use crate::image::RunFile;

/// How long a service manager may take to start the agent again: our unit says one second.
const SERVICE_MANAGER: Duration = Duration::from_secs(10);
const POLL_EVERY: Duration = Duration::from_millis(50);

/// How the agent was started.
#[derive(Debug)]
pub(super) struct Launch {
    args: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directory: PathBuf,
}

impl Launch {
    /// Reads it from the live agent.
    pub(super) fn of(pid: i32) -> io::Result<Self> {
        let read = |file: &str| std::fs::read(format!("/proc/{pid}/{file}"));
        let entries = |text: Vec<u8>| -> Vec<Vec<u8>> {
            let text = text.strip_suffix(&[0]).unwrap_or(&text);
            text.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
        };
        let variable = |entry: Vec<u8>| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            let (name, value) = (entry[..at].to_vec(), entry[at + 1..].to_vec());
            Some((OsString::from_vec(name), OsString::from_vec(value)))
        };
        let args = entries(read("cmdline")?).into_iter();
        Ok(Self {
            args: args.skip(1).map(OsString::from_vec).collect(),
            environment: entries(read("environ")?)
                .into_iter()
                .filter_map(variable)
                .collect(),
            directory: std::fs::read_link(format!("/proc/{pid}/cwd"))?,
        })
    }

    /// Waits for another agent than `ended`, and starts one if none comes. An error says why there is none.
    pub(super) fn bring_back(&self, data: &Path, ended: &RunFile) -> Result<(), String> {
        let since = Instant::now();
        while since.elapsed() < SERVICE_MANAGER {
            if is_back(data, ended) {
                return Ok(());
            }
            sleep(POLL_EVERY);
        }
        let mut command = Command::new(&ended.exe);
        command
            .args(&self.args)
            .env_clear()
            .envs(self.environment.iter().cloned())
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .process_group(0);
        command
            .spawn()
            .map_err(|error| format!("it cannot be started: {error}"))?;
        let since = Instant::now();
        while since.elapsed() < SERVICE_MANAGER {
            if is_back(data, ended) {
                return Ok(());
            }
            sleep(POLL_EVERY);
        }
        Err("it was started and did not come up".to_owned())
    }
}

/// Whether another agent than `ended` supervises.
fn is_back(data: &Path, ended: &RunFile) -> bool {
    let Ok(now) = RunFile::read(data) else {
        return false;
    };
    let is_other = (now.pid, now.start_time) != (ended.pid, ended.start_time);
    let process = OtherProcess::find(now.pid).ok().flatten();
    is_other && process.is_some_and(|process| process.start_time() == now.start_time)
}
