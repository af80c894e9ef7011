//! Finds out whether a commit happened whose answer was lost.
//!
//! Each commit writes a random mark into its log entry. When the connection breaks during COMMIT,
//! [`resolve`] waits for the row lock that the commit held: once it has the lock, the commit is over, and its mark is there
//! or not. So a commit that happened is acknowledged, however late, and a commit that is refused did not happen.

use std::time::Duration;

use model::change::Revision;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::time::{Instant, sleep};

use crate::database::Database;
use crate::sql;
use crate::{Cause, StoreError};

/// How long the database may be unreachable before the caller gets [`StoreError::InDoubt`].
const PATIENCE: Duration = Duration::from_secs(10);
const RETRY_AFTER: Duration = Duration::from_millis(50);

pub(crate) fn new_mark() -> Result<i64, StoreError> {
    let mut bytes = [0; 8];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| StoreError::unavailable("the machine has no randomness"))?;
    Ok(i64::from_ne_bytes(bytes))
}

/// Whether the commit that would have written this revision with this mark did. `lost` is why its answer did not come.
pub(crate) async fn resolve(
    database: &Database,
    revision: Revision,
    mark: i64,
    lost: StoreError,
) -> Result<Revision, StoreError> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        match head_and_mark(database, revision).await {
            Ok((_, Some(found))) if found == mark => return Ok(revision),
            // The revision is so old that its mark is deleted.
            Ok((head, None)) if head >= revision => {
                return Err(StoreError::InDoubt {
                    source: Cause::from(lost),
                });
            }
            // Another replica wrote this revision after ours was rolled back.
            Ok((head, _)) if head >= revision => return Err(StoreError::Moved { head }),
            Ok(_) => return Err(lost),
            Err(unreachable) if Instant::now() > give_up => {
                return Err(StoreError::InDoubt {
                    source: Cause::from(unreachable),
                });
            }
            Err(_) => sleep(RETRY_AFTER).await,
        }
    }
}

/// The head, and the mark of this revision. Waits until the commit in question has released its lock.
async fn head_and_mark(
    database: &Database,
    revision: Revision,
) -> Result<(Revision, Option<i64>), StoreError> {
    let mut tx = database.begin_exclusive().await?;
    let head = sql::revision::read(&mut tx).await?.head;
    let mark = sql::log::mark(&mut tx, revision).await?;
    tx.roll_back().await?;
    Ok((head, mark))
}
