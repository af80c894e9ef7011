//! Interned process names: thousands of hosts run the same hundred.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use locks::Mutex;
use model::FullName;

#[derive(Debug, Default)]
pub(super) struct Names(Mutex<HashMap<FullName, Arc<SharedName>>>);

/// A name, also as the bytes that statuses carry.
#[derive(Debug)]
pub(super) struct SharedName {
    pub(super) full: FullName,
    pub(super) namespace: Bytes,
    pub(super) name: Bytes,
}

impl Names {
    /// The shared copy of this name: equal names have the same pointer.
    pub(super) fn keep(&self, name: FullName) -> Arc<SharedName> {
        let mut names = self.0.lock();
        if let Some(kept) = names.get(&name) {
            return kept.clone();
        }
        let kept = Arc::new(SharedName {
            namespace: Bytes::copy_from_slice(name.namespace.as_str().as_bytes()),
            name: Bytes::copy_from_slice(name.name.as_str().as_bytes()),
            full: name.clone(),
        });
        names.insert(name, kept.clone());
        kept
    }
}
