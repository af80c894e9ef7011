//! Which processes are really there, from `/proc` and from nobody's word.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// One live process; a reused pid is another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Live {
    pub(super) pid: i32,
    start_time: u64,
    arguments: Vec<String>,
}

impl Live {
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        // Dead already, and only waiting to be asked after.
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

    /// Whether it is a run with this marker, and not one on its way to the background.
    pub(super) fn is_run_of(&self, marker: &str) -> bool {
        let has = |word: &str| self.arguments.iter().any(|argument| argument == word);
        has(marker) && !has("--daemon") && !has("--second-fork")
    }

    /// Whether any of its arguments speaks of this.
    pub(super) fn mentions(&self, text: &str) -> bool {
        self.arguments
            .iter()
            .any(|argument| argument.contains(text))
    }

    pub(super) fn is_still_there(&self) -> bool {
        Self::read(self.pid).as_ref() == Some(self)
    }

    pub(super) fn kill(&self) {
        if let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.is_still_there()) {
            // Gone already is fine.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Everything that lives now.
pub(super) fn all() -> Vec<Live> {
    let entries = fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(Live::read).collect()
}
