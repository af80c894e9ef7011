//! Which family to search for, among which runs; the same on the real and the fake host.

use model::FullName;

use super::cgroup::Group;
use super::exits::Exits;
use super::observe_error::ObserveError;
use crate::machine::Run;

/// The variables that mark each command of a process in its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark(pub(crate) Vec<String>);

impl Mark {
    pub(crate) fn new(agent: &str, name: &FullName) -> Self {
        Self(vec![
            format!("MUSTER_NAMESPACE={}", name.namespace),
            format!("MUSTER_NAME={}", name.name),
            format!("MUSTER_AGENT={agent}"),
        ])
    }

    /// A mark that no process has: an environment holds no NUL.
    pub(crate) fn none() -> Self {
        Self(vec!["\0".to_owned()])
    }
}

/// Which family to search for.
#[derive(Debug, Clone)]
pub(crate) struct FamilyQuery<'a> {
    /// The run or command that started it; `None` for all runs and commands of the process.
    pub(crate) root: Option<Run>,
    /// This agent process started the root.
    pub(crate) is_ours: bool,
    /// The runs of this process that are watched.
    pub(crate) runs: &'a [Run],
    pub(crate) mark: &'a Mark,
    /// A control group whose members all belong to the family.
    pub(crate) own: Option<Group>,
    pub(crate) among: SearchScope,
    /// The user of a root that was found by its pid file: only processes that this user could kill are killed, unless they
    /// are in the process's own group. `None` if the agent started the root.
    pub(crate) found_for: Option<&'a str>,
}

/// Where to search for members outside of the family's own group.
#[derive(Debug, Clone)]
pub(crate) enum SearchScope {
    /// Anywhere on the host.
    Host,
    /// In this control group, which has other members, too.
    Group(Group),
    /// Nowhere: there are none.
    Nothing,
}

/// The watched runs of all held processes.
#[derive(Clone, Copy)]
pub(crate) struct WatchedRuns<'a> {
    pub(crate) exits: &'a Exits,
    /// Whether a watched run belongs to another held process.
    pub(crate) is_of_another: &'a dyn Fn(Run) -> bool,
}

/// Why a family was not killed.
#[derive(Debug)]
pub(crate) enum KillError {
    /// The agent may not kill its root.
    Refused(String),
    /// Whether members are left is not known.
    Unknown(ObserveError),
}
