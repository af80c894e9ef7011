//! How many streams are open: bounded for each caller, so that one cannot take all the places, and bounded in all.

use std::collections::HashMap;
use std::sync::Arc;

use control::ControlError;
use locks::{Mutex, MutexGuard};
use model::access::Caller;

/// How many streams one app may have open, or one person without an app.
pub(crate) const MAX_PER_CALLER: usize = 64;
/// How many there may be in all.
const MAX_IN_ALL: usize = 2048;

#[derive(Debug, Clone, Default)]
pub(crate) struct Watchers(Arc<Mutex<HashMap<Who, usize>>>);

/// An app may name any user, so its users share its places.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Who {
    App(String),
    Person(String),
}

/// One stream's place; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    all: Watchers,
    who: Who,
}

impl Watchers {
    pub(crate) fn enter(&self, caller: &Caller) -> Result<Place, ControlError> {
        let who = match caller.app.is_empty() {
            true => Who::Person(caller.user.clone()),
            false => Who::App(caller.app.clone()),
        };
        let mut open = self.open();
        let n_own = open.get(&who).copied().unwrap_or_default();
        let n_all: usize = open.values().sum();
        if n_own >= MAX_PER_CALLER || n_all >= MAX_IN_ALL {
            let n = n_own.min(MAX_PER_CALLER);
            return Err(ControlError::Busy(format!(
                "too many streams are open, {n} of them yours: close one first"
            )));
        }
        *open.entry(who.clone()).or_default() += 1;
        Ok(Place {
            all: self.clone(),
            who,
        })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Who, usize>> {
        self.0.lock()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.all.open();
        if let Some(n) = open.get_mut(&self.who) {
            *n -= 1;
            if *n == 0 {
                open.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_with_all_its_places_taken_waits_for_one_and_others_do_not() {
        let watchers = Watchers::default();
        let one = Caller::system();
        let named = |user: &str| Caller {
            user: user.to_owned(),
            ..Caller::system()
        };
        let mut places: Vec<Place> = (0..MAX_PER_CALLER)
            .map(|n| watchers.enter(&named(&n.to_string())).unwrap())
            .collect();
        assert!(matches!(watchers.enter(&one), Err(ControlError::Busy(_))));
        let other = Caller {
            app: String::new(),
            ..one.clone()
        };
        let other = watchers.enter(&other).unwrap();
        places.pop();
        assert!(watchers.enter(&one).is_ok());
        drop((places, other));
        assert!(watchers.open().is_empty());
    }
}
