//! Jobs: one action on everything that is selected of a business.

use std::time::Duration;

use model::UnixMillis;
use model::job::{JobAction, JobOptions};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Client, Counts, PATIENCE, Page, Path};
use crate::failure::Failure;

#[derive(Debug, Clone, Serialize)]
pub struct NewJob {
    pub business: u32,
    pub action: JobAction,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<&'static str>,
    /// Joined: `set.module.service.process.id`.
    pub expression: String,
    pub options: JobOptions,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct CreatedJob {
    pub id: u32,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct RetriedJob {
    pub id: u32,
    #[serde(default)]
    pub tasks: u64,
}

/// A job without its tasks.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct JobRow {
    pub id: u32,
    pub business: u32,
    pub action: String,
    pub status: String,
    pub selection: Value,
    pub app: String,
    pub user: String,
    pub created_at: UnixMillis,
    pub ended_at: UnixMillis,
    pub cancelled_by: String,
    pub counts: JobCounts,
}

impl JobRow {
    pub fn is_over(&self) -> bool {
        !matches!(self.status.as_str(), "pending" | "running" | "")
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct JobCounts {
    pub total: u64,
    pub ended: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub ignored: u64,
}

impl From<JobCounts> for Counts {
    fn from(counts: JobCounts) -> Self {
        Self {
            total: counts.total,
            ended: counts.ended,
            ok: counts.succeeded + counts.ignored,
            failed: counts.failed,
        }
    }
}

/// One instance of a job.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct JobTaskRow {
    pub ordinal: u32,
    pub inst_id: u64,
    pub expression: String,
    pub host: String,
    pub status: String,
    pub code: i32,
    pub reason: String,
    pub solutions: Vec<String>,
    pub command: String,
    pub output: String,
    pub started_at: UnixMillis,
    pub ended_at: UnixMillis,
}

/// Which jobs are listed.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    pub business: Option<u32>,
    pub action: Option<&'static str>,
    pub status: Option<&'static str>,
    pub user: Option<String>,
    pub before: Option<u32>,
    pub limit: u16,
}

impl Client {
    pub fn create_job(&self, job: &NewJob) -> Result<CreatedJob, Failure> {
        self.post(&Path::new("jobs"), job)
    }

    /// Newest first.
    pub fn jobs(&self, filter: &JobFilter) -> Result<Value, Failure> {
        let path = Path::new("jobs")
            .maybe("business", filter.business)
            .maybe("action", filter.action)
            .maybe("status", filter.status)
            .maybe("user", filter.user.as_deref())
            .maybe("before", filter.before)
            .query("limit", filter.limit);
        self.get(&path)
    }

    /// The job without its tasks: once it is over or more than `ended` tasks have ended, or when `wait` is over.
    pub fn job<T: DeserializeOwned>(
        &self,
        id: u32,
        wait: Duration,
        ended: Option<u64>,
    ) -> Result<T, Failure> {
        // A page of one failed task: only the counts are wanted.
        let mut path = job_path(id).query("status", "failed").query("limit", 1);
        if !wait.is_zero() {
            path = path
                .query("wait", format!("{}ms", wait.as_millis()))
                .maybe("ended", ended);
        }
        self.get_within(&path, PATIENCE + wait)
    }

    pub fn job_tasks<T: DeserializeOwned>(
        &self,
        id: u32,
        status: Option<&str>,
        limit: Option<usize>,
    ) -> Result<Page<T>, Failure> {
        self.pages(&job_path(id).maybe("status", status), "tasks", limit)
    }

    /// No tasks: all that failed.
    pub fn retry_job(&self, id: u32, tasks: Option<&[u32]>) -> Result<RetriedJob, Failure> {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            tasks: Option<&'a [u32]>,
        }
        self.post(&job_path(id).join("retry"), &Body { tasks })
    }

    pub fn cancel_job(&self, id: u32) -> Result<CreatedJob, Failure> {
        self.post(&job_path(id).join("cancel"), &())
    }
}

fn job_path(id: u32) -> Path {
    Path::new("jobs").join(&id.to_string())
}
