//! The server's own certificate: short-lived, and replaced before it expires, without a restart.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use locks::RwLock;
use rustls::crypto::ring::sign::any_ecdsa_type;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::ca::{Ca, CaError, SERVER_LIFE};

/// The age at which a certificate is replaced: hosts whose clocks are weeks ahead still accept it.
const REPLACED_AFTER: Duration = Duration::from_secs(SERVER_LIFE.as_secs() / 3);

pub(super) struct ServerLeaf {
    ca: Arc<Ca>,
    current: RwLock<IssuedLeaf>,
}

struct IssuedLeaf {
    key: Arc<CertifiedKey>,
    at: SystemTime,
}

impl std::fmt::Debug for ServerLeaf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerLeaf(…)")
    }
}

impl ServerLeaf {
    pub(super) fn new(ca: Arc<Ca>, now: SystemTime) -> Result<Self, CaError> {
        let current = RwLock::new(issue(&ca, now)?);
        Ok(Self { ca, current })
    }

    fn at(&self, now: SystemTime) -> Arc<CertifiedKey> {
        let (key, issued_at) = {
            let current = self.current.read();
            (current.key.clone(), current.at)
        };
        // A clock that was set back replaces it, too.
        let is_fresh = now
            .duration_since(issued_at)
            .is_ok_and(|age| age < REPLACED_AFTER);
        if is_fresh {
            return key;
        }
        match issue(&self.ca, now) {
            Ok(issued) => {
                tracing::info!("the server's certificate was replaced");
                let key = issued.key.clone();
                *self.current.write() = issued;
                key
            }
            Err(error) => {
                tracing::error!(%error, "the server's certificate cannot be replaced");
                key
            }
        }
    }
}

impl ResolvesServerCert for ServerLeaf {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.at(SystemTime::now()))
    }
}

fn issue(ca: &Ca, now: SystemTime) -> Result<IssuedLeaf, CaError> {
    let leaf = ca.server_leaf()?;
    let key = any_ecdsa_type(&leaf.key).expect("the key was just made");
    Ok(IssuedLeaf {
        key: Arc::new(CertifiedKey::new(leaf.chain, key)),
        at: now,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_certificate_is_replaced_after_a_third_of_its_life() {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", dir.path().join("a.db").display());
        let store = store::Store::open(&url).await.unwrap();
        let ca = Arc::new(Ca::load(&store).await.unwrap());
        let start = SystemTime::now();
        let leaf = ServerLeaf::new(ca, start).unwrap();
        let days = |n: u64| start + Duration::from_secs(n * 24 * 3600);
        let first = leaf.at(start);
        assert!(Arc::ptr_eq(&first, &leaf.at(days(9))));
        let second = leaf.at(days(11));
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&second, &leaf.at(days(12))));
        assert_ne!(first.cert, second.cert);
        let before = start - Duration::from_secs(3600);
        assert!(!Arc::ptr_eq(&second, &leaf.at(before)));
        store.close().await;
    }
}
