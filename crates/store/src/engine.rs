//! What an engine promises, and the one list of engines.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use model::change::{Changes, HostId, Revision};
use model::config_template::ContentId;
use model::job::JobId;
use model::{TaskId, UnixMillis};

use crate::sqlite::Sqlite;
use crate::{
    AuditPage, AuditRow, EventPage, JobPage, JobSummary, Letter, Loaded, StoreError, StoredEvent,
    StoredJob, StoredTask, TaskSummary,
};

/// The methods of [`crate::Store`]; their promises are written there.
#[async_trait]
pub(crate) trait Engine: Send + Sync + std::fmt::Debug {
    async fn load(&self) -> Result<Loaded, StoreError>;
    async fn head(&self) -> Result<Revision, StoreError>;
    async fn commit(&self, planned_at: Revision, changes: &Changes)
    -> Result<Revision, StoreError>;
    async fn changes_since(&self, since: Revision) -> Result<(Revision, Changes), StoreError>;
    async fn task(&self, id: TaskId) -> Result<Option<StoredTask>, StoreError>;
    async fn tasks(
        &self,
        limit: u32,
        before: Option<TaskId>,
    ) -> Result<Vec<TaskSummary>, StoreError>;
    async fn job(&self, id: JobId) -> Result<Option<StoredJob>, StoreError>;
    async fn jobs(&self, page: &JobPage) -> Result<Vec<JobSummary>, StoreError>;
    async fn last_job_id(&self) -> Result<JobId, StoreError>;
    async fn content(&self, id: ContentId) -> Result<Option<Arc<str>>, StoreError>;
    async fn audit(&self, page: &AuditPage) -> Result<Vec<AuditRow>, StoreError>;
    async fn events(&self, page: &EventPage) -> Result<Vec<StoredEvent>, StoreError>;
    async fn events_after(&self, id: u64, limit: u32) -> Result<Vec<StoredEvent>, StoreError>;
    async fn events_of(&self, revision: Revision) -> Result<Vec<(HostId, u64)>, StoreError>;
    async fn delivered(&self, webhook: &str) -> Result<Option<u64>, StoreError>;
    async fn save_delivered(&self, webhook: &str, through: u64) -> Result<(), StoreError>;
    async fn setting(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;
    async fn put_setting_if_absent(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError>;
    async fn save_status(&self, shards: &[(u32, Vec<u8>)]) -> Result<(), StoreError>;
    async fn purge(
        &self,
        before: UnixMillis,
        tombstones_through: Revision,
    ) -> Result<(), StoreError>;
    async fn purge_events(&self, before: UnixMillis) -> Result<(), StoreError>;
    async fn purge_jobs(&self, before: UnixMillis) -> Result<(), StoreError>;
    fn is_shared(&self) -> bool;
    async fn take_lease(
        &self,
        name: &str,
        holder: u64,
        lasting: Duration,
    ) -> Result<bool, StoreError>;
    async fn release_lease(&self, name: &str, holder: u64) -> Result<(), StoreError>;
    async fn send_mail(&self, from: u64, bodies: &[Vec<u8>]) -> Result<(), StoreError>;
    async fn mail_after(
        &self,
        id: u64,
        not_from: u64,
        limit: u32,
    ) -> Result<Vec<Letter>, StoreError>;
    async fn last_mail(&self) -> Result<u64, StoreError>;
    async fn purge_mail(&self, older_than: Duration) -> Result<(), StoreError>;
    async fn close(&self);
}

/// The scheme of the URL chooses the engine.
pub(crate) async fn open(url: &str) -> Result<Arc<dyn Engine>, StoreError> {
    match url.split_once(':') {
        Some(("sqlite", path)) if !path.is_empty() && path != ":memory:" => {
            Ok(Arc::new(Sqlite::open(path).await?))
        }
        _ => Err(StoreError::Unsupported {
            url: url.to_owned(),
        }),
    }
}
