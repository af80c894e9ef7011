//! Renews the agent's certificate before it expires. The present certificate authenticates the agent, so no token is needed;
//! each renewal has a new key.
//!
//! The agent connects once with the new certificate before it replaces the present one on disk.

use std::sync::Arc;
use std::time::Duration;

use locks::Mutex;
use model::UnixMillis;
use rustls::ClientConfig;

use crate::backoff::random_fraction;
use crate::config::AgentConfig;
use crate::data::DataDir;
use crate::enrol::{EnrolError, confirm, renew};
use crate::error::{AgentError, chain};
use crate::identity::{self, Identity};
use crate::server_order::ServerOrder;
use crate::tls::{self, TlsError};

/// A certificate is renewed at this age at the latest.
const OLDEST: Duration = Duration::from_secs(60 * 24 * 3600);
/// How often the wall clock is read, because it may be set.
const CHECK_EVERY: Duration = Duration::from_secs(3600);
/// The delay after the first failure; each further failure doubles it, up to the last.
const FIRST_RETRY: Duration = Duration::from_secs(60);
const LAST_RETRY: Duration = Duration::from_secs(3600);

/// The TLS configuration of new connections, which renewals replace.
#[derive(Debug)]
pub(crate) struct Credentials(Mutex<Arc<ClientConfig>>);

impl Credentials {
    pub(crate) fn new(identity: &Identity) -> Result<Self, TlsError> {
        Ok(Self(Mutex::new(tls::session_config(identity)?)))
    }

    pub(crate) fn tls(&self) -> Arc<ClientConfig> {
        self.0.lock().clone()
    }

    fn replace(&self, identity: &Identity) -> Result<(), TlsError> {
        let config = tls::session_config(identity)?;
        *self.0.lock() = config;
        Ok(())
    }
}

/// When to renew a certificate: after two thirds of its life, with jitter, so that agents that joined together do not renew
/// together. `random_fraction` is in 0..1.
pub fn renew_at(issued: UnixMillis, until: UnixMillis, random_fraction: f64) -> UnixMillis {
    let life_ms = until.0.saturating_sub(issued.0).max(0);
    let oldest_ms = OLDEST.as_millis() as i64;
    let after_ms = (life_ms / 3 * 2).min(oldest_ms);
    let jitter_ms = (after_ms as f64 / 10.0 * random_fraction) as i64;
    issued.plus_millis(after_ms - jitter_ms)
}

/// Renews the certificate whenever it is due. Returns only on an error.
pub(crate) async fn keep_renewing(
    config: &AgentConfig,
    data: &DataDir,
    mut identity: Identity,
    credentials: &Credentials,
    clock: fn() -> UnixMillis,
) -> AgentError {
    let mut order = ServerOrder::new(config.servers.len(), random_fraction);
    let mut n_failures = 0;
    let Some((issued, until)) = identity.life() else {
        return std::future::pending().await;
    };
    let (mut due, mut until) = (renew_at(issued, until, random_fraction()), until);
    loop {
        let wait_ms = due.0.saturating_sub(clock().0);
        if wait_ms > 0 {
            let wait = Duration::from_millis(wait_ms.unsigned_abs());
            tokio::time::sleep(wait.min(CHECK_EVERY)).await;
            continue;
        }
        let server = &config.servers[order.current()];
        let attempt = async {
            let (next, key) = renew(server, &identity).await?;
            confirm(server, &next).await?;
            Ok::<_, EnrolError>((next, key))
        };
        match attempt.await {
            Ok((next, key)) => {
                if let Err(error) = identity::save(data, &next, &key) {
                    return error.into();
                }
                if let Err(error) = credentials.replace(&next) {
                    return error.into();
                }
                if let Some((issued, ends)) = next.life() {
                    tracing::info!(until = ends.to_rfc3339(), "the certificate was renewed");
                    (due, until) = (renew_at(issued, ends, random_fraction()), ends);
                }
                identity = next;
                n_failures = 0;
                // A server may issue certificates that are due at once: do not loop without a pause.
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Err(error) => {
                order.failed();
                tracing::warn!(error = %chain(&error), until = until.to_rfc3339(), "cannot renew the certificate; trying again");
                tokio::time::sleep(retry_in(n_failures, random_fraction())).await;
                n_failures += 1;
            }
        }
    }
}

fn retry_in(n_failures: u32, random_fraction: f64) -> Duration {
    let window = FIRST_RETRY.saturating_mul(1 << n_failures.min(10));
    window.min(LAST_RETRY).mul_f64(0.5 + random_fraction / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 3600 * 1000;

    #[test]
    fn a_certificate_is_renewed_after_two_thirds_of_its_life_with_jitter() {
        let (issued, until) = (UnixMillis(DAY), UnixMillis(91 * DAY));
        assert_eq!(renew_at(issued, until, 0.0), UnixMillis(61 * DAY));
        assert_eq!(renew_at(issued, until, 1.0), UnixMillis(55 * DAY));
        let short = UnixMillis(DAY + 3000);
        assert_eq!(renew_at(issued, short, 0.0), UnixMillis(DAY + 2000));
    }

    #[test]
    fn a_certificate_valid_for_years_is_renewed_after_60_days() {
        let until = UnixMillis(3650 * DAY);
        assert_eq!(renew_at(UnixMillis(0), until, 0.0), UnixMillis(60 * DAY));
    }

    #[test]
    fn a_failed_renewal_is_tried_again_within_the_hour() {
        assert_eq!(retry_in(0, 1.0), FIRST_RETRY);
        assert_eq!(retry_in(3, 1.0), FIRST_RETRY * 8);
        assert_eq!(retry_in(30, 1.0), LAST_RETRY);
        assert!(retry_in(30, 0.0) >= LAST_RETRY / 2);
    }
}
