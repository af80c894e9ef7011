//! Places for connections: a bounded number in all, and a bounded number for each address.
//!
//! Where there is none left, the connection that has been idle for longest gives its place up: it costs its owner a new
//! connection at most, while a caller without a place gets no answer at all. Idle is a connection that has sent no request
//! yet, or has its answer and has not asked again.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use locks::{Mutex, MutexGuard};
use tokio::sync::Notify;

#[derive(Debug)]
pub(super) struct Places {
    max: usize,
    max_per_address: usize,
    taken: Mutex<Taken>,
}

/// Holds only connections and addresses with connections, so it is as bounded as they are.
#[derive(Debug, Default)]
struct Taken {
    /// Connections that have a place.
    n: usize,
    by_address: HashMap<IpAddr, usize>,
    /// Idle connections in the order in which they became so.
    idle: BTreeMap<u64, Idle>,
    next: u64,
}

#[derive(Debug)]
struct Idle {
    address: IpAddr,
    given_up: Arc<GivenUp>,
}

/// Tells a connection that its place is another's.
#[derive(Debug, Default)]
struct GivenUp {
    told: Notify,
    is_so: AtomicBool,
}

/// One connection's place; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    all: Arc<Places>,
    address: IpAddr,
    given_up: Arc<GivenUp>,
    /// Its number among the idle ones; none while a request is under way.
    idle: Mutex<Option<u64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoPlace {
    #[error("there are too many connections")]
    InAll,
    #[error("there are too many connections from this address")]
    FromAddress,
}

/// A place, and whether another connection had to give it up.
#[derive(Debug)]
pub(super) struct Taking {
    pub(super) place: Arc<Place>,
    pub(super) is_of_another: bool,
}

impl Places {
    pub(super) fn new(max: usize, max_per_address: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            max_per_address,
            taken: Mutex::default(),
        })
    }

    pub(super) fn take(self: &Arc<Self>, from: IpAddr) -> Result<Taking, NoPlace> {
        let address = network(from);
        let mut taken = self.taken();
        let n_own = taken.by_address.get(&address).copied().unwrap_or(0);
        let is_of_another = if n_own >= self.max_per_address {
            let own = |idle: &Idle| idle.address == address;
            taken.evict(own).ok_or(NoPlace::FromAddress)?;
            true
        } else if taken.n >= self.max {
            taken.evict(|_| true).ok_or(NoPlace::InAll)?;
            true
        } else {
            false
        };
        *taken.by_address.entry(address).or_default() += 1;
        taken.n += 1;
        let given_up = Arc::<GivenUp>::default();
        let idle = taken.now_idle(address, &given_up);
        Ok(Taking {
            place: Arc::new(Place {
                all: self.clone(),
                address,
                given_up,
                idle: Mutex::new(Some(idle)),
            }),
            is_of_another,
        })
    }

    /// Has the longest idle connections close, at most so many. Answers how many there were.
    pub(super) fn make_room(&self, n: usize) -> usize {
        let mut taken = self.taken();
        (0..n)
            .take_while(|_| taken.evict(|_| true).is_some())
            .count()
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock()
    }
}

impl Taken {
    fn now_idle(&mut self, address: IpAddr, given_up: &Arc<GivenUp>) -> u64 {
        self.next += 1;
        let idle = Idle {
            address,
            given_up: given_up.clone(),
        };
        self.idle.insert(self.next, idle);
        self.next
    }

    /// Takes the place of the connection that has been idle for longest.
    fn evict(&mut self, may: impl Fn(&Idle) -> bool) -> Option<()> {
        let (&at, _) = self.idle.iter().find(|(_, idle)| may(idle))?;
        let idle = self.idle.remove(&at)?;
        idle.given_up.is_so.store(true, Ordering::SeqCst);
        idle.given_up.told.notify_one();
        self.leave(idle.address);
        Some(())
    }

    fn leave(&mut self, address: IpAddr) {
        self.n -= 1;
        if let Some(own) = self.by_address.get_mut(&address) {
            *own -= 1;
            if *own == 0 {
                self.by_address.remove(&address);
            }
        }
    }
}

impl Place {
    /// A request is under way until what this answers is dropped.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        let number = self.number().take();
        if let Some(number) = number {
            self.all.taken().idle.remove(&number);
        }
        Busy(self.clone())
    }

    pub(super) fn is_busy(&self) -> bool {
        self.number().is_none()
    }

    /// Resolves when another connection has got this place.
    pub(super) async fn given_up(&self) {
        self.given_up.told.notified().await;
    }

    fn has_given_up(&self) -> bool {
        self.given_up.is_so.load(Ordering::SeqCst)
    }

    fn number(&self) -> MutexGuard<'_, Option<u64>> {
        self.idle.lock()
    }
}

/// A request under way, until its answer has been handed to the connection.
#[derive(Debug)]
pub(super) struct Busy(Arc<Place>);

impl Drop for Busy {
    fn drop(&mut self) {
        let place = &self.0;
        // One whose place is another's already ends as soon as it can.
        if !place.has_given_up() {
            let number = place.all.taken().now_idle(place.address, &place.given_up);
            *place.number() = Some(number);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let number = self.number().take();
        let mut taken = self.all.taken();
        if let Some(number) = number {
            taken.idle.remove(&number);
        }
        if !self.has_given_up() {
            taken.leave(self.address);
        }
    }
}

/// A host with IPv6 has a whole network of addresses.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn take(places: &Arc<Places>, from: &str) -> Result<Arc<Place>, NoPlace> {
        places.take(ip(from)).map(|taking| taking.place)
    }

    #[test]
    fn an_address_has_its_share_and_all_together_have_theirs() {
        let places = Places::new(4, 3);
        let one: Vec<Busy> = (0..3)
            .map(|_| take(&places, "10.0.0.1").unwrap().busy())
            .collect();
        assert_eq!(take(&places, "10.0.0.1").unwrap_err(), NoPlace::FromAddress);
        let other = take(&places, "10.0.0.2").unwrap().busy();
        assert_eq!(take(&places, "10.0.0.3").unwrap_err(), NoPlace::InAll);
        drop(one);
        assert!(take(&places, "10.0.0.1").is_ok());
        drop(other);
        assert_eq!(places.taken().n, 0);
        assert!(places.taken().by_address.is_empty());
        assert!(places.taken().idle.is_empty());
    }

    #[test]
    fn the_longest_idle_connection_gives_its_place_up() {
        let places = Places::new(3, 3);
        let [first, second, third] =
            [1, 2, 3].map(|n| take(&places, &format!("10.0.0.{n}")).unwrap());
        // The first has asked and has its answer: it is idle since then.
        drop(first.busy());
        let busy = third.busy();
        let fourth = places.take(ip("10.0.0.4")).unwrap();
        assert!(fourth.is_of_another);
        assert!(second.has_given_up() && !first.has_given_up());
        let fifth = take(&places, "10.0.0.5").unwrap();
        assert!(first.has_given_up());
        let both_busy = (fourth.place.busy(), fifth.busy());
        assert_eq!(take(&places, "10.0.0.6").unwrap_err(), NoPlace::InAll);
        assert_eq!(places.make_room(5), 0, "all are busy");
        drop((busy, both_busy, first, second, third, fourth, fifth));
        assert_eq!(places.taken().n, 0);
        assert!(places.taken().idle.is_empty());
    }

    #[test]
    fn an_address_beyond_its_share_gives_up_a_place_of_its_own() {
        let places = Places::new(10, 2);
        let other = take(&places, "10.0.0.9").unwrap();
        let own: Vec<Arc<Place>> = (0..3).map(|_| take(&places, "10.0.0.1").unwrap()).collect();
        assert!(own[0].has_given_up() && !own[1].has_given_up());
        assert!(!other.has_given_up());
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let places = Places::new(10, 1);
        let _one = take(&places, "2001:db8::1").unwrap().busy();
        assert!(take(&places, "2001:db8::ffff:2").is_err());
        assert!(take(&places, "2001:db8:0:1::1").is_ok());
    }
}
