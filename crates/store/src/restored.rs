//! Makes a store from a backup safe to serve: agents and callers have seen what happened since the backup.
//!
//! - Revisions, ids of events and of jobs continue far above all that were given out since, so that none has two meanings. An agent
//!   compares incarnations, which are revisions; callers keep ids and positions.
//! - Operations that were under way are ended as unknown. An agent forgets old operations, and would carry out one that is sent
//!   again.
//! - Jobs that were under way are paused: what was due then may be wrong now.

use model::change::{Changes, OutcomeRow, Revision};
use model::job::JobRow;
use model::{Code, OpId, Outcome, UnixMillis};
use std::collections::HashSet;

use crate::copy::{NUMBERED, last_number, set_last_number};
use crate::sql::{Statement, revision};
use crate::{Store, StoreError};

/// More commits, events and audit entries than any installation makes between two backups.
const GAP: i64 = 1 << 32;
const JOB_GAP: i64 = 10_000;
/// Targets that one commit ends.
const BATCH: usize = 10_000;
const PAUSED_BY: &str = "muster store restore";

/// What was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    pub revision: Revision,
    pub ended_operations: usize,
    pub paused_jobs: usize,
}

impl Store {
    /// Called once for each restore, before a server opens the store.
    pub async fn begin_anew(&self, now: UnixMillis) -> Result<Restored, StoreError> {
        let mut revision = self.skip_numbers().await?;
        let loaded = self.load().await?.changes;
        let ended: HashSet<OpId> = loaded.outcomes.iter().map(|row| row.op_id).collect();
        let message = "not known: it was under way when the backup was made from which the store was restored";
        let unknown = loaded
            .targets
            .iter()
            .filter(|row| !ended.contains(&row.op_id));
        let outcomes: Vec<OutcomeRow> = unknown
            .map(|row| OutcomeRow {
                op_id: row.op_id,
                outcome: Outcome::plain(Code::TERMINATED, message, now),
            })
            .collect();
        let jobs = loaded.jobs.iter().filter(|job| job.paused_by.is_empty());
        let jobs: Vec<JobRow> = jobs
            .map(|job| JobRow {
                paused_by: PAUSED_BY.to_owned(),
                ..job.clone()
            })
            .collect();
        let restored = (outcomes.len(), jobs.len());
        for batch in outcomes.chunks(BATCH) {
            let changes = Changes {
                outcomes: batch.to_vec(),
                ..Changes::default()
            };
            revision = self.commit(revision, &changes).await?;
        }
        if !jobs.is_empty() {
            let changes = Changes {
                jobs,
                ..Changes::default()
            };
            revision = self.commit(revision, &changes).await?;
        }
        Ok(Restored {
            revision,
            ended_operations: restored.0,
            paused_jobs: restored.1,
        })
    }

    async fn skip_numbers(&self) -> Result<Revision, StoreError> {
        let mut tx = self.database.begin_exclusive().await?;
        // Followers at an older revision load everything again.
        Statement::new(
            "UPDATE revision SET head = head + $1, purged_through = head + $1, last_job = last_job + $2 WHERE one = 1",
        )
        .bind(GAP)
        .bind(JOB_GAP)
        .execute(&mut tx)
        .await?;
        Statement::new("DELETE FROM commit_log")
            .execute(&mut tx)
            .await?;
        for table in NUMBERED {
            let last = last_number(&self.database, &mut tx, table).await?;
            set_last_number(&self.database, &mut tx, table, last + GAP).await?;
        }
        let head = revision::read(&mut tx).await?.head;
        tx.commit().await?;
        Ok(head)
    }
}
