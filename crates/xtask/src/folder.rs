//! A temporary folder for real agents and what they supervise. Everything that ran there is killed with it.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Limit for everything that ran here to exit.
const END_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct WorkFolder(TempDir);

impl WorkFolder {
    pub(crate) fn new(prefix: &str) -> anyhow::Result<Self> {
        Ok(Self(TempDir::with_prefix(prefix)?))
    }

    /// One that is removed with its parent.
    pub(crate) fn below(parent: &TempDir, prefix: &str) -> anyhow::Result<Self> {
        let mut folder = TempDir::with_prefix_in(prefix, parent)?;
        folder.disable_cleanup(true);
        Ok(Self(folder))
    }

    /// Processes with this folder in their arguments or as working directory are killed with it.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Again and again: what supervises may start something anew until it is dead itself.
    fn end_all(&self) {
        let began = Instant::now();
        while began.elapsed() < END_WITHIN {
            let here = self.processes();
            if here.is_empty() {
                return;
            }
            for pid in here.into_iter().filter_map(Pid::from_raw) {
                // Gone already is what was wanted.
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        eprintln!("left running: {:?}", self.processes());
    }

    fn processes(&self) -> Vec<i32> {
        let folder = self.path();
        let text = folder.to_string_lossy();
        let us = std::process::id().cast_signed();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let names_it = String::from_utf8_lossy(&arguments).contains(text.as_ref());
            let cwd = || std::fs::read_link(entry.path().join("cwd"));
            if pid != us && (names_it || cwd().is_ok_and(|cwd| cwd.starts_with(folder))) {
                found.push(pid);
            }
        }
        found
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        self.end_all();
    }
}
