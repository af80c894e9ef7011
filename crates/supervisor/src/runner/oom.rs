//! Tells whether the kernel's memory killer ended a run, from the counter of the process's control group. Without a group that
//! counts memory nothing is said: no other evidence is reliable.

use model::status::Exit;

use super::SupervisedProcess;
use crate::os::cgroup::Cgroups;
use crate::os::clock;

/// How long a run may take to end after the kernel has killed it: its memory is freed first.
const ENDS_WITHIN_MS: u64 = 10_000;
/// What a shell exits with whose program was killed by SIGKILL.
const SHELL_OF_KILLED: i32 = 128 + libc::SIGKILL;

/// How many members of a process's group the kernel has killed, and when that number last rose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OomKills {
    /// None before the first reading, and where no group counts.
    count: Option<u64>,
    rose_boot_ms: Option<u64>,
}

impl OomKills {
    pub(crate) fn from_start(count: Option<u64>) -> Self {
        Self {
            count,
            rose_boot_ms: None,
        }
    }

    fn read(&mut self, count: Option<u64>, now_boot_ms: u64) {
        if let (Some(before), Some(count)) = (self.count, count)
            && count > before
        {
            self.rose_boot_ms = Some(now_boot_ms);
        }
        self.count = count;
    }

    fn rose_lately(&self, now_boot_ms: u64) -> bool {
        self.rose_boot_ms
            .is_some_and(|rose| now_boot_ms < rose + ENDS_WITHIN_MS)
    }
}

impl SupervisedProcess {
    /// Reads the counter now and then: a worker that was killed long ago does not explain the end of its parent.
    pub(crate) fn count_oom_kills(&mut self, cgroups: &Cgroups, now_boot_ms: u64) {
        let has_limit = self.registration.spec.runtime.memory_max.is_some();
        if has_limit || self.oom_kills.count.is_none() {
            let count = cgroups.oom_kills(&self.registration.name);
            self.oom_kills.read(count, now_boot_ms);
        }
    }

    /// Whether the kernel's memory killer ended the run that has just ended in this way.
    pub(crate) fn was_oom_killed(&mut self, exit: Exit, cgroups: &Cgroups) -> bool {
        let may_be = match exit {
            Exit::Signal(signal) => signal == libc::SIGKILL,
            Exit::Code(code) => code == SHELL_OF_KILLED,
            // Of a daemon the agent sees no signal.
            Exit::Unseen => self.registration.spec.runtime.memory_max.is_some(),
        };
        if !may_be {
            return false;
        }
        let now = clock::boot_ms();
        let count = cgroups.oom_kills(&self.registration.name);
        self.oom_kills.read(count, now);
        self.oom_kills.rose_lately(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kill_shortly_before_the_end_explains_it() {
        let mut kills = OomKills::from_start(Some(2));
        assert!(!kills.rose_lately(5));
        kills.read(Some(2), 100);
        assert!(!kills.rose_lately(100));
        kills.read(Some(3), 200);
        assert!(kills.rose_lately(200) && kills.rose_lately(10_199));
        assert!(!kills.rose_lately(10_200));
        let mut unknown = OomKills::default();
        unknown.read(Some(7), 100);
        assert!(!unknown.rose_lately(100), "killed before the agent looked");
    }
}
