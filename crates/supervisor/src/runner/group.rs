//! What is known of each process's control group: who is in it, whether its hard limits hold, and when it may go.

use super::{Held, Key, Runner};
use crate::machine::{Form, Phase, Run};
use crate::os::cgroup::{self, Cgroups, Group};
use crate::os::family::{Among, Whose};
use crate::os::procfs;

/// How many runs are remembered: the command, and what it became.
const MAX_KNOWN: usize = 4;

/// What of a held process is in which control group.
#[derive(Debug, Default)]
pub(crate) struct Grouped {
    /// Runs that are in the group of the process.
    inside: Vec<Run>,
    /// The last command that is in the group of commands.
    command: Option<Run>,
    /// The run that was looked for in the group.
    looked_at: Option<Run>,
    /// Groups were made for it and may be there.
    may_be_there: bool,
}

impl Grouped {
    /// Of a process that an earlier agent may have made groups for.
    pub(crate) fn unknown() -> Self {
        Self {
            may_be_there: true,
            ..Self::default()
        }
    }

    /// A start command was made in the group of its process.
    pub(crate) fn entered(&mut self, run: Run) {
        self.may_be_there = true;
        if self.inside.len() == MAX_KNOWN {
            self.inside.remove(0);
        }
        self.inside.push(run);
    }

    /// Its spec changed.
    pub(crate) fn look_again(&mut self) {
        self.looked_at = None;
    }

    /// Another command was made in the group of commands.
    pub(crate) fn commanded(&mut self, run: Run) {
        self.command = Some(run);
    }
}

impl Held {
    /// The group that all of this run's family is in, if it is so.
    pub(crate) fn group_of(&self, run: Run, cgroups: &Cgroups) -> Option<Group> {
        let name = &self.hold.name;
        let is_inside = self.grouped.inside.contains(&run) && !cgroups.has_strays(name);
        is_inside.then(|| cgroups.group(name)).flatten()
    }

    /// The family of one of its runs or commands, or of all that ever were.
    pub(crate) fn family(&self, root: Option<Run>, cgroups: &Cgroups) -> Whose<'_> {
        let name = &self.hold.name;
        let own = cgroups.group(name);
        let whole = root.and_then(|root| self.group_of(root, cgroups));
        let (own, among) = match (root, cgroups.commands()) {
            (Some(_), Some(_)) if whole.is_some() => (whole, Among::Nobody),
            (Some(root), Some(commands)) if self.grouped.command == Some(root) => {
                (None, Among::Group(commands))
            }
            (None, Some(commands)) if !cgroups.has_strays(name) => (own, Among::Group(commands)),
            (Some(_) | None, _) => (own, Among::Host),
        };
        Whose {
            root,
            is_ours: root.is_some() && root == self.started,
            runs: &self.watched,
            mark: &self.mark,
            own,
            among,
            found_for: root
                .filter(|root| is_daemon(self, *root))
                .map(|_| self.hold.spec.identity.user.as_str()),
        }
    }
}

/// Whether this run was found by its pid file, which its user may write.
fn is_daemon(held: &Held, run: Run) -> bool {
    let alive = held.process.alive();
    alive.is_some_and(|alive| alive.run == run && alive.form == Form::Daemon)
}

impl Runner {
    /// Looks once whether a run is in its group and has the hard limits of its spec, and removes groups that nothing is in
    /// any more.
    pub(super) fn mind_groups(&mut self, key: Key) {
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        let (name, runtime) = (&held.hold.name, &held.hold.spec.runtime);
        match &held.process.phase {
            Phase::Up { current } if held.grouped.looked_at != Some(current.alive.run) => {
                let alive = current.alive;
                held.grouped.looked_at = Some(alive.run);
                let pid = alive.run.pid;
                match self.cgroups.holds(name, pid) {
                    true if !held.grouped.inside.contains(&alive.run) => {
                        held.grouped.entered(alive.run);
                    }
                    // It has left its group, and others may have.
                    false if procfs::has_environment(pid, &held.mark.0).unwrap_or(true) => {
                        self.cgroups.found_stray(name);
                    }
                    true | false => {}
                }
                held.no_hard_limits = match self.cgroups.limit(name, runtime).1 {
                    why if !why.is_empty() => why,
                    _ if self.cgroups.limits_hold(name, runtime, alive.pid()) => String::new(),
                    _ => "hard limits hold from its next start on".to_owned(),
                };
            }
            Phase::Up { .. } if !cgroup::is_asked(runtime) => held.no_hard_limits.clear(),
            Phase::Unseen | Phase::Down if held.grouped.may_be_there => {
                held.grouped.may_be_there = !self.cgroups.tidy(name);
            }
            Phase::Up { .. }
            | Phase::Unseen
            | Phase::Down
            | Phase::Backoff { .. }
            | Phase::Lost { .. }
            | Phase::Working(_) => {}
        }
    }
}
