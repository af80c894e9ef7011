//! Labels of hosts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::Labels;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schemas::HostSchema;
use crate::{HostRef, HostText};

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelHostsBody {
    #[schema(value_type = Option<Vec<HostSchema>>, required)]
    pub hosts: Option<Vec<HostRef>>,
    /// The value of each label; null removes it.
    #[schema(required)]
    pub labels: Option<BTreeMap<String, Option<String>>>,
    /// Replace values that a host has. Without it, another value refuses the whole request (409).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<bool>,
}

responses! {
    pub struct HostsLabelled<'a> {
        pub count: usize,
        /// How many of them had other labels before.
        pub changed: usize,
        /// At most the first 1000 of them.
        pub hosts: Vec<LabelledHostView<'a>>,
    }

    pub struct LabelledHostView<'a> {
        /// `cloud:ip`
        #[schema(value_type = String)]
        pub host: HostText,
        /// All its labels.
        #[schema(value_type = BTreeMap<String, String>)]
        pub labels: Cow<'a, Labels>,
        pub changed: bool,
    }
}
