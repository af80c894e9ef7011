//! What became of a commit whose answer was lost.
//!
//! Each commit leaves a random mark beside its revision. Whoever was cut off while it ended asks for the lock that the commit
//! held: once that is to be had, it is over, and the mark is there or it is not. So a commit that happened is acknowledged,
//! however late, and one that is refused did not happen.

use std::time::Duration;

use model::change::Revision;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::time::{Instant, sleep};

use crate::database::Database;
use crate::sql;
use crate::{Cause, StoreError};

/// How long the database may be away before the caller hears that nobody knows.
const PATIENCE: Duration = Duration::from_secs(10);
const ASK_AGAIN: Duration = Duration::from_millis(50);

pub(super) fn new_mark() -> Result<i64, StoreError> {
    let mut bytes = [0; 8];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| StoreError::unavailable("the machine has no randomness"))?;
    Ok(i64::from_ne_bytes(bytes))
}

/// Whether the commit that would have written this revision with this mark did. `lost` is why its answer did not come.
pub(super) async fn learn(
    database: &Database,
    revision: Revision,
    mark: i64,
    lost: StoreError,
) -> Result<Revision, StoreError> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        match ask(database, revision).await {
            Ok((_, Some(found))) if found == mark => return Ok(revision),
            // It was so long ago that the mark of whoever wrote it is forgotten.
            Ok((head, None)) if head >= revision => {
                return Err(StoreError::InDoubt {
                    source: Cause::from(lost),
                });
            }
            // Somebody else was first, after ours was undone.
            Ok((head, _)) if head >= revision => return Err(StoreError::Moved { head }),
            Ok(_) => return Err(lost),
            Err(away) if Instant::now() > give_up => {
                return Err(StoreError::InDoubt {
                    source: Cause::from(away),
                });
            }
            Err(_) => sleep(ASK_AGAIN).await,
        }
    }
}

/// The head, and who wrote this revision. Waits until the commit in question has let go of its lock.
async fn ask(
    database: &Database,
    revision: Revision,
) -> Result<(Revision, Option<i64>), StoreError> {
    let mut tx = database.begin_alone().await?;
    let head = sql::revision::read(&mut tx).await?.head;
    let mark = sql::revision::marked(&mut tx, revision).await?;
    tx.roll_back().await?;
    Ok((head, mark))
}
