//! Mounted cgroup hierarchies, and creating groups in them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How often creating a group is tried: another agent on this host may remove an empty `muster` in between.
const TRIES: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// A mounted hierarchy with its controllers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub(super) version: Version,
    pub(super) at: PathBuf,
    pub(super) controllers: Vec<String>,
}

/// The hierarchies that the agent uses: v2, and v1 hierarchies with a controller for limits.
pub(super) fn useful() -> Vec<Hierarchy> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut all = parse(&text, |at| {
        let listed = fs::read_to_string(at.join("cgroup.controllers"));
        listed.unwrap_or_default()
    });
    let limits = |hierarchy: &Hierarchy| {
        let mut wanted = ["memory", "cpu", "pids"].into_iter();
        wanted.any(|controller| hierarchy.controls(controller))
    };
    all.retain(|hierarchy| hierarchy.version == Version::Two || limits(hierarchy));
    all
}

impl Hierarchy {
    pub(super) fn controls(&self, controller: &str) -> bool {
        self.controllers.iter().any(|known| known == controller)
    }

    /// Creates a group and its parents; in v2 enables these controllers for it.
    pub(super) fn make(&self, below: &Path, controllers: &[&str]) -> io::Result<PathBuf> {
        // But for the first time its parents are there, and hand these controllers down.
        let at = self.at.join(below);
        if fs::create_dir(&at).is_ok() && self.has_controllers(&at, controllers) {
            return Ok(at);
        }
        let mut made = self.try_make(below, controllers);
        for _ in 1..TRIES {
            match &made {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    made = self.try_make(below, controllers);
                }
                Ok(_) | Err(_) => break,
            }
        }
        made
    }

    /// Whether a new group has these controllers, as far as one of their files shows it.
    fn has_controllers(&self, at: &Path, controllers: &[&str]) -> bool {
        let has = |controller: &&str| match *controller {
            "memory" => at.join("memory.max").exists(),
            "cpu" => at.join("cpu.max").exists(),
            "pids" => at.join("pids.max").exists(),
            _ => false,
        };
        self.version == Version::One || controllers.iter().all(has)
    }

    fn try_make(&self, below: &Path, controllers: &[&str]) -> io::Result<PathBuf> {
        let mut at = self.at.clone();
        for part in below {
            if self.version == Version::Two {
                hand_down(&at, controllers)?;
            }
            at.push(part);
            match fs::create_dir(&at) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(at)
    }
}

fn hand_down(at: &Path, controllers: &[&str]) -> io::Result<()> {
    if controllers.is_empty() {
        return Ok(());
    }
    let control = at.join("cgroup.subtree_control");
    let listed = fs::read_to_string(&control)?;
    for controller in controllers {
        if !listed.split_whitespace().any(|known| known == *controller) {
            fs::write(&control, format!("+{controller}"))?;
        }
    }
    Ok(())
}

/// Reads `/proc/self/mountinfo`: ID PARENT DEVICE ROOT POINT OPTIONS … - TYPE SOURCE SUPER-OPTIONS.
fn parse(text: &str, controllers_of: impl Fn(&Path) -> String) -> Vec<Hierarchy> {
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
        found.push(Hierarchy {
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
        let found = parse(text, |_| "memory pids\n".to_owned());
        let shown: Vec<_> = found
            .iter()
            .map(|hierarchy| (hierarchy.version, hierarchy.controllers.join(",")))
            .collect();
        assert_eq!(
            shown,
            [
                (Version::One, "rw,cpu,cpuacct".to_owned()),
                (Version::Two, "memory,pids".to_owned())
            ]
        );
    }
}
