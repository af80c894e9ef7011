//! Limits what one address may do before its connections authenticate: how many at a time, and how many new ones a second.
//!
//! The defaults are wide enough for thousands of agents behind one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use control::rate_limit::{RateLimit, network};
use locks::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Addresses that are remembered. Beyond that, a new address is refused until another can be forgotten.
const MAX_ADDRESSES: usize = 65_536;

/// What one address may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    /// Connections that have not authenticated yet; further ones are closed at once.
    pub unauthenticated: usize,
    /// How many of these may be in the TLS handshake; the others wait.
    pub handshakes: usize,
    /// New connections a second, on average.
    pub rate: u32,
    /// New connections at once, after a time without any.
    pub burst: u32,
    /// How long the handshake may take, and then the first frame.
    pub timeout: Duration,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            unauthenticated: 2_048,
            handshakes: 64,
            rate: 1_000,
            burst: 20_000,
            timeout: Duration::from_secs(15),
        }
    }
}

#[derive(Debug)]
pub(super) struct AddressLimiter {
    limits: AgentLimits,
    rate: RateLimit,
    addresses: Mutex<HashMap<IpAddr, AddressState>>,
}

#[derive(Debug)]
struct AddressState {
    n_unauthenticated: usize,
    handshakes: Arc<Semaphore>,
    /// When the bucket of new connections is full again.
    full_at: Option<Instant>,
}

/// The slot of one unauthenticated connection; freed when it is dropped.
#[derive(Debug)]
pub(super) struct UnauthenticatedSlot {
    limiter: Arc<AddressLimiter>,
    address: IpAddr,
    pub(super) handshakes: Arc<Semaphore>,
}

impl Drop for UnauthenticatedSlot {
    fn drop(&mut self) {
        if let Some(address) = self.limiter.addresses.lock().get_mut(&self.address) {
            address.n_unauthenticated = address.n_unauthenticated.saturating_sub(1);
        }
    }
}

/// Why a connection is closed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooMany {
    #[error("too many connections of this address have not authenticated")]
    Unauthenticated,
    #[error("too many new connections of this address")]
    NewConnections,
    #[error("too many addresses")]
    Addresses,
}

impl AddressLimiter {
    pub(super) fn new(limits: AgentLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            rate: RateLimit::per_second(limits.rate, limits.burst),
            addresses: Mutex::default(),
        })
    }

    pub(super) fn admit(
        self: &Arc<Self>,
        from: IpAddr,
        now: Instant,
    ) -> Result<UnauthenticatedSlot, TooMany> {
        let address = network(from);
        let mut addresses = self.addresses.lock();
        if addresses.len() >= MAX_ADDRESSES && !addresses.contains_key(&address) {
            addresses.retain(|_, state| !state.is_as_new(now));
            if addresses.len() >= MAX_ADDRESSES {
                return Err(TooMany::Addresses);
            }
        }
        let state = addresses.entry(address).or_insert_with(|| AddressState {
            n_unauthenticated: 0,
            handshakes: Arc::new(Semaphore::new(self.limits.handshakes)),
            full_at: None,
        });
        if state.n_unauthenticated >= self.limits.unauthenticated {
            return Err(TooMany::Unauthenticated);
        }
        let spent = self.rate.spend(state.full_at, now);
        state.full_at = Some(spent.map_err(|_| TooMany::NewConnections)?);
        state.n_unauthenticated += 1;
        Ok(UnauthenticatedSlot {
            limiter: self.clone(),
            address,
            handshakes: state.handshakes.clone(),
        })
    }
}

impl AddressState {
    /// Whether forgetting it changes nothing.
    fn is_as_new(&self, now: Instant) -> bool {
        self.n_unauthenticated == 0 && self.full_at.is_none_or(|at| at <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: AgentLimits = AgentLimits {
        unauthenticated: 3,
        handshakes: 2,
        rate: 10,
        burst: 5,
        timeout: Duration::from_secs(1),
    };

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn unauthenticated_connections_are_limited_for_each_address() {
        let (limiter, now) = (AddressLimiter::new(LIMITS), Instant::now());
        let (here, there) = (ip("10.0.0.1"), ip("10.0.0.2"));
        let mut slots: Vec<_> = (0..3).map(|_| limiter.admit(here, now).unwrap()).collect();
        let refused = limiter.admit(here, now).unwrap_err();
        assert_eq!(refused, TooMany::Unauthenticated);
        limiter.admit(there, now).unwrap();
        slots.pop();
        limiter.admit(here, now).unwrap();
    }

    #[test]
    fn new_connections_are_limited_to_a_rate() {
        let (limiter, start) = (AddressLimiter::new(LIMITS), Instant::now());
        let here = ip("10.0.0.1");
        let later = start + Duration::from_millis(200);
        for (now, n) in [(start, 5), (later, 2)] {
            for _ in 0..n {
                limiter.admit(here, now).unwrap();
            }
            let refused = limiter.admit(here, now).unwrap_err();
            assert_eq!(refused, TooMany::NewConnections);
        }
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let (limiter, now) = (AddressLimiter::new(LIMITS), Instant::now());
        let _slots: Vec<_> = (1..=3)
            .map(|n| limiter.admit(ip(&format!("2001:db8::{n}")), now).unwrap())
            .collect();
        assert!(limiter.admit(ip("2001:db8::ffff:1:2:3"), now).is_err());
        limiter.admit(ip("2001:db8:0:1::1"), now).unwrap();
    }

    #[test]
    fn addresses_are_forgotten_when_that_changes_nothing() {
        let (limiter, now) = (AddressLimiter::new(LIMITS), Instant::now());
        let busy = limiter.admit(ip("10.255.0.1"), now).unwrap();
        for n in 0..MAX_ADDRESSES as u32 - 1 {
            let address = std::net::Ipv4Addr::from_bits(n).into();
            limiter.admit(address, now).unwrap();
        }
        let another = ip("11.0.0.1");
        let refused = limiter.admit(another, now).unwrap_err();
        assert_eq!(refused, TooMany::Addresses);
        limiter
            .admit(another, now + Duration::from_secs(1))
            .unwrap();
        assert_eq!(limiter.addresses.lock().len(), 2, "the busy and the new");
        drop(busy);
    }
}
