//! Limits open streams (watches, logs), for each caller and in all.

use std::sync::Arc;

use control::ControlError;
use locks::Mutex;
use model::access::Caller;

use crate::slots::SlotCounts;

/// How many streams one app may have open, or one user without an app.
pub(crate) const MAX_PER_CALLER: usize = 64;
/// How many there may be in all.
const MAX_IN_ALL: usize = 2048;

#[derive(Debug, Clone, Default)]
pub(crate) struct StreamSlots(Arc<Mutex<SlotCounts<StreamOwner>>>);

/// An app may name any user, so its users share its slots.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum StreamOwner {
    App(String),
    User(String),
}

/// One stream's slot; freed when it is dropped.
#[derive(Debug)]
pub(crate) struct StreamSlot {
    slots: StreamSlots,
    owner: StreamOwner,
}

impl StreamSlots {
    pub(crate) fn take(&self, caller: &Caller) -> Result<StreamSlot, ControlError> {
        let owner = match caller.app.is_empty() {
            true => StreamOwner::User(caller.user.clone()),
            false => StreamOwner::App(caller.app.clone()),
        };
        let mut counts = self.0.lock();
        let n_own = counts.of(&owner);
        if n_own >= MAX_PER_CALLER || counts.total() >= MAX_IN_ALL {
            return Err(ControlError::Busy(format!(
                "too many streams are open, {n_own} of them yours: close one first"
            )));
        }
        counts.add(owner.clone());
        Ok(StreamSlot {
            slots: self.clone(),
            owner,
        })
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.slots.0.lock().remove(&self.owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_without_a_free_slot_is_refused_and_others_are_not() {
        let slots = StreamSlots::default();
        let one = Caller::system();
        let named = |user: &str| Caller {
            user: user.to_owned(),
            ..Caller::system()
        };
        let mut taken: Vec<StreamSlot> = (0..MAX_PER_CALLER)
            .map(|n| slots.take(&named(&n.to_string())).unwrap())
            .collect();
        assert!(matches!(slots.take(&one), Err(ControlError::Busy(_))));
        let other = Caller {
            app: String::new(),
            ..one.clone()
        };
        let other = slots.take(&other).unwrap();
        taken.pop();
        assert!(slots.take(&one).is_ok());
        drop((taken, other));
        assert!(slots.0.lock().is_empty());
    }
}
