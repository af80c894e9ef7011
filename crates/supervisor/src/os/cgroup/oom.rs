//! What the group of a process tells of the kernel's memory killer.

use std::fs;

use model::FullName;
use model::status::OomMemory;

use super::hierarchy::Version;
use super::{Cgroups, group, leaf};

/// Version 1 has a limit from here on where there is none: 2^63, rounded down to a page.
const NO_LIMIT: u64 = 1 << 60;

impl Cgroups {
    /// Whether every group of a process counts them.
    pub(crate) fn count_oom_kills(&self) -> bool {
        let home = self.home.as_ref();
        home.is_some_and(|home| home.controls("memory"))
    }

    /// How many members of a process's group the kernel has killed because memory was short. `None` if no group counts that.
    pub(crate) fn oom_kills(&self, name: &FullName) -> Option<u64> {
        let hierarchy = self.used_with("memory")?;
        let at = hierarchy.at.join(self.below(&leaf(name)));
        let file = match hierarchy.version {
            Version::Two => "memory.events",
            Version::One => "memory.oom_control",
        };
        let text = fs::read_to_string(at.join(file)).ok()?;
        group::figure(&text, "oom_kill")
    }

    /// The most memory that the group of a process has used, and its limit. 0 where that is not known.
    pub(crate) fn oom_memory(&self, name: &FullName) -> Option<OomMemory> {
        let hierarchy = self.used_with("memory")?;
        let at = hierarchy.at.join(self.below(&leaf(name)));
        let (used, limit) = match hierarchy.version {
            // The peak is in kernels from 5.19 on.
            Version::Two => ("memory.peak", "memory.max"),
            Version::One => ("memory.max_usage_in_bytes", "memory.limit_in_bytes"),
        };
        let figure = |file: &str| {
            let text = fs::read_to_string(at.join(file)).unwrap_or_default();
            text.trim().parse().unwrap_or(0)
        };
        let limit = figure(limit);
        Some(OomMemory {
            used: figure(used),
            // Version 1 writes no limit as a number that no host has.
            limit: if limit < NO_LIMIT { limit } else { 0 },
        })
    }
}
