//! One fleet that is changed, and its latest snapshot that is read.
//!
//! Readers take the snapshot and hold no lock; a writer holds the fleet, and publishes the next snapshot when it is done. What
//! a writer has released is in every snapshot that is taken afterwards.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use arc_swap::ArcSwap;
use locks::{Mutex, MutexGuard};

use crate::Fleet;

#[derive(Debug)]
pub struct SharedFleet<const RANK: u8> {
    fleet: Mutex<Fleet, RANK>,
    published: ArcSwap<Fleet>,
}

impl<const RANK: u8> SharedFleet<RANK> {
    pub fn new(fleet: Fleet) -> Self {
        Self {
            published: ArcSwap::from_pointee(fleet.snapshot()),
            fleet: Mutex::ranked(fleet),
        }
    }

    /// The fleet as of the last change. What is committed later is not in it; statuses and signs of life are.
    pub fn read(&self) -> Arc<Fleet> {
        self.published.load_full()
    }

    /// Whether another thread is changing the fleet, so that [`Self::write`] would block.
    pub fn is_busy(&self) -> bool {
        self.fleet.is_held()
    }

    /// The fleet itself. Readers see the changes, all at once, when the guard is dropped.
    pub fn write(&self) -> FleetGuard<'_> {
        FleetGuard {
            fleet: self.fleet.lock(),
            published: &self.published,
        }
    }
}

/// The right to change the fleet.
#[derive(Debug)]
pub struct FleetGuard<'a> {
    fleet: MutexGuard<'a, Fleet>,
    published: &'a ArcSwap<Fleet>,
}

impl FleetGuard<'_> {
    /// Shows readers the changes so far, for a writer that holds other locks, too.
    pub fn publish(&self) {
        if !self.fleet.is_shown_by(&self.published.load()) {
            self.published.store(Arc::new(self.fleet.snapshot()));
        }
    }
}

impl Deref for FleetGuard<'_> {
    type Target = Fleet;

    fn deref(&self) -> &Fleet {
        &self.fleet
    }
}

impl DerefMut for FleetGuard<'_> {
    fn deref_mut(&mut self) -> &mut Fleet {
        &mut self.fleet
    }
}

impl Drop for FleetGuard<'_> {
    fn drop(&mut self) {
        // After a panic the process ends instead.
        if !std::thread::panicking() {
            self.publish();
        }
    }
}

impl Fleet {
    /// Shares every part with the fleet.
    fn snapshot(&self) -> Self {
        Self {
            revision: self.revision,
            hosts: self.hosts.clone(),
            names: self.names.clone(),
            definitions: self.definitions.clone(),
            columns: self.columns.clone(),
            process_labels: self.process_labels.clone(),
            host_labels: self.host_labels.clone(),
            groups: self.groups.clone(),
            view: self.view.clone(),
            unsaved: Default::default(),
        }
    }

    /// Whether a snapshot has every change: a part that was changed since is another.
    fn is_shown_by(&self, snapshot: &Self) -> bool {
        self.revision == snapshot.revision
            && Arc::ptr_eq(&self.hosts, &snapshot.hosts)
            && Arc::ptr_eq(&self.names, &snapshot.names)
            && Arc::ptr_eq(&self.definitions, &snapshot.definitions)
            && Arc::ptr_eq(&self.columns, &snapshot.columns)
            && Arc::ptr_eq(&self.process_labels, &snapshot.process_labels)
            && Arc::ptr_eq(&self.host_labels, &snapshot.host_labels)
            && Arc::ptr_eq(&self.groups, &snapshot.groups)
            && Arc::ptr_eq(&self.view, &snapshot.view)
    }
}
