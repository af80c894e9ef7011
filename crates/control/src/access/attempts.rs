//! Rate limits for logins, so that guessing a password takes long. Memory is bounded, whatever is tried.
//!
//! Each try counts against three limits: one user from one address (stops guessing one password), one address (stops trying
//! many names), and one user from anywhere (slows many addresses down). The last is generous, because others could use it to
//! lock a user out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use locks::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::rate_limit::{RateLimit, network};

/// How many users and addresses are tracked.
const MAX_KEPT: usize = 16 * 1024;
/// The longest name that is tracked; no user has a longer one.
const MAX_NAME: usize = 64;

const USER_FROM_ADDRESS: RateLimit = RateLimit {
    burst: 5,
    every: Duration::from_secs(12),
};
const ADDRESS: RateLimit = RateLimit {
    burst: 20,
    every: Duration::from_secs(3),
};
const USER: RateLimit = RateLimit {
    burst: 60,
    every: Duration::from_secs(1),
};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Who {
    UserFromAddress(Box<str>, Option<IpAddr>),
    Address(IpAddr),
    User(Box<str>),
}

impl Who {
    fn limit(&self) -> RateLimit {
        match self {
            Self::UserFromAddress(..) => USER_FROM_ADDRESS,
            Self::Address(_) => ADDRESS,
            Self::User(_) => USER,
        }
    }
}

/// When each bucket is full again.
#[derive(Debug, Default)]
pub(crate) struct Attempts(Mutex<HashMap<Who, Instant>>);

impl Attempts {
    /// Spends one try; the error is how long to wait for the next.
    pub(crate) fn begin(
        &self,
        name: &str,
        from: Option<IpAddr>,
        now: Instant,
    ) -> Result<(), Duration> {
        let mut kept = self.kept();
        let spent: Vec<(Who, Instant)> = who(name, from)
            .into_iter()
            .map(|who| {
                let full_at = who.limit().spend(kept.get(&who).copied(), now)?;
                Ok((who, full_at))
            })
            .collect::<Result<_, Duration>>()?;
        if kept.len() + spent.len() > MAX_KEPT {
            forget(&mut kept, now);
        }
        kept.extend(spent);
        Ok(())
    }

    /// A right password gives its try back, and clears the count of that user from that address.
    pub(crate) fn succeeded(&self, name: &str, from: Option<IpAddr>) {
        let mut kept = self.kept();
        for who in who(name, from) {
            match &who {
                Who::UserFromAddress(..) => {
                    kept.remove(&who);
                }
                Who::Address(_) | Who::User(_) => {
                    let every = who.limit().every;
                    if let Some(full_at) = kept.get_mut(&who) {
                        *full_at = full_at.checked_sub(every).unwrap_or(*full_at);
                    }
                }
            }
        }
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<Who, Instant>> {
        self.0.lock()
    }
}

fn who(name: &str, from: Option<IpAddr>) -> Vec<Who> {
    let name: Box<str> = name.chars().take(MAX_NAME).collect::<String>().into();
    let from = from.map(network);
    let mut all = vec![
        Who::UserFromAddress(name.clone(), from),
        Who::User(name.clone()),
    ];
    all.extend(from.map(Who::Address));
    all
}

/// Makes room: drops entries without a count, then, if that is not enough, the half with the lowest counts.
fn forget(kept: &mut HashMap<Who, Instant>, now: Instant) {
    kept.retain(|_, full_at| *full_at > now);
    if kept.len() > MAX_KEPT / 2 {
        let mut times: Vec<Instant> = kept.values().copied().collect();
        let middle = times.len() / 2;
        let (_, median, _) = times.select_nth_unstable(middle);
        let median = *median;
        kept.retain(|_, full_at| *full_at > median);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(n: u32) -> Option<IpAddr> {
        Some(IpAddr::V4(n.into()))
    }

    /// How many tries in a row are allowed, and how long the next has to wait.
    fn tries(begin: impl Fn(u32) -> Result<(), Duration>) -> (u32, Duration) {
        for n in 0.. {
            if let Err(wait) = begin(n) {
                return (n, wait);
            }
        }
        unreachable!("there is an end")
    }

    #[test]
    fn guessing_is_slowed_for_that_user_and_address_only() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        let (n, wait) = tries(|_| attempts.begin("ada", from(1), now));
        assert_eq!((n, wait), (5, Duration::from_secs(12)));
        assert!(attempts.begin("ada", from(2), now).is_ok());
        assert!(attempts.begin("bob", from(1), now).is_ok());
        let later = now + Duration::from_secs(12);
        assert!(attempts.begin("ada", from(1), later).is_ok());
        assert!(attempts.begin("ada", from(1), later).is_err());
    }

    #[test]
    fn many_names_from_one_address_and_many_addresses_for_one_name_are_slowed() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        let (n, _) = tries(|n| attempts.begin(&format!("user-{n}"), from(1), now));
        assert_eq!(n, 20);
        let (n, wait) = tries(|n| attempts.begin("ada", from(100 + n), now));
        assert_eq!((n, wait), (60, Duration::from_secs(1)));
        // A /64 counts as one address.
        let attempts = Attempts::default();
        let (n, _) = tries(|n| {
            let address = format!("2001:db8::{n}").parse().unwrap();
            attempts.begin("ada", Some(address), now)
        });
        assert_eq!(n, 5);
    }

    #[test]
    fn right_passwords_do_not_count() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for _ in 0..1000 {
            attempts.begin("ada", from(1), now).unwrap();
            attempts.succeeded("ada", from(1));
        }
    }

    #[test]
    fn memory_is_bounded_and_drops_the_lowest_counts_first() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for n in 0..4 {
            attempts.begin("ada", from(n), now).unwrap();
        }
        let (n, _) = tries(|_| attempts.begin("eve", from(9), now));
        assert_eq!(n, 5);
        for n in 0..3 * MAX_KEPT as u32 {
            attempts
                .begin(&format!("user-{n}"), from(1_000_000 + n), now)
                .unwrap();
            assert!(attempts.kept().len() <= MAX_KEPT);
        }
        assert!(attempts.begin("eve", from(9), now).is_err());
    }
}
