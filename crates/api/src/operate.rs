//! Operations on processes.

use std::collections::BTreeMap;

use model::lenient::{self, Object};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schemas::{HostSchema, SpecSchema};
use crate::{HostRef, SpecBody};

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

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OperationsBody {
    #[schema(value_type = Vec<OperateBody>)]
    pub operations: Option<Vec<Object<OperateBody>>>,
}

responses! {
    /// The task that was made.
    pub struct Operated {
        pub task_id: String,
        /// How many hosts were named; one that was named twice is one target.
        pub targets: usize,
    }
}
