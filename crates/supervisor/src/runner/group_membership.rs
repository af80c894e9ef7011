//! Each process's control group: which runs are in it, whether its hard limits apply, and when it can be removed.

use super::{Key, Runner, SupervisedProcess};
use crate::machine::{Form, Phase, Run};
use crate::os::cgroup::{self, Cgroups, Group};
use crate::os::family::{FamilyQuery, SearchScope};
use crate::os::procfs;

/// How many runs are remembered: the command, and the program that it became.
const MAX_KNOWN: usize = 4;

/// The message about a run that is not in the groups that limit it.
pub(crate) const LIMITS_FROM_NEXT_START: &str = "hard limits hold from its next start on";

/// Which runs and commands of a process are in which control group.
#[derive(Debug, Default)]
pub(crate) struct GroupMembership {
    /// Runs that are in the group of the process.
    inside: Vec<Run>,
    /// The last command that is in the group of commands.
    command: Option<Run>,
    /// The run whose membership was checked.
    looked_at: Option<Run>,
    /// Groups were made for it and may still exist.
    may_be_there: bool,
}

impl GroupMembership {
    /// For a process of an earlier agent, which may have made groups for it.
    pub(crate) fn unknown() -> Self {
        Self {
            may_be_there: true,
            ..Self::default()
        }
    }

    /// A start command was created in the group of its process.
    pub(crate) fn entered(&mut self, run: Run) {
        self.may_be_there = true;
        if self.inside.len() == MAX_KNOWN {
            self.inside.remove(0);
        }
        self.inside.push(run);
    }

    /// Its spec changed: check membership again.
    pub(crate) fn look_again(&mut self) {
        self.looked_at = None;
    }

    /// Another command was created in the group of commands.
    pub(crate) fn commanded(&mut self, run: Run) {
        self.command = Some(run);
    }
}

impl SupervisedProcess {
    /// The group that holds all of this run's family, if it has left none outside.
    pub(crate) fn group_of(&self, run: Run, cgroups: &Cgroups) -> Option<Group> {
        let name = &self.registration.name;
        let is_inside = self.group_membership.inside.contains(&run) && !cgroups.has_strays(name);
        is_inside.then(|| cgroups.group(name)).flatten()
    }

    /// The family of one of its runs or commands, or of all of them.
    pub(crate) fn family(&self, root: Option<Run>, cgroups: &Cgroups) -> FamilyQuery<'_> {
        let name = &self.registration.name;
        let own = cgroups.group(name);
        let whole = root.and_then(|root| self.group_of(root, cgroups));
        let (own, among) = match (root, cgroups.commands()) {
            (Some(_), Some(_)) if whole.is_some() => (whole, SearchScope::Nothing),
            (Some(root), Some(commands)) if self.group_membership.command == Some(root) => {
                (None, SearchScope::Group(commands))
            }
            (None, Some(commands)) if !cgroups.has_strays(name) => {
                (own, SearchScope::Group(commands))
            }
            (Some(_) | None, _) => (own, SearchScope::Host),
        };
        FamilyQuery {
            root,
            is_ours: root.is_some() && root == self.started,
            runs: &self.watched,
            mark: &self.mark,
            own,
            among,
            found_for: root
                .filter(|root| is_daemon(self, *root))
                .map(|_| self.registration.spec.identity.user.as_str()),
        }
    }
}

/// Whether this run was found by its pid file, which its user can write.
fn is_daemon(held: &SupervisedProcess, run: Run) -> bool {
    let alive = held.process.alive();
    alive.is_some_and(|alive| alive.run == run && alive.form == Form::Daemon)
}

impl Runner {
    /// Checks once whether a run is in its group with the hard limits of its spec, and removes empty groups.
    pub(super) fn update_groups(&mut self, key: Key) {
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        let (name, runtime) = (&held.registration.name, &held.registration.spec.runtime);
        match &held.process.phase {
            Phase::Up { current } if held.group_membership.looked_at != Some(current.alive.run) => {
                let alive = current.alive;
                held.group_membership.looked_at = Some(alive.run);
                let pid = alive.run.pid;
                match self.cgroups.holds(name, pid) {
                    true if !held.group_membership.inside.contains(&alive.run) => {
                        held.group_membership.entered(alive.run);
                    }
                    // It has left its group, and other members may have.
                    false if procfs::has_environment(pid, &held.mark.0).unwrap_or(true) => {
                        self.cgroups.found_stray(name);
                    }
                    true | false => {}
                }
                held.no_hard_limits = match self.cgroups.limit(name, runtime).1 {
                    why if !why.is_empty() => why,
                    _ if self.cgroups.limits_hold(name, runtime, alive.pid()) => String::new(),
                    _ => LIMITS_FROM_NEXT_START.to_owned(),
                };
            }
            Phase::Up { .. } if !cgroup::is_asked(runtime) => held.no_hard_limits.clear(),
            Phase::Unobserved | Phase::Down if held.group_membership.may_be_there => {
                held.group_membership.may_be_there = !self.cgroups.tidy(name);
            }
            Phase::Up { .. }
            | Phase::Unobserved
            | Phase::Down
            | Phase::Backoff { .. }
            | Phase::Lost { .. }
            | Phase::Working(_) => {}
        }
    }
}
