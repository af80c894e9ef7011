//! Removes groups that are no longer needed, as soon as they are empty.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use model::FullName;

use super::hierarchy::Hierarchy;
use super::{Cgroups, Group, leaf};

/// How long an empty group of another agent is left alone.
const NEW_FOR: Duration = Duration::from_secs(600);

impl Cgroups {
    /// Removes the empty groups of a process, and the agent's if that was the last. True when none is left.
    pub(crate) fn tidy(&self, name: &FullName) -> bool {
        let mut is_gone = true;
        for hierarchy in &self.hierarchies {
            let group = Group::at(hierarchy.at.join(self.below(&leaf(name))));
            match group.remove() {
                true => self.leave(hierarchy),
                false => is_gone &= !group.path().exists(),
            }
        }
        is_gone
    }

    /// A process was forgotten: its groups are removed when they are empty.
    pub(crate) fn forget(&mut self, name: &FullName) {
        if !self.tidy(name) {
            self.left_running.push(name.clone());
        }
    }

    /// Removes the groups of forgotten processes that are empty now.
    pub(crate) fn tidy_forgotten(&mut self, is_held: impl Fn(&FullName) -> bool) {
        let mut names = std::mem::take(&mut self.left_running);
        names.retain(|name| !is_held(name) && !self.tidy(name));
        self.left_running = names;
    }

    /// Removes the group of commands, if none runs.
    pub(crate) fn tidy_commands(&self) {
        if let (Some(home), Some(commands)) = (&self.home, self.commands()) {
            commands.remove();
            self.leave(home);
        }
    }

    /// Removes the groups that an earlier agent of this directory left for processes that are not held: empty ones now, the
    /// others when they are empty.
    pub(crate) fn tidy_unheld<'a>(&mut self, held: impl Iterator<Item = &'a FullName>) {
        let held: HashSet<String> = held.map(leaf).collect();
        for hierarchy in &self.hierarchies {
            let entries = fs::read_dir(hierarchy.at.join(self.ours()));
            for entry in entries.into_iter().flatten().flatten() {
                let leaf = entry.file_name().to_string_lossy().into_owned();
                let is_group = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if !is_group || held.contains(&leaf) || Group::at(entry.path()).remove() {
                    continue;
                }
                let name = leaf.split_once(':');
                let name = name
                    .and_then(|(namespace, name)| FullName::parse_registered(namespace, name).ok());
                self.left_running.extend(name);
            }
            self.leave(hierarchy);
        }
    }

    /// Removes the empty groups of other agents, which may be gone. An agent that still runs creates its groups again when it
    /// needs them; new ones are spared, because their first member may be about to enter.
    pub(crate) fn tidy_others(&self) {
        let Some(home) = &self.home else {
            return;
        };
        let entries = fs::read_dir(home.at.join("muster"));
        for entry in entries.into_iter().flatten().flatten() {
            let events = fs::read_to_string(entry.path().join("cgroup.events")).unwrap_or_default();
            let is_empty = events.lines().any(|line| line == "populated 0");
            if is_empty && *entry.file_name() != *self.agent && is_old(&entry.path()) {
                Group::at(entry.path()).remove();
            }
        }
    }

    /// Removes the agent's own group, and `muster`, if they are empty.
    fn leave(&self, hierarchy: &Hierarchy) {
        let ours = hierarchy.at.join(self.ours());
        if fs::remove_dir(&ours).is_ok() {
            let _ = fs::remove_dir(hierarchy.at.join("muster"));
        }
    }
}

/// Whether neither an agent's group nor one below it was created lately.
fn is_old(agent: &Path) -> bool {
    let entries = fs::read_dir(agent).into_iter().flatten().flatten();
    let below = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir());
    let age = |path: &Path| fs::metadata(path).ok()?.modified().ok()?.elapsed().ok();
    let mut all = below.chain([agent.to_owned()]);
    all.all(|path| age(&path).is_some_and(|age| age >= NEW_FOR))
}
