//! Jobs and their tasks.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::job::JobOptions;
use model::{UnixMillis, lenient};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schemas::{ExpressionSchema, JobOptionsBodySchema, JobOptionsSchema, SpecSchema};
use crate::{ExpressionBody, FilterBody, ReasonView, Rows, Scalar, ScopeBody, SpecBody};

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobBody {
    /// Its id. Without one the job is over registered processes, which `filter` selects.
    #[serde(
        default,
        deserialize_with = "lenient::int",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<u32>)]
    pub business: Option<i64>,
    /// start, stop, restart, reload, force_stop, set_auto or unset_auto; or, of a business, generate, release or diff of
    /// config files; or update, with `update`, which gives a process another definition and restarts it where that needs a
    /// restart.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ExpressionSchema>)]
    pub expression: Option<ExpressionBody>,
    /// In place of `scope` and `expression`: the parameters of the process view, or without a business those of the list of
    /// processes. A value is a text, a number, a boolean or a list of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub filter: Option<FilterBody>,
    /// Selected processes that the job leaves out: ids, or without a business NAMESPACE/NAME@CLOUD:IP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    pub except: Option<Vec<Scalar>>,
    /// How many tasks the job must have. With another number nothing happens, and the refusal says the number.
    #[serde(
        default,
        deserialize_with = "lenient::int",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<u64>)]
    pub expect_count: Option<i64>,
    /// Only tells what the job would act on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// For the action update: what the hosts are to have. `filter` may narrow the hosts, and is all hosts if not given.
    #[serde(
        default,
        deserialize_with = "lenient::object",
        skip_serializing_if = "Option::is_none"
    )]
    pub update: Option<JobUpdateBody>,
    #[serde(default, deserialize_with = "lenient::object")]
    #[schema(value_type = Option<JobOptionsBodySchema>)]
    pub options: Option<JobOptionsBody>,
}

/// A definition for the hosts of one process: `spec` and `labels`, or those of an earlier version.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobUpdateBody {
    /// NAMESPACE/NAME
    #[serde(default)]
    #[schema(value_type = String, required)]
    pub process: Scalar,
    /// In place of `spec` and `labels`: the number of a version.
    #[serde(
        default,
        deserialize_with = "lenient::int",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<u32>)]
    pub version: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<SpecSchema>)]
    pub spec: Option<SpecBody>,
    #[serde(
        default,
        deserialize_with = "lenient::labels",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub labels: BTreeMap<String, String>,
}

/// How a job is to go about its tasks, as callers write it: numbers may be strings.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobOptionsBody {
    pub isolation: Scalar,
    /// A number, or a share such as 10%.
    pub batch_size: Scalar,
    #[serde(deserialize_with = "lenient::int")]
    pub max_failures: Option<i64>,
    #[serde(deserialize_with = "lenient::ints")]
    pub ignore_error_codes: Option<Vec<i64>>,
    #[serde(deserialize_with = "lenient::int")]
    pub pause_secs: Option<i64>,
    #[serde(deserialize_with = "lenient::ints")]
    pub config_template_ids: Option<Vec<i64>>,
    pub after_release: Scalar,
    #[serde(
        deserialize_with = "lenient::int",
        skip_serializing_if = "Option::is_none"
    )]
    pub canary: Option<i64>,
    /// Such as `ready:30s`.
    #[serde(skip_serializing_if = "Scalar::is_absent")]
    pub gate: Scalar,
    /// `priority`, `host` or `label:KEY`.
    #[serde(skip_serializing_if = "Scalar::is_absent")]
    pub order: Scalar,
    /// Of an update: take it back when too many tasks fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revert: Option<bool>,
}

responses! {
    /// A process whose operation has succeeded, and which must stay as the gate of the job asks.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct GateView {
        /// When the operation had succeeded.
        #[schema(value_type = i64)]
        pub from: UnixMillis,
        /// Since when the process is as the gate asks; 0 while it is not.
        #[schema(value_type = i64)]
        pub since: UnixMillis,
    }

    pub struct JobCreated {
        pub id: u32,
    }

    pub struct JobBegun {
        pub id: u32,
        /// How many tasks it has.
        pub targets: usize,
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
    /// Only failures with one of these codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codes: Option<Vec<i32>>,
    /// Only failures with a reason like this one, as the groups of failures have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Only on these hosts: CLOUD:IP or IP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
}

responses! {
    pub struct JobReverted {
        pub id: u32,
        /// The job that takes it back; null while tasks that are under way have to end first, after which it begins.
        pub reverted_by: Option<u32>,
    }

    pub struct JobRetried {
        pub id: u32,
        /// How many begin again.
        pub tasks: u32,
    }

    /// A job in short.
    pub struct JobView {
        pub id: u32,
        /// Null for a job over registered processes.
        pub business: Option<u32>,
        /// The namespaces of a job over registered processes; empty for a job of a business.
        pub namespaces: Vec<String>,
        pub action: Cow<'static, str>,
        /// `pending`, `running`, `succeeded` or `failed`.
        pub status: Cow<'static, str>,
        /// What it was begun for: an object with `scope`, `expression_scope` or `filter`.
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
        /// The user who paused it; empty while it is not paused. Nothing more of a paused job begins.
        pub paused_by: String,
        /// The batch under way; null once the job is over.
        pub batch: Option<BatchView>,
        pub counts: JobCountsView,
        /// Of an update; else null.
        pub update: Option<JobUpdateView>,
    }

    /// What a job updates.
    pub struct JobUpdateView {
        /// `namespace/name`
        pub process: String,
        /// The version that was asked for by its number; null for none.
        pub restores: Option<u32>,
        /// The job that this one takes back; null for none.
        pub reverts: Option<u32>,
        /// The job that takes this one back; null for none.
        pub reverted_by: Option<u32>,
    }

    /// How many hosts of an update have one version.
    pub struct JobVersionView {
        /// Its number; null where it is no longer kept.
        pub spec_version: Option<u32>,
        /// `new`: what the job brings; `old`: what they had before; `other`: what another request gave them.
        pub has: Cow<'static, str>,
        pub hosts: u32,
    }

    /// A batch of a job. Isolation units have batches of their own: this is that of the unit with the most.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct BatchView {
        /// From 1; 0 before the first begins.
        pub number: u32,
        /// How many there are.
        pub of: u32,
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
    /// Of an update: what the hosts of all its tasks have now, the most frequent first. Empty for other jobs.
    #[serde(default)]
    #[schema(required)]
    pub versions: Vec<JobVersionView>,
}

responses! {
    /// One process of a job, named as it was at the beginning.
    pub struct JobTaskView {
        /// From 0; a retry names tasks by it.
        pub ordinal: u32,
        /// The id of the process; null in a job over registered processes, as are the next two.
        pub process: Option<u32>,
        pub local_inst_id: Option<u32>,
        pub inst_id: Option<u64>,
        /// The alias; of a registered process `namespace/name`.
        pub name: String,
        /// `set.module.service.process.id`; empty in a job over registered processes.
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
        /// The same for programs, and for other languages; null unless it failed or was ignored. The code is one of results of
        /// tasks, or `earlier_failed`, `cancelled`, `not_steady`, `no_command`, `bad_template`, `template_forbidden`, `no_active_version`.
        pub cause: Option<ReasonView<'static>>,
        /// What can be done about it.
        pub solutions: Vec<Cow<'static, str>>,
        pub command: String,
        /// What the command printed, or what a diff shows.
        pub output: String,
        #[schema(value_type = i64)]
        pub started_at: UnixMillis,
        #[schema(value_type = i64)]
        pub ended_at: UnixMillis,
        /// While the task waits at the gate of the job; else null.
        pub gate: Option<GateView>,
        /// Of an update, what the host has now: `new`, `old` or `other`; else null.
        pub has: Option<Cow<'static, str>>,
        /// The number of that version; null where it is no longer kept.
        pub spec_version: Option<u32>,
        /// Why the caller may not or cannot `retry` it: `role`, `not_ended` or `not_failed`.
        #[schema(value_type = BTreeMap<String, String>)]
        pub blocked: BTreeMap<Cow<'static, str>, Cow<'static, str>>,
    }
}
