//! Hard limits by the kernel: one control group per process that asks for them, version 2 or 1, whichever has the
//! controllers. Its start command joins before it is executed, so everything that comes from it is in it.
//!
//! The groups are `muster/AGENT/NAMESPACE.NAME` below where the controllers are mounted. An agent that may not make them,
//! or a host without controllers, has no hard limits, and says so in the status of those that ask.

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::FullName;
use model::spec::Runtime;

/// The time over which a share of cpu is counted.
const PERIOD_US: u64 = 100_000;
/// The kernel takes no smaller share.
const MIN_QUOTA_US: u64 = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Controller {
    Memory,
    Cpu,
    Pids,
}

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pids => "pids",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Where control groups of one version are mounted, and what they control there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    version: Version,
    at: PathBuf,
    controllers: Vec<String>,
}

/// Where this agent's groups are.
#[derive(Debug)]
pub(crate) struct Cgroups {
    mounts: Vec<Mount>,
    agent: String,
    cores: u64,
}

/// What one process is limited to, as files to write.
type Setting = (Controller, u64);

/// Whether a process wants hard limits at all.
pub(crate) fn is_asked(runtime: &Runtime) -> bool {
    !asked(runtime, 1).is_empty()
}

fn asked(runtime: &Runtime, cores: u64) -> Vec<Setting> {
    let cpu = |percent: f64| {
        let quota = percent / 100.0 * (cores * PERIOD_US) as f64;
        (quota as u64).max(MIN_QUOTA_US)
    };
    let all = [
        runtime.memory_max.map(|bytes| (Controller::Memory, bytes)),
        runtime.cpu_max.map(|max| (Controller::Cpu, cpu(max))),
        runtime.pids_max.map(|count| (Controller::Pids, count)),
    ];
    all.into_iter().flatten().collect()
}

/// The files of a limit, and what goes into them.
fn files(version: Version, (controller, value): Setting) -> Vec<(&'static str, String)> {
    match (controller, version) {
        (Controller::Memory, Version::Two) => vec![("memory.max", value.to_string())],
        (Controller::Memory, Version::One) => vec![("memory.limit_in_bytes", value.to_string())],
        (Controller::Cpu, Version::Two) => vec![("cpu.max", format!("{value} {PERIOD_US}"))],
        (Controller::Cpu, Version::One) => vec![
            ("cpu.cfs_period_us", PERIOD_US.to_string()),
            ("cpu.cfs_quota_us", value.to_string()),
        ],
        (Controller::Pids, _) => vec![("pids.max", value.to_string())],
    }
}

impl Cgroups {
    pub(crate) fn find(agent: &str) -> Self {
        let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            mounts: mounts(&text, |at| {
                let listed = fs::read_to_string(at.join("cgroup.controllers"));
                listed.unwrap_or_default()
            }),
            agent: agent.to_owned(),
            cores: cores as u64,
        }
    }

    /// Makes the groups that a process asks for, with its limits: their `cgroup.procs`, for its command to join, and a
    /// sentence about those that it cannot have, or nothing.
    pub(crate) fn prepare(&self, name: &FullName, runtime: &Runtime) -> (Vec<CString>, String) {
        let mut joins: Vec<CString> = Vec::new();
        let mut lacks: Vec<String> = Vec::new();
        for setting in asked(runtime, self.cores) {
            match self.limit(name, setting) {
                Ok(procs) if joins.contains(&procs) => {}
                Ok(procs) => joins.push(procs),
                Err(why) => lacks.push(format!("{}: {why}", setting.0.name())),
            }
        }
        let sentence = match lacks.is_empty() {
            true => String::new(),
            false => format!("hard limits are not available here: {}", lacks.join(", ")),
        };
        (joins, sentence)
    }

    /// Whether a process is in the groups of this name.
    pub(crate) fn contain(&self, name: &FullName, pid: i32) -> bool {
        let ours = format!("/muster/{}/{}", self.agent, leaf(name));
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        text.lines().any(|line| line.ends_with(&ours))
    }

    fn limit(&self, name: &FullName, setting: Setting) -> Result<CString, String> {
        let wanted = setting.0.name();
        let has = |mount: &&Mount| mount.controllers.iter().any(|name| name == wanted);
        let mount = self
            .mounts
            .iter()
            .find(has)
            .ok_or("no control group with this controller is mounted")?;
        let dir = self.dir(mount, name);
        make(mount, &dir, wanted)
            .map_err(|e| format!("{} cannot be made: {}", dir.display(), super::plain(&e)))?;
        for (file, value) in files(mount.version, setting) {
            let path = dir.join(file);
            fs::write(&path, value).map_err(|e| {
                format!("{} cannot be written: {}", path.display(), super::plain(&e))
            })?;
        }
        let procs = dir.join("cgroup.procs").into_os_string();
        CString::new(procs.into_encoded_bytes()).map_err(|error| error.to_string())
    }

    fn dir(&self, mount: &Mount, name: &FullName) -> PathBuf {
        mount.at.join("muster").join(&self.agent).join(leaf(name))
    }

    /// Removes what is empty of a process's groups, and of the agent's when that was the last.
    pub(crate) fn tidy(&self, name: &FullName) {
        for mount in &self.mounts {
            let mut dir = self.dir(mount, name);
            // One that something is still in stays.
            for _ in 0..3 {
                if fs::remove_dir(&dir).is_err() || !dir.pop() {
                    break;
                }
            }
        }
    }
}

/// A name may hold a dot, and no slash.
fn leaf(name: &FullName) -> String {
    format!("{}.{}", name.namespace, name.name)
}

/// Makes a group below the mount, and in version 2 hands the controller down to it.
fn make(mount: &Mount, dir: &Path, controller: &str) -> io::Result<()> {
    let below = dir.strip_prefix(&mount.at).map_err(io::Error::other)?;
    let mut at = mount.at.clone();
    for part in below {
        if mount.version == Version::Two {
            let control = at.join("cgroup.subtree_control");
            let listed = fs::read_to_string(&control)?;
            if !listed.split_whitespace().any(|known| known == controller) {
                fs::write(&control, format!("+{controller}"))?;
            }
        }
        at.push(part);
        match fs::create_dir(&at) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Reads `/proc/self/mountinfo`: ID PARENT DEVICE ROOT POINT OPTIONS … - TYPE SOURCE SUPER-OPTIONS.
fn mounts(text: &str, controllers_of: impl Fn(&Path) -> String) -> Vec<Mount> {
    let mut found = Vec::new();
    for line in text.lines() {
        let Some((left, right)) = line.split_once(" - ") else {
            continue;
        };
        let Some(at) = left.split(' ').nth(4).map(PathBuf::from) else {
            continue;
        };
        let mut right = right.split(' ');
        let (version, controllers) = match (right.next(), right.nth(1)) {
            (Some("cgroup2"), _) => (Version::Two, controllers_of(&at).replace(' ', ",")),
            (Some("cgroup"), Some(options)) => (Version::One, options.to_owned()),
            (Some(_) | None, _) => continue,
        };
        found.push(Mount {
            version,
            at,
            controllers: controllers.trim().split(',').map(str::to_owned).collect(),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_are_found_in_both_versions() {
        let text = "23 1 0:21 / /proc rw - proc proc rw\n\
            32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let found = mounts(text, |_| "memory pids\n".to_owned());
        let shown: Vec<_> = found
            .iter()
            .map(|mount| (mount.version, mount.controllers.join(",")))
            .collect();
        assert_eq!(
            shown,
            [
                (Version::One, "rw,cpu,cpuacct".to_owned()),
                (Version::Two, "memory,pids".to_owned())
            ]
        );
    }

    #[test]
    fn limits_become_the_files_of_each_version() {
        let runtime = Runtime {
            memory_max: Some(1 << 20),
            cpu_max: Some(50.0),
            pids_max: Some(7),
            ..Runtime::default()
        };
        let written = |version| -> Vec<(&str, String)> {
            let settings = asked(&runtime, 4).into_iter();
            settings
                .flat_map(|setting| files(version, setting))
                .collect()
        };
        let text = |(file, value): &(&str, String)| format!("{file}={value}");
        let two: Vec<String> = written(Version::Two).iter().map(text).collect();
        assert_eq!(
            two,
            ["memory.max=1048576", "cpu.max=200000 100000", "pids.max=7"]
        );
        let one: Vec<String> = written(Version::One).iter().map(text).collect();
        assert_eq!(
            one,
            [
                "memory.limit_in_bytes=1048576",
                "cpu.cfs_period_us=100000",
                "cpu.cfs_quota_us=200000",
                "pids.max=7"
            ]
        );
        assert!(asked(&Runtime::default(), 4).is_empty());
    }

    #[test]
    fn without_a_controller_it_is_said_that_there_are_no_hard_limits() {
        let none = Cgroups {
            mounts: Vec::new(),
            agent: "a".into(),
            cores: 1,
        };
        let name: FullName = "gse/p".parse().unwrap();
        let runtime = Runtime {
            pids_max: Some(7),
            ..Runtime::default()
        };
        let (joins, why) = none.prepare(&name, &runtime);
        assert!(joins.is_empty());
        assert!(
            why.starts_with("hard limits are not available here: pids: "),
            "{why}"
        );
        assert_eq!(
            none.prepare(&name, &Runtime::default()),
            (vec![], String::new())
        );
    }
}
