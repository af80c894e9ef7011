//! Jobs and their tasks.

use std::borrow::Cow;

use model::job::JobOptions;
use model::{UnixMillis, lenient};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schemas::{ExpressionSchema, JobOptionsSchema};
use crate::{ExpressionBody, Rows, Scalar, ScopeBody};

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobBody {
    #[serde(default, deserialize_with = "lenient::int")]
    #[schema(value_type = u32, required)]
    pub business: Option<i64>,
    /// start, stop, restart, reload, force_stop, set_auto or unset_auto; or generate, release or diff of config files.
    #[serde(default)]
    #[schema(value_type = String, required)]
    pub action: Scalar,
    /// test, experience or formal; all if not given.
    #[serde(default, skip_serializing_if = "Scalar::is_absent")]
    #[schema(value_type = Option<String>)]
    pub env: Scalar,
    #[serde(
        default,
        deserialize_with = "lenient::object",
        skip_serializing_if = "Option::is_none"
    )]
    pub scope: Option<ScopeBody>,
    /// In place of `scope`.
    #[schema(value_type = Option<ExpressionSchema>)]
    pub expression: Option<ExpressionBody>,
    #[serde(default, deserialize_with = "lenient::object")]
    #[schema(value_type = Option<JobOptionsSchema>)]
    pub options: Option<JobOptionsBody>,
}

/// How a job is to go about its tasks, as callers write it: numbers may be strings.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobOptionsBody {
    pub isolation: Scalar,
    #[serde(deserialize_with = "lenient::int")]
    pub batch_size: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub max_failures: Option<i64>,
    #[serde(deserialize_with = "lenient::ints")]
    pub ignore_error_codes: Option<Vec<i64>>,
    #[serde(deserialize_with = "lenient::int")]
    pub pause_secs: Option<i64>,
    #[serde(deserialize_with = "lenient::ints")]
    pub config_template_ids: Option<Vec<i64>>,
    pub after_release: Scalar,
}

responses! {
    pub struct JobCreated {
        pub id: u32,
    }

    pub struct JobList {
        #[schema(value_type = Vec<JobView>)]
        pub jobs: Rows<JobView>,
        /// `before` of the next page; null at the end.
        pub next: Option<u32>,
    }
}

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryBody {
    /// Ordinals of the tasks; all that failed if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<u32>>,
}

responses! {
    pub struct JobRetried {
        pub id: u32,
        /// How many begin again.
        pub tasks: u32,
    }

    /// A job in short.
    pub struct JobView {
        pub id: u32,
        pub business: u32,
        pub action: Cow<'static, str>,
        /// `pending`, `running`, `succeeded` or `failed`.
        pub status: Cow<'static, str>,
        /// What it was begun for: an object with `scope` or `expression_scope`.
        #[schema(value_type = Object)]
        pub selection: serde_json::Value,
        #[schema(value_type = JobOptionsSchema)]
        pub options: JobOptions,
        pub app: String,
        pub user: String,
        #[schema(value_type = i64)]
        pub created_at: UnixMillis,
        /// 0 while it goes on.
        #[schema(value_type = i64)]
        pub ended_at: UnixMillis,
        /// The user who cancelled it; empty when it was not cancelled.
        pub cancelled_by: String,
        pub counts: JobCountsView,
    }

    /// How many tasks there are, and how many of them in each status.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct JobCountsView {
        pub total: u32,
        pub ended: u32,
        pub pending: u32,
        pub running: u32,
        pub succeeded: u32,
        pub failed: u32,
        pub ignored: u32,
    }
}

/// A job with part of its tasks.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct JobDetail {
    #[serde(flatten)]
    pub job: JobView,
    /// How many tasks match.
    pub count: usize,
    pub start: u64,
    #[schema(value_type = Vec<JobTaskView>)]
    pub tasks: Rows<JobTaskView>,
}

responses! {
    /// One instance of a job, named as it was at the beginning.
    pub struct JobTaskView {
        /// From 0; a retry names tasks by it.
        pub ordinal: u32,
        /// The id of the process.
        pub process: u32,
        pub local_inst_id: u32,
        pub inst_id: u64,
        pub name: String,
        /// `set.module.service.process.id`
        pub expression: String,
        /// `cloud:ip`
        pub host: String,
        pub priority: i32,
        /// `pending`, `running`, `succeeded`, `failed` or `ignored`.
        pub status: Cow<'static, str>,
        /// 0 unless it failed or was ignored.
        pub code: i32,
        /// Why it failed or was ignored.
        pub reason: String,
        /// What can be done about it.
        pub solutions: Vec<Cow<'static, str>>,
        pub command: String,
        /// What the command printed, or what a diff shows.
        pub output: String,
        #[schema(value_type = i64)]
        pub started_at: UnixMillis,
        #[schema(value_type = i64)]
        pub ended_at: UnixMillis,
    }
}
