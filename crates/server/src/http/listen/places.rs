//! Places for connections: a bounded number in all, and a bounded number for each address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use locks::{Mutex, MutexGuard};

#[derive(Debug)]
pub(super) struct Places {
    max: usize,
    max_per_address: usize,
    taken: Mutex<Taken>,
}

/// Holds only addresses with connections, so it is as bounded as they are.
#[derive(Debug, Default)]
struct Taken {
    n: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// One connection's place; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    all: Arc<Places>,
    address: IpAddr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoPlace {
    #[error("there are too many connections")]
    InAll,
    #[error("there are too many connections from this address")]
    FromAddress,
}

impl Places {
    pub(super) fn new(max: usize, max_per_address: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            max_per_address,
            taken: Mutex::default(),
        })
    }

    pub(super) fn take(self: &Arc<Self>, from: IpAddr) -> Result<Place, NoPlace> {
        let address = network(from);
        let mut taken = self.taken();
        if taken.n >= self.max {
            return Err(NoPlace::InAll);
        }
        let own = taken.by_address.entry(address).or_default();
        if *own >= self.max_per_address {
            return Err(NoPlace::FromAddress);
        }
        *own += 1;
        taken.n += 1;
        Ok(Place {
            all: self.clone(),
            address,
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.all.taken();
        taken.n -= 1;
        if let Some(own) = taken.by_address.get_mut(&self.address) {
            *own -= 1;
            if *own == 0 {
                taken.by_address.remove(&self.address);
            }
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

    #[test]
    fn an_address_has_its_share_and_all_together_have_theirs() {
        let places = Places::new(4, 3);
        let one: Vec<Place> = (0..3)
            .map(|_| places.take(ip("10.0.0.1")).unwrap())
            .collect();
        assert_eq!(
            places.take(ip("10.0.0.1")).unwrap_err(),
            NoPlace::FromAddress
        );
        let other = places.take(ip("10.0.0.2")).unwrap();
        assert_eq!(places.take(ip("10.0.0.3")).unwrap_err(), NoPlace::InAll);
        drop(one);
        assert!(places.take(ip("10.0.0.1")).is_ok());
        drop(other);
        assert_eq!(places.taken().n, 0);
        assert!(places.taken().by_address.is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let places = Places::new(10, 1);
        let _one = places.take(ip("2001:db8::1")).unwrap();
        assert!(places.take(ip("2001:db8::ffff:2")).is_err());
        assert!(places.take(ip("2001:db8:0:1::1")).is_ok());
    }
}
