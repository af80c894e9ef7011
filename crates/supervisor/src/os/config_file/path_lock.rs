//! Locks paths: one writer per file at a time.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex};

const NO_PANIC: &str = "nothing under this lock panics";

#[derive(Debug, Default)]
pub(super) struct PathLocks {
    taken: Mutex<HashSet<PathBuf>>,
    freed: Condvar,
}

/// Locks a path until it is dropped.
pub(super) struct PathLock<'a> {
    locks: &'a PathLocks,
    path: &'a Path,
}

impl PathLocks {
    /// Waits until no other writer has it.
    pub(super) fn take<'a>(&'a self, path: &'a Path) -> PathLock<'a> {
        let taken = self.taken.lock().expect(NO_PANIC);
        let mut taken = self
            .freed
            .wait_while(taken, |taken| taken.contains(path))
            .expect(NO_PANIC);
        taken.insert(path.to_owned());
        PathLock { locks: self, path }
    }
}

impl Drop for PathLock<'_> {
    fn drop(&mut self) {
        let mut taken = self.locks.taken.lock().expect(NO_PANIC);
        taken.remove(self.path);
        self.locks.freed.notify_all();
    }
}
