//! Instances: registered processes with an owner, linked through the columns, and their combined state.

use std::sync::Arc;

use model::State;
use model::change::ProcessId;
use model::topology::BkProcessId;

use super::put;
use crate::Fleet;

/// The combined state of a process's instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InstancesState {
    /// All of them, and there is at least one.
    pub(crate) run: bool,
    pub(crate) are_managed: bool,
    /// None was ever reported.
    pub(crate) are_unknown: bool,
    pub(crate) count: u32,
}

impl Fleet {
    /// Links an instance with its owner, whose state must be counted again.
    pub(crate) fn add_instance(&mut self, owner: BkProcessId, id: ProcessId) {
        let next = Arc::make_mut(&mut self.view)
            .first_instance
            .insert(owner.0, id);
        Arc::make_mut(&mut self.columns).set_next_of_owner(id, next);
    }

    pub(crate) fn drop_instance(&mut self, owner: BkProcessId, id: ProcessId) {
        let after = self.columns.next_of_owner(id);
        let before = self
            .instances_of(owner)
            .find(|other| self.columns.next_of_owner(*other) == Some(id));
        let columns = Arc::make_mut(&mut self.columns);
        let first_instance = &mut Arc::make_mut(&mut self.view).first_instance;
        match (before, after) {
            (Some(before), after) => columns.set_next_of_owner(before, after),
            (None, Some(after)) => drop(first_instance.insert(owner.0, after)),
            (None, None) => drop(first_instance.remove(owner.0)),
        }
        columns.set_next_of_owner(id, None);
        self.recount(owner);
    }

    /// The instances of a process of the view, newest first.
    pub fn instances_of(&self, owner: BkProcessId) -> impl Iterator<Item = ProcessId> + '_ {
        let mut next = self.view.first_instance.get(owner.0).copied();
        std::iter::from_fn(move || {
            let id = next?;
            next = self.columns.next_of_owner(id);
            Some(id)
        })
    }

    /// Updates the combined state after a change of an instance.
    pub(crate) fn recount(&mut self, owner: BkProcessId) {
        let together = self.together(owner);
        let view = &self.view;
        if view.processes.get(owner.0).is_none() {
            return;
        }
        view.running.set(owner.0, together.run);
        view.unregistered.set(owner.0, together.are_unknown);
        let is_surplus =
            together.count > view.expected_instances(owner) || view.has_vanished(owner);
        // Statuses change neither of the two.
        if view.managed.contains(owner.0) != together.are_managed
            || view.surplus.contains(owner.0) != is_surplus
        {
            let view = Arc::make_mut(&mut self.view);
            put(&mut view.managed, owner.0, together.are_managed);
            put(&mut view.surplus, owner.0, is_surplus);
        }
    }

    fn together(&self, owner: BkProcessId) -> InstancesState {
        let mut together = InstancesState {
            run: true,
            are_managed: true,
            are_unknown: true,
            count: 0,
        };
        for id in self.instances_of(owner) {
            let Some((block, at)) = self.columns.block(id) else {
                continue;
            };
            let state = block.observed.state(at);
            together.count += 1;
            together.run &= state == State::Running;
            together.are_managed &= block.managed(at);
            together.are_unknown &= state == State::Unknown;
        }
        together.run &= together.count > 0;
        together.are_managed &= together.count > 0;
        together
    }
}
