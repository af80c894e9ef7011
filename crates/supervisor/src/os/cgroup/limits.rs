//! Hard limits as files of a control group, in cgroup v1 and v2.

use model::spec::Runtime;

use super::hierarchy::Version;

/// The period of a CPU quota.
const PERIOD_US: u64 = 100_000;
/// The smallest quota that the kernel accepts.
const MIN_QUOTA_US: u64 = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controller {
    Memory,
    Cpu,
    Pids,
}

impl Controller {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pids => "pids",
        }
    }
}

/// One limit of a process; `None` for no limit.
pub(super) type Setting = (Controller, Option<u64>);

pub(super) fn settings(runtime: &Runtime, cores: u64) -> [Setting; 3] {
    let cpu = |percent: f64| {
        let quota = percent / 100.0 * (cores * PERIOD_US) as f64;
        (quota as u64).max(MIN_QUOTA_US)
    };
    [
        (Controller::Memory, runtime.memory_max),
        (Controller::Cpu, runtime.cpu_max.map(cpu)),
        (Controller::Pids, runtime.pids_max),
    ]
}

/// The files of a limit with their content.
pub(super) fn files(version: Version, setting: Setting) -> Vec<(&'static str, String)> {
    let (controller, value) = setting;
    let or = |none: &str| value.map_or(none.to_owned(), |value| value.to_string());
    match (controller, version) {
        (Controller::Memory, Version::Two) => vec![("memory.max", or("max"))],
        (Controller::Memory, Version::One) => vec![("memory.limit_in_bytes", or("-1"))],
        (Controller::Cpu, Version::Two) => {
            vec![("cpu.max", format!("{} {PERIOD_US}", or("max")))]
        }
        (Controller::Cpu, Version::One) => vec![
            ("cpu.cfs_period_us", PERIOD_US.to_string()),
            ("cpu.cfs_quota_us", or("-1")),
        ],
        (Controller::Pids, _) => vec![("pids.max", or("max"))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(runtime: &Runtime, version: Version) -> Vec<String> {
        let settings = settings(runtime, 4).into_iter();
        let files = settings.flat_map(|setting| files(version, setting));
        files
            .map(|(file, value)| format!("{file}={value}"))
            .collect()
    }

    #[test]
    fn limits_become_the_files_of_each_version() {
        let runtime = Runtime {
            memory_max: Some(1 << 20),
            cpu_max: Some(50.0),
            pids_max: Some(7),
            ..Runtime::default()
        };
        assert_eq!(
            written(&runtime, Version::Two),
            ["memory.max=1048576", "cpu.max=200000 100000", "pids.max=7"]
        );
        assert_eq!(
            written(&runtime, Version::One),
            [
                "memory.limit_in_bytes=1048576",
                "cpu.cfs_period_us=100000",
                "cpu.cfs_quota_us=200000",
                "pids.max=7"
            ]
        );
    }

    #[test]
    fn a_limit_that_left_the_spec_is_removed() {
        let none = Runtime::default();
        assert_eq!(
            written(&none, Version::Two),
            ["memory.max=max", "cpu.max=max 100000", "pids.max=max"]
        );
        assert_eq!(
            written(&none, Version::One),
            [
                "memory.limit_in_bytes=-1",
                "cpu.cfs_period_us=100000",
                "cpu.cfs_quota_us=-1",
                "pids.max=max"
            ]
        );
    }
}
