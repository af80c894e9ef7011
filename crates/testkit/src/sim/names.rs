//! Interned process names: thousands of hosts run the same hundred.

use std::collections::HashSet;
use std::sync::Arc;

use locks::Mutex;
use model::FullName;

#[derive(Debug, Default)]
pub(super) struct Names(Mutex<HashSet<Arc<FullName>>>);

impl Names {
    /// The shared copy of this name: equal names have the same pointer.
    pub(super) fn keep(&self, name: FullName) -> Arc<FullName> {
        let mut names = self.0.lock();
        if let Some(kept) = names.get(&name) {
            return kept.clone();
        }
        let kept = Arc::new(name);
        names.insert(kept.clone());
        kept
    }
}
