//! Which parts of the server are not ready yet, and why.

use std::collections::BTreeMap;
use std::sync::Arc;

use locks::RwLock;

/// Ready until a part says that it is not. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<RwLock<BTreeMap<&'static str, String>>>);

impl Readiness {
    /// Records that a part is not ready, and why.
    pub fn wait_for(&self, part: &'static str, why: impl Into<String>) {
        let mut parts = self.0.write();
        parts.insert(part, why.into());
    }

    /// Records that a part is ready.
    pub fn ready(&self, part: &'static str) {
        let mut parts = self.0.write();
        parts.remove(part);
    }

    /// The parts that are not ready, and why.
    pub fn reasons(&self) -> BTreeMap<&'static str, String> {
        self.0.read().clone()
    }
}
