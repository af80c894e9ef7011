//! Session tickets: an agent that comes back proves itself by one, which spares both sides certificates and signatures.
//!
//! A ticket holds the session's secret and the agent's certificate, encrypted. Its key is derived from that of the CA, so every
//! replica reads it, also after a restart, when a whole fleet comes back at once. The certificate's expiry and its revocation are checked
//! for every session, resumed or not ([`super::certificate`], `control::Enrolment`). Each connection has a key exchange of its own,
//! so a ticket's key opens no traffic.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::server::ProducesTickets;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// How long a ticket is good, in days: the most that TLS allows.
const LIFE_DAYS: u32 = 7;
/// The length of the day's number in front of a ticket.
const NUMBER: usize = 4;
const PURPOSE: &[u8] = b"muster session tickets";

pub(super) struct Tickets {
    secret: Prk,
    random: SystemRandom,
    clock: fn() -> SystemTime,
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tickets(…)")
    }
}

impl Tickets {
    pub(super) fn new(secret: &[u8; 32], clock: fn() -> SystemTime) -> Self {
        Self {
            secret: Prk::new_less_safe(HKDF_SHA256, secret),
            random: SystemRandom::new(),
            clock,
        }
    }

    fn today(&self) -> u32 {
        let since = (self.clock)().duration_since(UNIX_EPOCH);
        let days = since.map_or(0, |since| since.as_secs() / DAY.as_secs());
        u32::try_from(days).unwrap_or(u32::MAX)
    }

    /// The key of the tickets of one day.
    fn key(&self, day: [u8; NUMBER]) -> Option<LessSafeKey> {
        let info = [PURPOSE, &day];
        let key = self.secret.expand(&info, &AES_256_GCM).ok()?;
        Some(LessSafeKey::new(UnboundKey::from(key)))
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        LIFE_DAYS * DAY.as_secs() as u32
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let day = self.today().to_be_bytes();
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).ok()?;
        let mut sealed = plain.to_vec();
        let aad = Aad::from(day);
        self.key(day)?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed)
            .ok()?;
        Some([&day[..], &nonce, &sealed].concat())
    }

    fn decrypt(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let (day, rest) = ticket.split_first_chunk::<NUMBER>()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        let (made, today) = (u32::from_be_bytes(*day), self.today());
        // Another replica's clock may be ahead.
        if made > today.saturating_add(1) || today.saturating_sub(made) > LIFE_DAYS {
            return None;
        }
        let mut plain = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self
            .key(*day)?
            .open_in_place(nonce, Aad::from(*day), &mut plain);
        let len = opened.ok()?.len();
        plain.truncate(len);
        Some(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_day(day: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(day * DAY.as_secs())
    }

    fn tickets(secret: u8, clock: fn() -> SystemTime) -> Tickets {
        Tickets::new(&[secret; 32], clock)
    }

    #[test]
    fn every_replica_reads_a_ticket_for_a_week() {
        let ticket = tickets(1, || on_day(100)).encrypt(b"session").unwrap();
        for clock in [|| on_day(99), || on_day(100), || on_day(107)] {
            let plain = tickets(1, clock).decrypt(&ticket);
            assert_eq!(plain.as_deref(), Some(&b"session"[..]));
        }
        for clock in [|| on_day(98), || on_day(108)] {
            assert_eq!(tickets(1, clock).decrypt(&ticket), None);
        }
        assert_eq!(tickets(2, || on_day(100)).decrypt(&ticket), None);
    }

    #[test]
    fn a_changed_ticket_is_refused() {
        let tickets = tickets(1, || on_day(100));
        let ticket = tickets.encrypt(b"session").unwrap();
        assert_ne!(tickets.encrypt(b"session").unwrap(), ticket);
        for at in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[at] ^= 1;
            assert_eq!(tickets.decrypt(&changed), None, "byte {at}");
            assert_eq!(tickets.decrypt(&ticket[..at]), None, "{at} bytes");
        }
    }
}
