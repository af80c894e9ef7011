//! Removing hosts.

use std::borrow::Cow;

use model::UnixMillis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schemas::HostSchema;
use crate::{HostRef, HostText, NamedId};

/// Which hosts to remove: those of `hosts`, those that were away for `gone_for`, or with both those that are in both.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveHostsBody {
    #[schema(value_type = Option<Vec<HostSchema>>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<HostRef>>,
    /// Only hosts whose agent has been away for this long, as in `30d`. A host that never had an agent is not among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone_for: Option<String>,
    /// Also hosts whose agent is connected: its session ends. Without it, a connected host refuses the whole request (409).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// Only tells what would be removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// How many hosts the caller expects; with another number nothing is done (409, `count_changed`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_count: Option<u64>,
}

responses! {
    /// The hosts that were removed, or of a dry run, that would be.
    pub struct HostsRemoved<'a> {
        pub count: usize,
        /// False for a dry run.
        pub removed: bool,
        /// How many of the hosts have a connected agent.
        pub connected: usize,
        /// How many processes were registered on all of them. They keep running.
        pub processes: u64,
        /// At most the first 1000 of them.
        pub hosts: Vec<RemovedHost<'a>>,
    }

    pub struct RemovedHost<'a> {
        /// `cloud:ip`
        #[schema(value_type = String)]
        pub host: HostText,
        pub agent_id: Option<Cow<'a, str>>,
        /// Whether its agent was connected.
        pub connected: bool,
        /// Since when it was connected, or gone; 0 if it never was.
        #[schema(value_type = i64)]
        pub since: UnixMillis,
        /// How many processes were registered on it.
        pub processes: u32,
        /// The businesses whose process view showed it. Their next import or refresh brings it back if it still lists it.
        pub businesses: Vec<NamedId<'a>>,
    }
}
