//! Control groups: one for each process, if the kernel offers them and the agent may create them.
//!
//! The cgroup v2 group of a process is `muster/AGENT/NAMESPACE:NAME` below the mount, whichever controllers exist. The
//! agent creates the start command inside it, so every descendant is in it, too. `family.rs` finds and kills members
//! there, `sample.rs` reads their usage.
//!
//! Hard limits are set where the controller is: in that group, or in a cgroup v1 group of the same name, which a command
//! joins only for them, because joining takes milliseconds. An agent that may create no groups, or is set to create none,
//! uses `/proc` alone and has no hard limits; the status of processes that want them says so.

mod group;
mod hierarchy;
mod limits;
mod oom;
mod strays;
mod tidy;

use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use model::FullName;
use model::kernel::{KernelFeature, KernelFeatures};
use model::spec::Runtime;

pub(crate) use group::{Group, GroupEntry};
use hierarchy::{Hierarchy, Version};
use limits::Setting;

use super::file_name::bounded;
use crate::ControlGroups;

/// The group of all commands but start commands; their leftovers are searched for here.
const COMMANDS: &str = "commands";
/// The group of all agents of a host.
pub(crate) const ALL_AGENTS: &str = "muster";

/// The control groups of this agent.
#[derive(Debug)]
pub(crate) struct Cgroups {
    hierarchies: Vec<Hierarchy>,
    /// The v2 hierarchy in which the agent may create groups.
    home: Option<Hierarchy>,
    agent: String,
    cores: u64,
    /// Why there are no hard limits, other than a missing controller.
    refusal: &'static str,
    /// Processes that may have members outside of their groups.
    strays: HashSet<FullName>,
    /// Forgotten processes whose groups were not empty.
    left_running: Vec<FullName>,
    /// For each hierarchy whether it may have groups of this agent. Most agents have none in v1, where only limits are set.
    may_have_groups: Vec<AtomicBool>,
}

/// The groups of a new command.
#[derive(Debug, Default)]
pub(crate) struct CommandGroups {
    /// It is created in this group.
    pub(crate) group: Option<GroupEntry>,
    /// The `cgroup.procs` of v1 groups that it must join before it is executed.
    pub(crate) joins: Vec<CString>,
}

/// A group that was made for a command.
#[derive(Debug)]
struct NewGroup {
    entry: GroupEntry,
    /// It did not exist before.
    is_new: bool,
}

/// For a hierarchy that is not listed.
static ANY_GROUPS: AtomicBool = AtomicBool::new(true);

/// Whether a spec has hard limits.
pub(crate) fn is_asked(runtime: &Runtime) -> bool {
    let settings = limits::settings(runtime, 1);
    settings.iter().any(|(_, value)| value.is_some())
}

/// What the agent lacks here for control groups.
pub(crate) fn missing(wanted: ControlGroups) -> KernelFeatures {
    let hierarchies = match wanted {
        ControlGroups::Auto => hierarchy::useful(),
        ControlGroups::Off => Vec::new(),
    };
    let mut two = hierarchies
        .iter()
        .filter(|hierarchy| hierarchy.version == Version::Two);
    // The same group in which the agents of this host create theirs; an empty one is in no one's way.
    let made = two.find_map(|hierarchy| hierarchy.make(Path::new(ALL_AGENTS), &[]).ok());
    let missing = match made {
        Some(at) if at.join("cgroup.kill").exists() => None,
        Some(_) => Some(KernelFeature::CgroupKill),
        None => Some(KernelFeature::ControlGroups),
    };
    missing.into_iter().collect()
}

/// Where v2 is mounted, whether a v1 hierarchy for limits is, and which controllers for limits both have.
pub(crate) fn mounted() -> (Option<PathBuf>, bool, Vec<&'static str>) {
    let hierarchies = hierarchy::useful();
    let two = hierarchies
        .iter()
        .find(|hierarchy| hierarchy.version == Version::Two);
    let one = hierarchies
        .iter()
        .any(|hierarchy| hierarchy.version == Version::One);
    let mut limits = vec!["memory", "cpu", "pids"];
    limits.retain(|name| hierarchies.iter().any(|hierarchy| hierarchy.controls(name)));
    (two.map(|two| two.at.clone()), one, limits)
}

impl Cgroups {
    pub(crate) fn find(agent: &str, wanted: ControlGroups) -> Self {
        let (hierarchies, refusal) = match wanted {
            ControlGroups::Auto => (hierarchy::useful(), ""),
            ControlGroups::Off => (Vec::new(), "the agent is set to use no control groups"),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut cgroups = Self {
            hierarchies,
            home: None,
            agent: agent.to_owned(),
            cores: cores as u64,
            refusal,
            strays: HashSet::new(),
            left_running: Vec::new(),
            may_have_groups: Vec::new(),
        };
        let ours = cgroups.ours();
        let exists = |hierarchy: &Hierarchy| hierarchy.at.join(&ours).exists();
        let exists = cgroups.hierarchies.iter().map(exists);
        cgroups.may_have_groups = exists.map(AtomicBool::new).collect();
        cgroups.home = cgroups.find_home();
        if cgroups.home.is_some() {
            cgroups.strays = strays::find(agent, |pid| cgroups.leaf_of(pid).is_some());
        }
        cgroups
    }

    /// Whether this process may have members outside of its groups.
    pub(crate) fn has_strays(&self, name: &FullName) -> bool {
        self.strays.contains(name)
    }

    pub(crate) fn found_stray(&mut self, name: &FullName) {
        if self.home.is_some() && !self.strays.contains(name) {
            self.strays.insert(name.clone());
        }
    }

    /// Every process with the mark of this process was killed.
    pub(crate) fn no_strays_any_more(&mut self, name: &FullName) {
        self.strays.remove(name);
    }

    fn find_home(&self) -> Option<Hierarchy> {
        let ours = self.ours();
        for hierarchy in &self.hierarchies {
            if hierarchy.version != Version::Two {
                continue;
            }
            match hierarchy.make(&ours, &[]) {
                Ok(at) => {
                    tracing::info!(at = %at.display(), "processes get control groups");
                    return Some(hierarchy.clone());
                }
                Err(error) => {
                    let at = hierarchy.at.display();
                    tracing::info!(%at, %error, "no control groups can be made: going by /proc");
                }
            }
        }
        None
    }

    /// `muster/AGENT`.
    fn ours(&self) -> PathBuf {
        Path::new(ALL_AGENTS).join(&self.agent)
    }

    fn below(&self, leaf: &str) -> PathBuf {
        self.ours().join(leaf)
    }

    /// The group of a process, if the agent can create groups.
    pub(crate) fn group(&self, name: &FullName) -> Option<Group> {
        let home = self.home.as_ref()?;
        Some(Group::at(home.at.join(self.below(&leaf(name)))))
    }

    /// The group of all commands but start commands.
    pub(crate) fn commands(&self) -> Option<Group> {
        let home = self.home.as_ref()?;
        Some(Group::at(home.at.join(self.below(COMMANDS))))
    }

    /// Creates the groups of a start command.
    pub(crate) fn for_process(&self, name: &FullName, runtime: &Runtime) -> CommandGroups {
        let group = self.make(&leaf(name), &["memory"]);
        // The status says which limits it lacks once it is up.
        let is_new = group.as_ref().is_some_and(|made| made.is_new);
        let (joins, _) = self.limit_group(name, runtime, is_new);
        CommandGroups {
            group: group.map(|made| made.entry),
            joins,
        }
    }

    /// Creates the group of any other command.
    pub(crate) fn for_command(&self) -> CommandGroups {
        CommandGroups {
            group: self.make(COMMANDS, &[]).map(|made| made.entry),
            joins: Vec::new(),
        }
    }

    /// Creates a group, with these controllers for accounting if possible. A command runs without one, too.
    fn make(&self, leaf: &str, accounts: &[&str]) -> Option<NewGroup> {
        let home = self.home.as_ref()?;
        let accounts = accounts.iter().copied();
        let accounts: Vec<&str> = accounts.filter(|name| home.controls(name)).collect();
        let below = self.below(leaf);
        // An empty group is created again: `cgroup.kill` may still act on it, and its counters start at zero.
        let group = Group::at(home.at.join(&below));
        let is_new = group.remove() || !group.path().exists();
        let made = home.make(&below, &accounts);
        let entry = made
            .or_else(|_| home.make(&below, &[]))
            .and_then(|at| Group::at(at).entry());
        match entry {
            Ok(entry) => Some(NewGroup { entry, is_new }),
            Err(error) => {
                let group = below.display();
                tracing::debug!(%group, %error, "a control group cannot be made");
                None
            }
        }
    }

    /// Sets the hard limits of a process. Returns the v1 groups to join for them, and a message about the limits that are not
    /// available, empty if all are.
    pub(crate) fn limit(&self, name: &FullName, runtime: &Runtime) -> (Vec<CString>, String) {
        self.limit_group(name, runtime, false)
    }

    /// The same; a new v2 group has no limits to lift.
    fn limit_group(
        &self,
        name: &FullName,
        runtime: &Runtime,
        is_new: bool,
    ) -> (Vec<CString>, String) {
        let mut joins: Vec<CString> = Vec::new();
        let mut lacks: Vec<String> = Vec::new();
        for setting in limits::settings(runtime, self.cores) {
            if setting.1.is_none() {
                self.lift(name, setting, is_new);
                continue;
            }
            match self.set(name, setting) {
                Ok(Some(procs)) if !joins.contains(&procs) => joins.push(procs),
                Ok(_) => {}
                Err(why) => lacks.push(format!("{}: {why}", setting.0.name())),
            }
        }
        let sentence = match (lacks.is_empty(), self.refusal) {
            (true, _) => String::new(),
            (false, "") => format!("hard limits are not available here: {}", lacks.join(", ")),
            (false, refusal) => format!("hard limits are not available here: {refusal}"),
        };
        (joins, sentence)
    }

    fn with(&self, controller: &str) -> Option<&Hierarchy> {
        let mut hierarchies = self.hierarchies.iter();
        hierarchies.find(|hierarchy| hierarchy.controls(controller))
    }

    /// The hierarchy with this controller, if it may have groups of this agent.
    fn used_with(&self, controller: &str) -> Option<&Hierarchy> {
        let hierarchy = self.with(controller)?;
        let is_used = match hierarchy.version {
            Version::Two => true,
            Version::One => self.may_have_groups(hierarchy).load(Ordering::Relaxed),
        };
        is_used.then_some(hierarchy)
    }

    fn may_have_groups(&self, hierarchy: &Hierarchy) -> &AtomicBool {
        let mut all = self.hierarchies.iter().zip(&self.may_have_groups);
        let found = all.find(|(known, _)| *known == hierarchy);
        found.map_or(&ANY_GROUPS, |(_, known)| known)
    }

    /// Sets one limit; returns the `cgroup.procs` to join in v1.
    fn set(&self, name: &FullName, setting: Setting) -> Result<Option<CString>, String> {
        let controller = setting.0.name();
        let hierarchy = self
            .with(controller)
            .ok_or("no control group with this controller is mounted")?;
        let below = self.below(&leaf(name));
        let failed = |what: &str, path: &Path, error: &io::Error| {
            let why = super::plain(error);
            format!("{} cannot be {what}: {why}", path.display())
        };
        let at = hierarchy
            .make(&below, &[controller])
            .map_err(|error| failed("made", &hierarchy.at.join(&below), &error))?;
        self.may_have_groups(hierarchy)
            .store(true, Ordering::Relaxed);
        for (file, value) in limits::files(hierarchy.version, setting) {
            let path = at.join(file);
            fs::write(&path, value).map_err(|error| failed("written", &path, &error))?;
        }
        match hierarchy.version {
            Version::Two => Ok(None),
            Version::One => CString::new(
                at.join("cgroup.procs")
                    .into_os_string()
                    .into_encoded_bytes(),
            )
            .map(Some)
            .map_err(|error| error.to_string()),
        }
    }

    /// Removes a limit from a group that may exist.
    fn lift(&self, name: &FullName, setting: Setting, is_new: bool) {
        let Some(hierarchy) = self.used_with(setting.0.name()) else {
            return;
        };
        if is_new && hierarchy.version == Version::Two {
            return;
        }
        let at = hierarchy.at.join(self.below(&leaf(name)));
        for (file, value) in limits::files(hierarchy.version, setting) {
            let path = at.join(file);
            if path.exists() {
                // The agent that set it can remove it.
                let _ = fs::write(path, value);
            }
        }
    }

    /// The v2 group of this agent that a process is in.
    pub(crate) fn leaf_of(&self, pid: i32) -> Option<String> {
        let home = self.home.as_ref()?;
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let leaf = leaf_in(&text, Version::Two, &self.agent)?;
        self.is_in(home, leaf, pid).then(|| leaf.to_owned())
    }

    /// Whether a group of the agent holds this process. Its path alone is no proof: a user with own groups can give them the
    /// same names.
    fn is_in(&self, hierarchy: &Hierarchy, leaf: &str, pid: i32) -> bool {
        let group = Group::at(hierarchy.at.join(self.below(leaf)));
        group.pids().is_ok_and(|pids| pids.contains(&pid))
    }

    /// Whether a process is in the v2 group of this name.
    pub(crate) fn holds(&self, name: &FullName, pid: i32) -> bool {
        let home = self.home.as_ref();
        home.is_some_and(|home| self.is_in(home, &leaf(name), pid))
    }

    /// Whether a process is in every group that has its hard limits.
    pub(crate) fn limits_hold(&self, name: &FullName, runtime: &Runtime, pid: i32) -> bool {
        if !is_asked(runtime) {
            return true;
        }
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let settings = limits::settings(runtime, self.cores).into_iter();
        let mut asked = settings.filter(|(_, value)| value.is_some());
        asked.all(|(controller, _)| {
            let leaf = leaf(name);
            self.with(controller.name()).is_some_and(|hierarchy| {
                leaf_in(&text, hierarchy.version, &self.agent) == Some(&leaf)
                    && self.is_in(hierarchy, &leaf, pid)
            })
        })
    }
}

/// The longest namespace or name in a group's name, in bytes: both and the colon fit into NAME_MAX.
const MAX_PART: usize = 127;

/// The name of a process's group: one component of a path, never `..` or a file of the group. Names may contain dots but
/// no colon, so the colon separates.
fn leaf(name: &FullName) -> String {
    let part = |text: &str| bounded(&text.replace(['/', '\n', '\0'], "_"), MAX_PART).into_owned();
    let (namespace, name) = (name.namespace.as_str(), name.name.as_str());
    format!("{}:{}", part(namespace), part(name))
}

/// The group of this agent in `/proc/PID/cgroup`: HIERARCHY:CONTROLLERS:PATH.
fn leaf_in<'a>(text: &'a str, version: Version, agent: &str) -> Option<&'a str> {
    let ours = format!("/muster/{agent}/");
    text.lines().find_map(|line| {
        let (path, of) = match line.strip_prefix("0::") {
            Some(path) => (path, Version::Two),
            None => (line.splitn(3, ':').nth(2)?, Version::One),
        };
        let (_, rest) = path.split_once(&ours)?;
        // A process may have created groups below its own.
        (of == version).then(|| rest.split('/').next().unwrap_or(rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_controller_is_named_in_the_message() {
        let none = Cgroups {
            hierarchies: Vec::new(),
            home: None,
            agent: "a".into(),
            cores: 1,
            refusal: "",
            strays: HashSet::new(),
            left_running: Vec::new(),
            may_have_groups: Vec::new(),
        };
        let name: FullName = "gse/p".parse().unwrap();
        let runtime = Runtime {
            pids_max: Some(7),
            ..Runtime::default()
        };
        let (joins, why) = none.limit(&name, &runtime);
        assert!(joins.is_empty());
        assert!(
            why.starts_with("hard limits are not available here: pids: "),
            "{why}"
        );
        assert_eq!(
            none.limit(&name, &Runtime::default()),
            (vec![], String::new())
        );
        let off = Cgroups::find("a", ControlGroups::Off);
        let message =
            "hard limits are not available here: the agent is set to use no control groups";
        assert_eq!(off.limit(&name, &runtime).1, message);
        assert_eq!(off.group(&name), None);
    }

    #[test]
    fn a_group_name_is_one_path_component_whatever_the_process_name() {
        let long = "ü".repeat(60);
        for name in ["...", "..", ".", "-", "cgroup.procs", long.as_str()] {
            let Ok(name) = FullName::parse(name, name) else {
                continue;
            };
            let leaf = leaf(&name);
            let parts: Vec<_> = Path::new(&leaf).components().collect();
            assert!(
                matches!(parts[..], [std::path::Component::Normal(part)] if part == leaf.as_str()),
                "{leaf}"
            );
            assert!(leaf.len() <= 255 && leaf.contains(':'), "{leaf}");
        }
        let named = |name: &str| leaf(&FullName::parse(&"n".repeat(128), name).unwrap());
        let (a, b) = (
            named(&format!("{}a", "x".repeat(127))),
            named(&format!("{}b", "x".repeat(127))),
        );
        assert_eq!((a.len(), b.len()), (255, 255));
        assert_ne!(a, b);
    }

    #[test]
    fn a_users_group_with_the_agents_name_is_not_the_agents() {
        let at = tempfile::tempdir().unwrap();
        let home = Hierarchy {
            version: Version::Two,
            at: at.path().to_owned(),
            controllers: Vec::new(),
        };
        let cgroups = Cgroups {
            hierarchies: vec![home.clone()],
            home: Some(home.clone()),
            agent: "a".into(),
            cores: 1,
            refusal: "",
            strays: HashSet::new(),
            left_running: Vec::new(),
            may_have_groups: Vec::new(),
        };
        let ours = at.path().join("muster/a/gse:p");
        let theirs = at.path().join("user.slice/muster/a/gse:p");
        for (group, pid) in [(&ours, "7\n"), (&theirs, "8\n")] {
            fs::create_dir_all(group).unwrap();
            fs::write(group.join("cgroup.procs"), pid).unwrap();
        }
        assert!(cgroups.is_in(&home, "gse:p", 7));
        assert!(!cgroups.is_in(&home, "gse:p", 8));
    }

    #[test]
    fn a_group_is_read_from_the_file_of_a_process() {
        let text = "8:pids:/muster/a-1/gse:p\n4:memory:/\n0::/x/muster/a-1/gse:q/below\n";
        assert_eq!(leaf_in(text, Version::One, "a-1"), Some("gse:p"));
        assert_eq!(leaf_in(text, Version::Two, "a-1"), Some("gse:q"));
        assert_eq!(leaf_in(text, Version::Two, "a-2"), None);
        assert_eq!(leaf_in("0::/\n", Version::Two, "a-1"), None);
    }
}
