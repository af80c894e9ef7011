//! Names of processes, each kept once: a thousand hosts run the same hundred.

use std::collections::HashSet;
use std::sync::Arc;

use locks::Mutex;
use model::FullName;

#[derive(Debug, Default)]
pub(super) struct Names(Mutex<HashSet<Arc<FullName>>>);

impl Names {
    /// The one copy of this name: equal names are the same pointer.
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
