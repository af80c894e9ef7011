//! Memory and descriptors of servers and agents.

use std::fmt;
use std::fs;

/// The maximum so far.
#[derive(Debug, Default, Clone, Copy)]
pub struct Usage {
    pub rss_kib: u64,
    pub n_descriptors: usize,
}

impl Usage {
    /// `None` if the process has exited.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let rss = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(Self {
            rss_kib: rss.split_whitespace().next()?.parse().ok()?,
            n_descriptors: fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count(),
        })
    }

    pub(super) fn raise(&mut self, other: Option<Self>) {
        if let Some(other) = other {
            self.rss_kib = self.rss_kib.max(other.rss_kib);
            self.n_descriptors = self.n_descriptors.max(other.n_descriptors);
        }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{} KiB, {} fds", self.rss_kib, self.n_descriptors);
        f.pad(&text)
    }
}
