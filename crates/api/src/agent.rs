//! The binaries of agents, and upgrades.

use model::lenient;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::job::JobOptionsBody;
use crate::schemas::JobOptionsBodySchema;

responses! {
    pub struct AgentBinaryList {
        pub binaries: Vec<AgentBinaryRow>,
        /// The oldest version of the protocol between agents and servers that this server speaks.
        pub protocol_oldest: u32,
        /// The newest.
        pub protocol_newest: u32,
    }

    /// A binary that the server that answers hands out.
    pub struct AgentBinaryRow {
        /// `muster-agent` or `muster`.
        pub program: String,
        pub version: String,
        /// The processor, as `uname -m` names it.
        pub arch: String,
        pub bytes: u64,
        pub sha256: String,
        /// Where it can be downloaded.
        pub path: String,
    }

    /// What an upgrade of agents does.
    pub struct AgentUpgradeView {
        /// The job; null for a dry run.
        pub job: Option<u32>,
        pub version: String,
        /// How many agents are upgraded.
        pub count: usize,
        /// The first of their hosts.
        pub hosts: Vec<String>,
        pub left_out: Vec<LeftOutView>,
    }

    /// Agents of the selection that are not upgraded.
    pub struct LeftOutView {
        /// `already_so`, `away`, `not_replaceable` or `no_binary`.
        pub reason: String,
        pub count: u64,
        /// The first of their hosts.
        pub hosts: Vec<String>,
    }
}

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentUpgradeBody {
    /// The version that the agents are to be of; the newest that the server has if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Every agent. One of `all`, `hosts`, `label`, `clouds` and `from_versions` is needed; several narrow each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// The agents of these hosts: CLOUD:IP or IP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// Only hosts with a registered process that has these labels, as in the list of processes, and hosts that have them
    /// themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Only of these cloud areas.
    #[serde(
        default,
        deserialize_with = "lenient::ints",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<Vec<u32>>)]
    pub clouds: Option<Vec<i64>>,
    /// Only agents of these versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_versions: Option<Vec<String>>,
    /// How many agents must be upgraded. With another number nothing happens, and the refusal says the number.
    #[serde(
        default,
        deserialize_with = "lenient::int",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<u64>)]
    pub expect_count: Option<i64>,
    /// Only tells what would be upgraded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// `batch_size` (5% of the agents if not given), `max_failures` and `pause_secs`; no other.
    #[serde(default, deserialize_with = "lenient::object")]
    #[schema(value_type = Option<JobOptionsBodySchema>)]
    pub options: Option<JobOptionsBody>,
}

impl AgentUpgradeBody {
    /// Whether it names any agents.
    pub fn has_selection(&self) -> bool {
        self.all == Some(true)
            || self.hosts.is_some()
            || self.label.is_some()
            || self.clouds.is_some()
            || self.from_versions.is_some()
    }
}
