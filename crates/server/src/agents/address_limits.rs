//! Who may come in, before anything is known of them but their address: a bounded number at a time, and a bounded number a
//! second, for each address. The bounds are wide enough for thousands of agents behind one address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use locks::{Mutex, MutexGuard};
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Addresses that are remembered. With more than this, strangers wait until some are forgotten.
const MAX_ADDRESSES: usize = 65_536;

/// What one address may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections that have not shown yet who they are; further ones are closed at once.
    pub strangers: usize,
    /// How many of these shake hands at the same time; the others wait for their turn.
    pub handshakes: usize,
    /// New connections a second, on average.
    pub rate: u32,
    /// New connections at once, after a time without any.
    pub burst: u32,
    /// How long a peer may take over the handshake, and again over its first frame.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            strangers: 2_048,
            handshakes: 64,
            rate: 1_000,
            burst: 20_000,
            patience: Duration::from_secs(15),
        }
    }
}

#[derive(Debug)]
pub(super) struct Gate {
    limits: Limits,
    addresses: Mutex<HashMap<IpAddr, Address>>,
}

#[derive(Debug)]
struct Address {
    strangers: usize,
    turns: Arc<Semaphore>,
    /// New connections that it may make right now.
    credit: f64,
    at: Instant,
}

/// Leave for one connection. Dropped when the connection has shown who it is, or has ended.
#[derive(Debug)]
pub(super) struct Pass {
    gate: Arc<Gate>,
    address: IpAddr,
    pub(super) turns: Arc<Semaphore>,
}

impl Drop for Pass {
    fn drop(&mut self) {
        if let Some(address) = self.gate.addresses().get_mut(&self.address) {
            address.strangers = address.strangers.saturating_sub(1);
        }
    }
}

/// Why a connection is closed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooMany {
    #[error("too many connections of this address have not shown who they are")]
    Strangers,
    #[error("too many new connections of this address")]
    Connections,
    #[error("too many addresses")]
    Addresses,
}

impl Gate {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            addresses: Mutex::default(),
        })
    }

    fn addresses(&self) -> MutexGuard<'_, HashMap<IpAddr, Address>> {
        self.addresses.lock()
    }

    pub(super) fn enter(self: &Arc<Self>, from: IpAddr, now: Instant) -> Result<Pass, TooMany> {
        let address = network(from);
        let mut addresses = self.addresses();
        if addresses.len() >= MAX_ADDRESSES && !addresses.contains_key(&address) {
            addresses.retain(|_, known| !known.is_as_new(now, self.limits));
            if addresses.len() >= MAX_ADDRESSES {
                return Err(TooMany::Addresses);
            }
        }
        let known = addresses.entry(address).or_insert_with(|| Address {
            strangers: 0,
            turns: Arc::new(Semaphore::new(self.limits.handshakes)),
            credit: f64::from(self.limits.burst),
            at: now,
        });
        known.credit = known.credit_at(now, self.limits);
        known.at = now;
        if known.strangers >= self.limits.strangers {
            return Err(TooMany::Strangers);
        }
        if known.credit < 1.0 {
            return Err(TooMany::Connections);
        }
        known.credit -= 1.0;
        known.strangers += 1;
        Ok(Pass {
            gate: self.clone(),
            address,
            turns: known.turns.clone(),
        })
    }
}

impl Address {
    fn credit_at(&self, now: Instant, limits: Limits) -> f64 {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        (self.credit + since * f64::from(limits.rate)).min(f64::from(limits.burst))
    }

    /// Whether forgetting it changes nothing.
    fn is_as_new(&self, now: Instant, limits: Limits) -> bool {
        self.strangers == 0 && self.credit_at(now, limits) >= f64::from(limits.burst)
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

    const LIMITS: Limits = Limits {
        strangers: 3,
        handshakes: 2,
        rate: 10,
        burst: 5,
        patience: Duration::from_secs(1),
    };

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_so_many_strangers_at_a_time_and_others_are_not_held_up() {
        let (gate, now) = (Gate::new(LIMITS), Instant::now());
        let (here, there) = (ip("10.0.0.1"), ip("10.0.0.2"));
        let mut inside: Vec<Pass> = (0..3).map(|_| gate.enter(here, now).unwrap()).collect();
        assert_eq!(gate.enter(here, now).unwrap_err(), TooMany::Strangers);
        gate.enter(there, now).unwrap();
        inside.pop();
        gate.enter(here, now).unwrap();
    }

    #[test]
    fn an_address_makes_so_many_new_connections_a_second() {
        let (gate, start) = (Gate::new(LIMITS), Instant::now());
        let here = ip("10.0.0.1");
        for _ in 0..5 {
            gate.enter(here, start).unwrap();
        }
        assert_eq!(gate.enter(here, start).unwrap_err(), TooMany::Connections);
        let later = start + Duration::from_millis(200);
        for _ in 0..2 {
            gate.enter(here, later).unwrap();
        }
        assert_eq!(gate.enter(here, later).unwrap_err(), TooMany::Connections);
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address_and_a_mapped_one_as_what_it_maps() {
        let (gate, now) = (Gate::new(LIMITS), Instant::now());
        let _inside: Vec<Pass> = (1..=3)
            .map(|n| gate.enter(ip(&format!("2001:db8::{n}")), now).unwrap())
            .collect();
        assert!(gate.enter(ip("2001:db8::ffff:1:2:3"), now).is_err());
        gate.enter(ip("2001:db8:0:1::1"), now).unwrap();
        assert_eq!(network(ip("::ffff:10.0.0.1")), ip("10.0.0.1"));
    }

    #[test]
    fn addresses_are_forgotten_when_that_changes_nothing() {
        let (gate, now) = (Gate::new(LIMITS), Instant::now());
        let busy = gate.enter(ip("10.255.0.1"), now).unwrap();
        for n in 0..MAX_ADDRESSES as u32 - 1 {
            gate.enter(std::net::Ipv4Addr::from_bits(n).into(), now)
                .unwrap();
        }
        let stranger = ip("11.0.0.1");
        assert_eq!(gate.enter(stranger, now).unwrap_err(), TooMany::Addresses);
        let later = now + Duration::from_secs(1);
        gate.enter(stranger, later).unwrap();
        assert_eq!(gate.addresses().len(), 2, "the busy one and the new one");
        drop(busy);
    }
}
