//! Slots for connections: a limited number in all, and a limited number for each address.
//!
//! When none is free, the connection that has been idle for longest is evicted: its client only has to connect again, while
//! a client without a slot gets no response at all. A connection is idle until its first request, and after each response.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use control::rate_limit::network;
use locks::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::slots::SlotCounts;

#[derive(Debug)]
pub(super) struct ConnectionSlots {
    max: usize,
    max_per_address: usize,
    taken: Mutex<TakenSlots>,
}

#[derive(Debug, Default)]
struct TakenSlots {
    counts: SlotCounts<IpAddr>,
    /// Idle connections in the order in which they became idle.
    idle: BTreeMap<u64, IdleConnection>,
    next: u64,
}

#[derive(Debug)]
struct IdleConnection {
    address: IpAddr,
    eviction: Arc<Eviction>,
}

/// Signals a connection that another one has taken its slot.
#[derive(Debug, Default)]
struct Eviction {
    signal: Notify,
    has_happened: AtomicBool,
}

/// One connection's slot; freed when it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    all: Arc<ConnectionSlots>,
    address: IpAddr,
    eviction: Arc<Eviction>,
    /// Its key among the idle ones; none while a request is under way.
    idle_key: Mutex<Option<u64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoSlot {
    #[error("there are too many connections")]
    InAll,
    #[error("there are too many connections from this address")]
    FromAddress,
}

/// A slot, and whether another connection was evicted for it.
#[derive(Debug)]
pub(super) struct TakenSlot {
    pub(super) slot: Arc<ConnectionSlot>,
    pub(super) has_evicted: bool,
}

impl ConnectionSlots {
    pub(super) fn new(max: usize, max_per_address: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            max_per_address,
            taken: Mutex::default(),
        })
    }

    pub(super) fn take(self: &Arc<Self>, from: IpAddr) -> Result<TakenSlot, NoSlot> {
        let address = network(from);
        let mut taken = self.taken();
        let has_evicted = if taken.counts.of(&address) >= self.max_per_address {
            let own = |idle: &IdleConnection| idle.address == address;
            taken.evict(own).ok_or(NoSlot::FromAddress)?;
            true
        } else if taken.counts.total() >= self.max {
            taken.evict(|_| true).ok_or(NoSlot::InAll)?;
            true
        } else {
            false
        };
        taken.counts.add(address);
        let eviction = Arc::<Eviction>::default();
        let idle_key = taken.add_idle(address, &eviction);
        Ok(TakenSlot {
            slot: Arc::new(ConnectionSlot {
                all: self.clone(),
                address,
                eviction,
                idle_key: Mutex::new(Some(idle_key)),
            }),
            has_evicted,
        })
    }

    /// Evicts the longest idle connections, at most `n`. Returns how many.
    pub(super) fn evict_idle(&self, n: usize) -> usize {
        let mut taken = self.taken();
        (0..n)
            .take_while(|_| taken.evict(|_| true).is_some())
            .count()
    }

    fn taken(&self) -> MutexGuard<'_, TakenSlots> {
        self.taken.lock()
    }
}

impl TakenSlots {
    fn add_idle(&mut self, address: IpAddr, eviction: &Arc<Eviction>) -> u64 {
        self.next += 1;
        let idle = IdleConnection {
            address,
            eviction: eviction.clone(),
        };
        self.idle.insert(self.next, idle);
        self.next
    }

    /// Evicts the connection that has been idle for longest.
    fn evict(&mut self, may: impl Fn(&IdleConnection) -> bool) -> Option<()> {
        let (&key, _) = self.idle.iter().find(|(_, idle)| may(idle))?;
        let idle = self.idle.remove(&key)?;
        idle.eviction.has_happened.store(true, Ordering::SeqCst);
        idle.eviction.signal.notify_one();
        self.counts.remove(&idle.address);
        Some(())
    }
}

impl ConnectionSlot {
    /// Marks the connection as busy until the guard is dropped.
    pub(super) fn busy(self: &Arc<Self>) -> BusyGuard {
        let idle_key = self.idle_key.lock().take();
        if let Some(key) = idle_key {
            self.all.taken().idle.remove(&key);
        }
        BusyGuard(self.clone())
    }

    pub(super) fn is_busy(&self) -> bool {
        self.idle_key.lock().is_none()
    }

    /// Resolves when another connection has taken this slot.
    pub(super) async fn evicted(&self) {
        self.eviction.signal.notified().await;
    }

    fn was_evicted(&self) -> bool {
        self.eviction.has_happened.load(Ordering::SeqCst)
    }
}

/// A request under way, until the connection has all of its response.
#[derive(Debug)]
pub(super) struct BusyGuard(Arc<ConnectionSlot>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        let slot = &self.0;
        // An evicted connection ends as soon as it can.
        if !slot.was_evicted() {
            let key = slot.all.taken().add_idle(slot.address, &slot.eviction);
            *slot.idle_key.lock() = Some(key);
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let idle_key = self.idle_key.lock().take();
        let mut taken = self.all.taken();
        if let Some(key) = idle_key {
            taken.idle.remove(&key);
        }
        if !self.was_evicted() {
            taken.counts.remove(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn take(slots: &Arc<ConnectionSlots>, from: &str) -> Result<Arc<ConnectionSlot>, NoSlot> {
        slots.take(ip(from)).map(|taken| taken.slot)
    }

    fn assert_all_free(slots: &ConnectionSlots) {
        assert!(slots.taken().counts.is_empty() && slots.taken().idle.is_empty());
    }

    #[test]
    fn slots_are_limited_for_each_address_and_in_all() {
        let slots = ConnectionSlots::new(4, 3);
        let one: Vec<BusyGuard> = (0..3)
            .map(|_| take(&slots, "10.0.0.1").unwrap().busy())
            .collect();
        assert_eq!(take(&slots, "10.0.0.1").unwrap_err(), NoSlot::FromAddress);
        let other = take(&slots, "10.0.0.2").unwrap().busy();
        assert_eq!(take(&slots, "10.0.0.3").unwrap_err(), NoSlot::InAll);
        drop(one);
        assert!(take(&slots, "10.0.0.1").is_ok());
        drop(other);
        assert_all_free(&slots);
    }

    #[test]
    fn the_longest_idle_connection_is_evicted() {
        let slots = ConnectionSlots::new(3, 3);
        let [first, second, third] =
            [1, 2, 3].map(|n| take(&slots, &format!("10.0.0.{n}")).unwrap());
        // The first has had a request: it is idle since its response.
        drop(first.busy());
        let busy = third.busy();
        let fourth = slots.take(ip("10.0.0.4")).unwrap();
        assert!(fourth.has_evicted);
        assert!(second.was_evicted() && !first.was_evicted());
        let fifth = take(&slots, "10.0.0.5").unwrap();
        assert!(first.was_evicted());
        let both_busy = (fourth.slot.busy(), fifth.busy());
        assert_eq!(take(&slots, "10.0.0.6").unwrap_err(), NoSlot::InAll);
        assert_eq!(slots.evict_idle(5), 0, "all are busy");
        drop((busy, both_busy, first, second, third, fourth, fifth));
        assert_all_free(&slots);
    }

    #[test]
    fn an_address_at_its_limit_evicts_a_connection_of_its_own() {
        let slots = ConnectionSlots::new(10, 2);
        let other = take(&slots, "10.0.0.9").unwrap();
        let own: Vec<_> = (0..3).map(|_| take(&slots, "10.0.0.1").unwrap()).collect();
        assert!(own[0].was_evicted() && !own[1].was_evicted());
        assert!(!other.was_evicted());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let slots = ConnectionSlots::new(10, 1);
        let _one = take(&slots, "2001:db8::1").unwrap().busy();
        assert!(take(&slots, "2001:db8::ffff:2").is_err());
        assert!(take(&slots, "2001:db8:0:1::1").is_ok());
    }
}
