//! Tells whether the kernel's memory killer ended a run, and how much memory it had: from the counters of the process's
//! control group, and without a group that counts memory from the kernel's log, if the agent may read it.

use model::status::{Exit, OomMemory};

use super::SupervisedProcess;
use crate::machine::Run;
use crate::os::cgroup::Cgroups;
use crate::os::clock;
use crate::os::kernel_log::KernelLog;

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

    /// The memory of the run that has just ended in this way, if the kernel's memory killer ended it.
    pub(crate) fn oom_memory(
        &mut self,
        run: Run,
        exit: Exit,
        cgroups: &Cgroups,
        kernel_log: &mut KernelLog,
    ) -> Option<OomMemory> {
        let may_be = match exit {
            Exit::Signal(signal) => signal == libc::SIGKILL,
            Exit::Code(code) => code == SHELL_OF_KILLED,
            // Of a daemon the agent sees no signal.
            Exit::Unseen => self.registration.spec.runtime.memory_max.is_some(),
        };
        if !may_be {
            return None;
        }
        let now = clock::boot_ms();
        let name = &self.registration.name;
        let count = cgroups.oom_kills(name);
        self.oom_kills.read(count, now);
        if count.is_none() {
            let shown = self.process.alive().filter(|alive| alive.run == run);
            let main = shown.map_or(run.pid, |alive| alive.pid());
            let pids = [run.pid, main];
            return pids.into_iter().find_map(|pid| kernel_log.oom_kill_of(pid));
        }
        let rose = self.oom_kills.rose_lately(now);
        rose.then(|| cgroups.oom_memory(name).unwrap_or_default())
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
