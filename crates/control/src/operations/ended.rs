//! How a target ended, with what a dialect has written of it: callers poll a task until its last target has ended, and each
//! poll tells all of those before it.

use std::ops::Deref;
use std::sync::OnceLock;

use model::Outcome;
use serde_json::value::RawValue;

#[derive(Debug)]
pub struct EndedTarget {
    outcome: Outcome,
    written: OnceLock<Box<RawValue>>,
}

impl EndedTarget {
    /// What was kept of it before.
    pub fn written(&self) -> Option<&RawValue> {
        self.written.get().map(Box::as_ref)
    }

    /// An outcome never changes, so this stays true; a later outcome has another `EndedTarget`.
    pub fn keep_written(&self, written: Box<RawValue>) -> &RawValue {
        self.written.get_or_init(|| written)
    }
}

impl From<Outcome> for EndedTarget {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            written: OnceLock::new(),
        }
    }
}

impl Deref for EndedTarget {
    type Target = Outcome;

    fn deref(&self) -> &Outcome {
        &self.outcome
    }
}
