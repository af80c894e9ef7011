//! Time limits for statements on connections that may be dead.

use std::pin::pin;
use std::time::Duration;

use sqlx::postgres::PgPool;
use tokio::time::timeout;

use super::no_answer;
use crate::StoreError;

/// How long a statement may take before the watchdog probes the server over another connection.
const PROBE_EVERY: Duration = Duration::from_secs(3);
/// How long a probe may take. The server may be busy.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// The limit even where all probes succeed. The server's own statement timeout comes first.
const MAX_PROBES: u32 = 50;

/// Lets a statement wait as long as the server answers on other connections: it may be slow, or wait for a lock.
pub(crate) struct Watchdog(PgPool);

impl Watchdog {
    pub(super) fn new(probes: PgPool) -> Self {
        Self(probes)
    }

    pub(crate) async fn watch<T>(
        &self,
        work: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, StoreError> {
        let mut work = pin!(work);
        for _ in 0..MAX_PROBES {
            match timeout(PROBE_EVERY, &mut work).await {
                Ok(done) => return Ok(done?),
                Err(_) => self.probe().await?,
            }
        }
        Err(StoreError::unavailable(no_answer(PROBE_EVERY * MAX_PROBES)))
    }

    async fn probe(&self) -> Result<(), StoreError> {
        let probe = sqlx::query("SELECT 1").execute(&self.0);
        match timeout(PROBE_TIMEOUT, probe).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(StoreError::unavailable(no_answer(
                PROBE_EVERY + PROBE_TIMEOUT,
            ))),
        }
    }
}

/// Fails if the work takes longer than `patience`.
pub(crate) async fn in_time<T, E>(
    patience: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, StoreError>
where
    StoreError: From<E>,
{
    match timeout(patience, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(StoreError::unavailable(no_answer(patience))),
    }
}
