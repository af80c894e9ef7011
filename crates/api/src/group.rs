//! Process groups.

use std::borrow::Cow;

use model::group::{ProcessGroup, RawProcessGroup};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::HostRef;
use crate::schemas::{GroupSchema, HostSchema};

responses! {
    pub struct GroupList<'a> {
        pub groups: Vec<HostGroups<'a>>,
    }

    pub struct HostGroups<'a> {
        /// `cloud:ip`
        pub host: String,
        #[schema(value_type = Vec<GroupSchema>)]
        pub process_group: Cow<'a, [ProcessGroup]>,
    }
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupsBody {
    #[schema(value_type = Vec<HostSchema>)]
    pub hosts: Option<Vec<HostRef>>,
    /// Replaces all groups of the namespace on these hosts; none removes them.
    #[schema(value_type = Vec<GroupSchema>)]
    #[serde(deserialize_with = "model::lenient::objects")]
    pub process_group: Option<Vec<Option<RawProcessGroup>>>,
}
