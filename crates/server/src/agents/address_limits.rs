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

/// Addresses that are remembered at least, if so many come. Each takes about 150 bytes.
const KEPT_ADDRESSES: usize = 65_536;
/// While all addresses must be remembered, how often the table is searched for one that can be forgotten.
const SEARCH_EVERY: Duration = Duration::from_millis(100);

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
    addresses: Mutex<Addresses>,
}

#[derive(Debug)]
struct Addresses {
    known: HashMap<IpAddr, AddressState>,
    /// Beyond that, a new address is refused until another can be forgotten.
    max: usize,
    /// With so many, those that can be forgotten are: twice as many as had to be remembered the last time, so that the search costs
    /// each new address little.
    search_at: usize,
    /// Until then nothing can be forgotten, or so little that the search is not worth it.
    full_until: Option<Instant>,
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
        let mut addresses = self.limiter.addresses.lock();
        if let Some(address) = addresses.known.get_mut(&self.address) {
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
    /// For so many agents, each with an address of its own.
    pub(super) fn new(limits: AgentLimits, n_agents: usize) -> Arc<Self> {
        let addresses = Addresses {
            known: HashMap::new(),
            max: n_agents.max(KEPT_ADDRESSES),
            search_at: KEPT_ADDRESSES,
            full_until: None,
        };
        Arc::new(Self {
            limits,
            rate: RateLimit::per_second(limits.rate, limits.burst),
            addresses: Mutex::new(addresses),
        })
    }

    pub(super) fn admit(
        self: &Arc<Self>,
        from: IpAddr,
        now: Instant,
    ) -> Result<UnauthenticatedSlot, TooMany> {
        let address = network(from);
        let mut addresses = self.addresses.lock();
        if !addresses.has_room(&address, now) {
            return Err(TooMany::Addresses);
        }
        let state = addresses
            .known
            .entry(address)
            .or_insert_with(|| AddressState {
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

impl Addresses {
    /// Whether the address is known or can be remembered; forgets others if it must.
    fn has_room(&mut self, address: &IpAddr, now: Instant) -> bool {
        if self.known.len() < self.search_at || self.known.contains_key(address) {
            return true;
        }
        if self.full_until.is_some_and(|until| now < until) {
            return self.known.len() < self.max;
        }
        self.known.retain(|_, state| !state.is_as_new(now));
        self.search_at = (2 * self.known.len()).clamp(KEPT_ADDRESSES, self.max);
        // Few free places are soon taken again.
        let is_nearly_full = self.known.len() > self.max - self.max / 16;
        self.full_until = is_nearly_full.then(|| now + SEARCH_EVERY);
        self.known.len() < self.max
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
        let (limiter, now) = (AddressLimiter::new(LIMITS, 0), Instant::now());
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
        let (limiter, start) = (AddressLimiter::new(LIMITS, 0), Instant::now());
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
        let (limiter, now) = (AddressLimiter::new(LIMITS, 0), Instant::now());
        let _slots: Vec<_> = (1..=3)
            .map(|n| limiter.admit(ip(&format!("2001:db8::{n}")), now).unwrap())
            .collect();
        assert!(limiter.admit(ip("2001:db8::ffff:1:2:3"), now).is_err());
        limiter.admit(ip("2001:db8:0:1::1"), now).unwrap();
    }

    fn numbered(n: usize) -> IpAddr {
        std::net::Ipv4Addr::from_bits(n as u32).into()
    }

    #[test]
    fn addresses_are_forgotten_when_that_changes_nothing() {
        let (limiter, now) = (AddressLimiter::new(LIMITS, 0), Instant::now());
        let busy = limiter.admit(ip("10.255.0.1"), now).unwrap();
        for n in 0..KEPT_ADDRESSES - 1 {
            limiter.admit(numbered(n), now).unwrap();
        }
        let another = ip("11.0.0.1");
        let refused = limiter.admit(another, now).unwrap_err();
        assert_eq!(refused, TooMany::Addresses);
        limiter
            .admit(another, now + Duration::from_secs(1))
            .unwrap();
        let known = limiter.addresses.lock().known.len();
        assert_eq!(known, 2, "the busy and the new");
        drop(busy);
    }

    #[test]
    fn a_table_that_is_full_is_not_searched_for_each_address() {
        let (limiter, start) = (AddressLimiter::new(LIMITS, 0), Instant::now());
        let slots: Vec<_> = (0..KEPT_ADDRESSES)
            .map(|n| limiter.admit(numbered(n), start).unwrap())
            .collect();
        let another = ip("11.0.0.1");
        limiter.admit(another, start).unwrap_err();
        // All can be forgotten now, but it does not look.
        drop(slots);
        let soon = start + SEARCH_EVERY - Duration::from_millis(1);
        limiter.admit(another, soon).unwrap_err();
        limiter.admit(numbered(7), soon).unwrap();
        limiter
            .admit(another, start + Duration::from_secs(1))
            .unwrap();
    }

    #[test]
    fn as_many_addresses_are_remembered_as_agents_may_come() {
        let n_agents = 2 * KEPT_ADDRESSES + 1000;
        let (limiter, now) = (AddressLimiter::new(LIMITS, n_agents), Instant::now());
        let slots: Vec<_> = (0..n_agents)
            .map(|n| limiter.admit(numbered(n), now).unwrap())
            .collect();
        assert!(limiter.admit(ip("200.0.0.1"), now).is_err());
        drop(slots);
        let later = now + Duration::from_secs(1);
        limiter.admit(ip("200.0.0.1"), later).unwrap();
        let addresses = limiter.addresses.lock();
        assert_eq!(addresses.known.len(), 1);
        assert_eq!(addresses.search_at, KEPT_ADDRESSES);
    }
}
