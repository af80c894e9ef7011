//! The token bucket behind every rate limit: requests of an app, tries to log in, new connections of agents.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use tokio::time::Instant;

/// A bucket holds `burst` tokens and gets one back every `every`.
///
/// The caller keeps one [`Instant`] per bucket: when it is full again. A bucket without one is full.
#[derive(Debug, Clone, Copy)]
pub struct RateLimit {
    pub burst: u32,
    pub every: Duration,
}

impl RateLimit {
    pub fn per_second(rate: u32, burst: u32) -> Self {
        let every = Duration::from_secs(1) / rate.max(1);
        Self { burst, every }
    }

    /// Takes one token: when the bucket is full again after that, or how long to wait for the next token.
    pub fn spend(self, full_at: Option<Instant>, now: Instant) -> Result<Instant, Duration> {
        let full_at = full_at.map_or(now, |at| at.max(now)) + self.every;
        let wait = full_at.saturating_duration_since(now + self.every * self.burst);
        if wait.is_zero() {
            Ok(full_at)
        } else {
            Err(wait)
        }
    }
}

/// The unit that limits per address count by: an IPv4 address, or a /64 network, all of which one IPv6 host can use.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_allows_a_burst_and_then_the_rate() {
        let (limit, start) = (RateLimit::per_second(10, 10), Instant::now());
        let mut full_at = None;
        for _ in 0..10 {
            full_at = Some(limit.spend(full_at, start).unwrap());
        }
        let ms = Duration::from_millis;
        assert_eq!(limit.spend(full_at, start), Err(ms(100)));
        let full_at = limit.spend(full_at, start + ms(100)).ok();
        assert!(full_at.is_some());
        assert_eq!(limit.spend(full_at, start + ms(150)), Err(ms(50)));
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address_and_a_mapped_one_as_ipv4() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1:2:3"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }
}
