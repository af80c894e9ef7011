//! One writer of a file at a time.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex};

const NO_PANIC: &str = "nothing under this lock panics";

#[derive(Debug, Default)]
pub(super) struct Turns {
    taken: Mutex<HashSet<PathBuf>>,
    freed: Condvar,
}

/// Held while a file is being written.
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    path: &'a Path,
}

impl Turns {
    /// Waits until nobody else writes it.
    pub(super) fn take<'a>(&'a self, path: &'a Path) -> Turn<'a> {
        let taken = self.taken.lock().expect(NO_PANIC);
        let mut taken = self
            .freed
            .wait_while(taken, |taken| taken.contains(path))
            .expect(NO_PANIC);
        taken.insert(path.to_owned());
        Turn { turns: self, path }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut taken = self.turns.taken.lock().expect(NO_PANIC);
        taken.remove(self.path);
        self.turns.freed.notify_all();
    }
}
