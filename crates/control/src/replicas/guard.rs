//! The peers, locked. Whoever has them locked must not ask for the fleet: those who have the fleet ask for the peers, and both
//! would wait for ever. Builds for tests notice it at once, whether somebody else waits or not.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::MutexGuard;

use super::peers::Peers;

thread_local! {
    static LOCKED: Cell<bool> = const { Cell::new(false) };
}

#[derive(Debug)]
pub(super) struct PeersGuard<'a>(MutexGuard<'a, Peers>);

impl<'a> PeersGuard<'a> {
    pub(super) fn new(peers: MutexGuard<'a, Peers>) -> Self {
        LOCKED.set(true);
        Self(peers)
    }
}

impl Drop for PeersGuard<'_> {
    fn drop(&mut self) {
        LOCKED.set(false);
    }
}

impl Deref for PeersGuard<'_> {
    type Target = Peers;

    fn deref(&self) -> &Peers {
        &self.0
    }
}

impl DerefMut for PeersGuard<'_> {
    fn deref_mut(&mut self) -> &mut Peers {
        &mut self.0
    }
}

/// Called before the fleet is locked.
pub(crate) fn fleet_comes_first() {
    debug_assert!(
        !LOCKED.get(),
        "the fleet is asked for while the peers are locked"
    );
}
