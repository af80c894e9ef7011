//! Facts about this host that the hello carries.

use model::kernel::KernelFeatures;

/// Read once, at start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostFacts {
    pub root: bool,
    pub hostname: String,
    pub kernel: String,
    pub cores: u32,
    pub memory_kib: u64,
    pub arch: String,
    /// What the agent does without.
    pub missing: KernelFeatures,
    /// `muster-agent` or `muster`, if its binary can be replaced; else empty.
    pub program: String,
}

impl HostFacts {
    pub fn read() -> Self {
        let uname = rustix::system::uname();
        Self {
            root: rustix::process::geteuid().is_root(),
            hostname: uname.nodename().to_string_lossy().into_owned(),
            kernel: uname.release().to_string_lossy().into_owned(),
            cores: count_cores(&read("/proc/stat")),
            memory_kib: total_memory(&read("/proc/meminfo")),
            arch: uname.machine().to_string_lossy().into_owned(),
            ..Self::default()
        }
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Counts the lines `cpu0 …`, `cpu1 …`: all cores, also those that this process may not use.
fn count_cores(stat: &str) -> u32 {
    let is_core = |line: &&str| {
        line.strip_prefix("cpu")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    stat.lines().filter(is_core).count() as u32
}

fn total_memory(meminfo: &str) -> u64 {
    meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|kib| kib.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_cores_and_memory() {
        let facts = HostFacts::read();
        assert!(facts.cores > 0 && facts.memory_kib > 0, "{facts:?}");
        assert!(!facts.hostname.is_empty() && !facts.kernel.is_empty());
    }
}
