//! Waiting no longer than makes sense.

use std::pin::pin;
use std::time::Duration;

use sqlx::postgres::PgPool;
use tokio::time::timeout;

use super::silent;
use crate::StoreError;

/// How long a statement may take before somebody looks whether the server is there at all.
const LOOK_AFTER: Duration = Duration::from_secs(3);
/// How long the server may take to say so. It may be busy.
const BEAT: Duration = Duration::from_secs(3);
/// Even where the server answers others. It ends statements by itself before that.
const N_LOOKS: u32 = 50;

/// Waits for as long as the server answers others: a statement may take its time, or wait for its turn.
pub(crate) struct Pulse(PgPool);

impl Pulse {
    pub(super) fn new(others: PgPool) -> Self {
        Self(others)
    }

    pub(crate) async fn watch<T>(
        &self,
        work: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, StoreError> {
        let mut work = pin!(work);
        for _ in 0..N_LOOKS {
            match timeout(LOOK_AFTER, &mut work).await {
                Ok(done) => return Ok(done?),
                Err(_) => self.beat().await?,
            }
        }
        Err(StoreError::unavailable(silent(LOOK_AFTER * N_LOOKS)))
    }

    async fn beat(&self) -> Result<(), StoreError> {
        let asking = sqlx::query("SELECT 1").execute(&self.0);
        match timeout(BEAT, asking).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(StoreError::unavailable(silent(LOOK_AFTER + BEAT))),
        }
    }
}

/// What must be done within a time, or is given up.
pub(crate) async fn in_time<T, E>(
    patience: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, StoreError>
where
    StoreError: From<E>,
{
    match timeout(patience, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(StoreError::unavailable(silent(patience))),
    }
}
