//! Who has tried to log in and failed, so that guessing takes long. Bounded, whatever is tried.
//!
//! Three allowances count, and each try spends from all of them: one user from one address, which stops somebody who
//! guesses; one address, which stops one who tries many names; and one user from anywhere, which slows many addresses
//! down. The last is generous, because it is the only one by which others can keep a user out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use locks::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::rate_limit::{RateLimit, network};

/// How many users and addresses are remembered.
const MAX_KEPT: usize = 16 * 1024;
/// The longest name that is remembered; a longer one is nobody's.
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

/// When everything that was spent will be there again, of whoever has spent something.
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

    /// A right password costs nothing, and settles what that user spent from there.
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

/// Makes room: those who have everything again, and if that is not enough, the half who have most.
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
    fn one_who_guesses_waits_and_others_do_not() {
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
        // One network of IPv6 is one address.
        let attempts = Attempts::default();
        let (n, _) = tries(|n| {
            let address = format!("2001:db8::{n}").parse().unwrap();
            attempts.begin("ada", Some(address), now)
        });
        assert_eq!(n, 5);
    }

    #[test]
    fn right_passwords_cost_nothing() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for _ in 0..1000 {
            attempts.begin("ada", from(1), now).unwrap();
            attempts.succeeded("ada", from(1));
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_those_who_guess_most_are_kept_longest() {
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
