//! The live processes of this host, by `/proc`.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// One live process, identified by pid and start time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LiveProcess {
    pub(super) pid: i32,
    start_time: u64,
    arguments: Vec<String>,
}

impl LiveProcess {
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        // A zombie counts as exited.
        if matches!(*fields.first()?, "Z" | "X") {
            return None;
        }
        let command_line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let arguments = command_line
            .split(|byte| *byte == 0)
            .map(|argument| String::from_utf8_lossy(argument).into_owned());
        Some(Self {
            pid,
            start_time: fields.get(19)?.parse().ok()?,
            arguments: arguments.collect(),
        })
    }

    /// Whether it is a run with this marker, and not a daemon that is still forking.
    pub(super) fn is_run_of(&self, marker: &str) -> bool {
        let has = |word: &str| self.arguments.iter().any(|argument| argument == word);
        has(marker) && !has("--daemon") && !has("--second-fork")
    }

    /// Whether any of its arguments contains this text.
    pub(super) fn mentions(&self, text: &str) -> bool {
        self.arguments
            .iter()
            .any(|argument| argument.contains(text))
    }

    pub(super) fn is_alive(&self) -> bool {
        Self::read(self.pid).as_ref() == Some(self)
    }

    pub(super) fn kill(&self) {
        if let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.is_alive()) {
            // It may have exited.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// All live processes.
pub(super) fn all() -> Vec<LiveProcess> {
    let entries = fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(LiveProcess::read).collect()
}
