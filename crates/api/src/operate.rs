//! Operations on processes.

use std::collections::BTreeMap;

use model::lenient::{self, Object};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::schemas::{HostSchema, JobOptionsBodySchema, SpecSchema};
use crate::{HostRef, JobOptionsBody, SpecBody};

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OperateBody {
    /// start, stop, query, manage, unmanage, restart, reload or kill
    #[schema(required)]
    pub op: Option<String>,
    #[schema(value_type = Option<Vec<HostSchema>>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<HostRef>>,
    /// Every host where it is registered, instead of `hosts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// Stored as an update before it is operated on; query and unmanage take part of one and store nothing.
    #[schema(value_type = Option<SpecSchema>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<SpecBody>,
    #[serde(
        default,
        deserialize_with = "lenient::labels",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub labels: BTreeMap<String, String>,
    /// `namespace/name`, in a request of several operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
}

/// Either `operations`, or one operation on everything that matches a filter.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OperationsBody {
    #[schema(value_type = Option<Vec<OperateBody>>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<Vec<Object<OperateBody>>>,
    /// start, stop, query, manage, unmanage, restart, reload or kill, on what the filter matches
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// The parameters of `GET /api/v1/processes` that filter, each a text, a number, a boolean, or a list of them.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterBody>,
    /// Processes that match and are left out: `NAMESPACE/NAME@CLOUD:IP`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub except: Option<Vec<String>>,
    /// How many processes the caller expects; with another number nothing is done (409, `count_changed`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_count: Option<u64>,
    /// Only tells what would be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// Makes it a job, in batches, instead of one task.
    #[schema(value_type = Option<JobOptionsBodySchema>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<JobOptionsBody>,
}

/// A filter in a body: the parameters of a list, by name. A value is a text, a number, a boolean or a list of them.
pub type FilterBody = Map<String, Value>;

/// What a request to operate began: a task, or a job where the request has `options`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum OperationBegun {
    Task(Operated),
    Job(OperatedInBatches),
}

responses! {
    /// The task that was made.
    pub struct Operated {
        pub task_id: String,
        /// How many hosts were named; one that was named twice is one target.
        pub targets: usize,
    }

    /// The job that was made.
    pub struct OperatedInBatches {
        pub job_id: u32,
        /// How many processes it operates on.
        pub targets: usize,
    }

    /// What an operation would do, of a dry run. Counts are of processes; lists have the most frequent first.
    pub struct OperationPlanView {
        pub count: u64,
        /// How many different hosts.
        pub hosts: u64,
        pub namespaces: Vec<ValueCount>,
        /// `test`, `experience` and `formal`, of processes of a business.
        pub environments: Vec<ValueCount>,
        /// What would not have the effect that is wanted, and why.
        pub blocked: Vec<BlockedGroup>,
        /// What agents would execute: up to five different commands, or signals where there is none.
        pub commands: Vec<CommandCount>,
        /// The first five processes.
        pub sample: Vec<SampleProcess>,
    }

    pub struct ValueCount {
        pub value: String,
        pub count: u64,
    }

    /// Processes where the operation is blocked for one reason, as in `blocked` of the list of processes.
    pub struct BlockedGroup {
        pub reason: String,
        pub count: u64,
        /// The first three, `cloud:ip`.
        pub hosts: Vec<String>,
    }

    pub struct CommandCount {
        pub command: String,
        pub count: u64,
    }

    pub struct SampleProcess {
        /// `namespace/name`
        pub process: String,
        /// `cloud:ip`
        pub host: String,
    }
}
