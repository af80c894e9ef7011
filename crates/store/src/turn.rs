//! The turn to commit. The replica that has it knows the head, and no other replica can move it.
//!
//! A replica that plans without the turn may lose it to another one again and again, because each time it has to read what the
//! other wrote before it can plan anew, and the other has not. With the turn it reads that, plans, and commits.

use model::change::{Changes, Revision};

use crate::sql::revision::Position;
use crate::transaction::Transaction;
use crate::{Call, CallUnderWay, Store, StoreError, in_doubt, sql};

/// A commit of more rows touches more pages than a connection usually keeps in memory.
const LARGE: usize = 16 * 1024;

/// The next revision, taken in a transaction under way. All other commits wait for its end.
///
/// A turn that is dropped commits nothing, but costs its connection: [`CommitTurn::release`] does not.
pub struct CommitTurn {
    store: Store,
    transaction: Transaction,
    revision: Revision,
    purged_through: Revision,
}

impl std::fmt::Debug for CommitTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommitTurn")
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

impl CommitTurn {
    pub(crate) async fn take(store: &Store) -> Result<Self, StoreError> {
        let mut transaction = store.database.begin_write().await?;
        let Position {
            head,
            purged_through,
        } = sql::revision::advance(&mut transaction).await?;
        Ok(Self {
            store: store.clone(),
            transaction,
            revision: head,
            purged_through,
        })
    }

    /// The revision that a plan must read. The commit will be the next one.
    pub fn planned_at(&self) -> Revision {
        Revision(self.revision.0 - 1)
    }

    /// Everything that changed after `since`, as [`Store::changes_since`] has it, up to [`Self::planned_at`].
    pub fn changes_since(&mut self, since: Revision) -> Call<'_, Changes> {
        Box::pin(async move {
            let _counted = CallUnderWay::count(&self.store.under_way);
            let position = Position {
                head: self.planned_at(),
                purged_through: self.purged_through,
            };
            if position.lacks(since) {
                return Err(StoreError::TooOld { since });
            }
            sql::log::changes_between(&mut self.transaction, since, position.head).await
        })
    }

    /// Writes all changes or none. Durable when it returns.
    ///
    /// If the connection breaks during COMMIT, the store looks up whether the commit happened before this returns; if it
    /// cannot, the error is [`StoreError::InDoubt`]. After any other error nothing was written.
    pub fn commit(mut self, changes: &Changes) -> Call<'_, Revision> {
        Box::pin(async move {
            let _counted = CallUnderWay::count(&self.store.under_way);
            let revision = self.revision;
            let mark = in_doubt::new_mark()?;
            if changes.n_rows() > LARGE {
                self.transaction.widen_cache().await?;
            }
            sql::write(&mut self.transaction, revision, mark, changes).await?;
            match self.transaction.commit().await {
                Err(lost) if self.store.is_shared() => {
                    in_doubt::resolve(&self.store.database, revision, mark, lost).await
                }
                ended => ended.map(|()| revision),
            }
        })
    }

    /// Commits nothing.
    pub fn release(self) -> Call<'static, ()> {
        Box::pin(async move {
            let _counted = CallUnderWay::count(&self.store.under_way);
            self.transaction.roll_back().await
        })
    }
}
