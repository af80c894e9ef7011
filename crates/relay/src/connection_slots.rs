//! Limits the connections at the same time: of all, and of one source address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use locks::Mutex;

#[derive(Debug)]
pub(crate) struct ConnectionSlots {
    max: usize,
    max_per_address: usize,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    all: usize,
    of_address: HashMap<IpAddr, usize>,
}

/// The slot of one connection; freed when it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    address: IpAddr,
}

/// Why a connection gets no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoSlot {
    #[error("all {0} connections are in use: raise max_connections, or add a relay")]
    All(usize),
    #[error("this address has {0} connections: raise max_per_address if many agents share it")]
    OfAddress(usize),
    #[error("no more files can be open: raise `ulimit -n` or LimitNOFILE, or add a relay")]
    OpenFiles,
}

impl ConnectionSlots {
    pub(crate) fn new(max: usize, max_per_address: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            max_per_address,
            used: Mutex::default(),
        })
    }

    pub(crate) fn take(self: &Arc<Self>, from: IpAddr) -> Result<ConnectionSlot, NoSlot> {
        let address = unit(from);
        let mut used = self.used.lock();
        if used.all >= self.max {
            return Err(NoSlot::All(self.max));
        }
        let n = used.of_address.entry(address).or_default();
        if *n >= self.max_per_address {
            return Err(NoSlot::OfAddress(self.max_per_address));
        }
        *n += 1;
        used.all += 1;
        Ok(ConnectionSlot {
            slots: self.clone(),
            address,
        })
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut used = self.slots.used.lock();
        used.all -= 1;
        if let Some(n) = used.of_address.get_mut(&self.address) {
            *n -= 1;
            if *n == 0 {
                used.of_address.remove(&self.address);
            }
        }
    }
}

/// An IPv4 address, or the /64 network of an IPv6 host, all of which it can use.
fn unit(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn slots_are_limited_and_freed() {
        let slots = ConnectionSlots::new(3, 2);
        let mut taken: Vec<_> = (0..2)
            .map(|_| slots.take(ip("10.0.0.1")).unwrap())
            .collect();
        let refused = slots.take(ip("::ffff:10.0.0.1")).unwrap_err();
        assert_eq!(refused, NoSlot::OfAddress(2));
        taken.push(slots.take(ip("fd00::1")).unwrap());
        assert_eq!(slots.take(ip("10.0.0.3")).unwrap_err(), NoSlot::All(3));
        taken.clear();
        assert_eq!(slots.used.lock().of_address.len(), 0, "nothing is kept");
        let _one = slots.take(ip("fd00::1")).unwrap();
        let _other = slots.take(ip("fd00::2")).unwrap();
        let refused = slots.take(ip("fd00::3")).unwrap_err();
        assert_eq!(refused, NoSlot::OfAddress(2), "one network, one address");
    }
}
