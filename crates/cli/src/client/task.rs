//! Operations and the tasks that they become.

use std::collections::BTreeMap;
use std::time::Duration;

use model::spec::Spec;
use model::{FullName, Op, UnixMillis};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fleet::process_path;
use super::{Client, PATIENCE, Page, Path};
use crate::failure::Failure;
use crate::target::HostRef;

#[derive(Debug, Clone, Serialize)]
pub struct Operate {
    pub op: Op,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<HostRef>>,
    #[serde(skip_serializing_if = "is_false")]
    pub all: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<Box<Spec>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Operated {
    pub task_id: String,
    #[serde(default)]
    pub targets: u64,
}

/// One task in a list.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TaskRow {
    pub id: String,
    pub created_at: UnixMillis,
    pub app: String,
    pub user: String,
    pub targets: u64,
    pub ended: u64,
    pub ok: u64,
}

/// One task, without its results.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TaskView {
    pub id: String,
    pub state: String,
    pub created_at: UnixMillis,
    pub app: String,
    pub user: String,
    pub counts: Counts,
}

impl TaskView {
    pub fn is_finished(&self) -> bool {
        self.state == "finished"
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Counts {
    pub total: u64,
    pub ended: u64,
    pub ok: u64,
    pub failed: u64,
}

/// One target of a task.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TargetRow {
    pub process: String,
    pub host: Option<String>,
    pub op: String,
    pub code: i32,
    pub message: String,
    pub managed: Option<bool>,
    pub command: Option<String>,
    pub exit_code: Option<i64>,
    pub exit_signal: Option<i64>,
    pub duration_ms: Option<u64>,
    pub output: Option<String>,
    pub instance: Option<Instance>,
}

/// What a query saw on the host.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Instance {
    pub pid: i64,
    pub cmdline: String,
    pub version: String,
    pub managed: bool,
    pub cpu: f64,
    pub mem: f64,
    pub rss_kib: u64,
    pub threads: u64,
    pub elapsed_secs: u64,
}

/// Which results of a task are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    All,
    Failed,
}

impl Client {
    pub fn operate(&self, name: &FullName, body: &Operate) -> Result<Operated, Failure> {
        self.post(&process_path(name).join("operate"), body)
    }

    /// The task as it is once it has ended, or when `wait` is over.
    pub fn task(&self, id: &str, wait: Duration) -> Result<TaskView, Failure> {
        // A page of one failed target: only the counts are wanted.
        let path = task_path(id)
            .query("wait", format!("{}s", wait.as_secs()))
            .query("failed", true)
            .query("limit", 1);
        self.get_within(&path, PATIENCE + wait)
    }

    pub fn targets<T: DeserializeOwned>(
        &self,
        id: &str,
        wanted: Wanted,
        limit: Option<usize>,
    ) -> Result<Page<T>, Failure> {
        let path = match wanted {
            Wanted::All => task_path(id),
            Wanted::Failed => task_path(id).query("failed", true),
        };
        self.pages(&path, "results", limit)
    }

    /// Newest first.
    pub fn tasks(&self, limit: usize, before: Option<&str>) -> Result<Value, Failure> {
        self.get(
            &Path::new("tasks")
                .query("limit", limit)
                .maybe("before", before),
        )
    }
}

fn task_path(id: &str) -> Path {
    Path::new("tasks").join(id)
}
