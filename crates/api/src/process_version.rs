//! Versions of a process: the definitions that were asked for under its name.

use std::borrow::Cow;

use model::{Labels, Spec, UnixMillis, lenient};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schemas::{HostSchema, SpecSchema};
use crate::{HostRef, Rows};

responses! {
    pub struct ProcessVersionList<'a> {
        /// `namespace/name`
        pub process: String,
        /// The newest first. The last 50 are kept.
        #[schema(value_type = Vec<ProcessVersionView<'a>>)]
        pub versions: Rows<ProcessVersionView<'a>>,
    }

    /// A field that two versions have differently.
    #[derive(PartialEq, Eq)]
    pub struct FieldChangeView {
        /// Such as `control.start_cmd` or `labels.tier`.
        pub field: String,
        /// As JSON; null where the earlier version has no such field.
        pub before: Option<String>,
        /// As JSON; null where the later version has no such field.
        pub after: Option<String>,
    }
}

/// A definition that was asked for, and which hosts have it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ProcessVersionView<'a> {
    /// From 1, rising, never used again.
    pub number: u32,
    /// 0 for what was registered before versions were kept.
    #[schema(value_type = i64)]
    pub at: UnixMillis,
    /// `register`, `update`, `operate` (with a spec of its own), `roll`, `rollback` or `revert`.
    pub source: Cow<'a, str>,
    pub app: Cow<'a, str>,
    /// Empty if no person asked for it.
    pub user: Cow<'a, str>,
    /// The job that brings it to hosts, or brought it; null for none.
    pub job_id: Option<u32>,
    /// The version whose definition it is again; null for none.
    pub restores: Option<u32>,
    /// How many hosts have it. Of versions with the same definition the newest counts.
    pub hosts: u32,
    /// How it differs from the version before it; empty where that is no longer kept.
    pub changes: Vec<FieldChangeView>,
    #[schema(value_type = SpecSchema)]
    #[serde(serialize_with = "model::spec::serialize_as_request")]
    pub spec: Cow<'a, Spec>,
    #[schema(value_type = BTreeMap<String, String>)]
    pub labels: Cow<'a, Labels>,
}

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackBody {
    /// The number of the version whose definition hosts are to have again.
    #[serde(default, deserialize_with = "lenient::int")]
    #[schema(value_type = u32, required)]
    pub to: Option<i64>,
    /// Every host where the process is registered if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<HostSchema>>)]
    pub hosts: Option<Vec<HostRef>>,
}
