//! Registered processes: lists, one process, registrations.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::lenient::Object;
use model::spec::RawSpec;
use model::{Labels, Spec, UnixMillis, lenient};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

use crate::schemas::{HostSchema, SpecSchema};
use crate::{HostRef, HostText, Rows};

responses! {
    /// Part of a list, and how long the whole is.
    pub struct ProcessPage<'a> {
        pub count: u64,
        pub start: u64,
        #[schema(value_type = Vec<ProcessView<'a>>)]
        pub processes: Rows<ProcessView<'a>>,
    }

    /// One process on one host.
    pub struct ProcessView<'a> {
        pub namespace: Cow<'a, str>,
        pub name: Cow<'a, str>,
        /// `cloud:ip`
        #[schema(value_type = String)]
        pub host: HostText,
        pub agent_id: Option<Cow<'a, str>>,
        #[schema(value_type = BTreeMap<String, String>)]
        pub labels: Cow<'a, Labels>,
        /// What is wanted: `running` or `stopped`.
        pub flag: Cow<'a, str>,
        /// What is: `running`, `stopped`, or `unknown` before any agent has said.
        pub state: Cow<'a, str>,
        /// Whether the agent keeps it as wanted.
        pub managed: bool,
        /// Whether its host's agent is connected.
        pub connected: bool,
        /// Why it is as it is.
        pub message: Cow<'a, str>,
        /// −1 when not running.
        pub pid: i32,
        pub version: Cow<'a, str>,
        /// Times are milliseconds since 1970, 0 for never.
        #[schema(value_type = i64)]
        pub registered_at: UnixMillis,
        #[schema(value_type = i64)]
        pub started_at: UnixMillis,
        #[schema(value_type = i64)]
        pub reported_at: UnixMillis,
        /// Percent of the whole machine.
        pub cpu: f64,
        pub mem: f64,
        pub fd: u32,
        /// Bytes under its log path.
        pub disk: u64,
        /// Bytes per second.
        pub net: u64,
    }

    /// What is registered under one name, and where.
    pub struct ProcessDetail<'a> {
        /// `namespace/name`
        pub process: String,
        pub definitions: Vec<DefinitionView<'a>>,
        pub count: u64,
        pub start: u64,
        #[schema(value_type = Vec<ProcessView<'a>>)]
        pub processes: Rows<ProcessView<'a>>,
    }
}

/// A spec with its labels, and how many hosts use it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DefinitionView<'a> {
    #[schema(value_type = SpecSchema)]
    #[serde(serialize_with = "model::spec::serialize_as_request")]
    pub spec: Cow<'a, Spec>,
    #[schema(value_type = BTreeMap<String, String>, required)]
    #[serde(default)]
    pub labels: Cow<'a, Labels>,
    #[schema(required)]
    #[serde(default)]
    pub hosts: u32,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RegisterBody {
    #[schema(value_type = Vec<HostSchema>)]
    pub hosts: Option<Vec<HostRef>>,
    #[serde(default, deserialize_with = "lenient::labels")]
    pub labels: BTreeMap<String, String>,
    #[schema(value_type = SpecSchema)]
    pub spec: Option<SpecBody>,
}

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct HostsBody {
    #[schema(value_type = Option<Vec<HostSchema>>)]
    pub hosts: Option<Vec<HostRef>>,
}

responses! {
    /// One result per host.
    pub struct Results<'a> {
        pub results: Vec<HostResult<'a>>,
    }

    #[derive(Clone)]
    pub struct HostResult<'a> {
        /// `cloud:ip`, or what the caller wrote where that names no host.
        pub host: String,
        /// 0, or why not: 850 registered differently already, 117 no such agent, 1000400 not a host.
        pub code: i32,
        pub message: Cow<'a, str>,
    }
}

/// The spec of a request: a client writes a complete one, and the server reads the fields that are given.
#[derive(Debug, Clone)]
pub enum SpecBody {
    Complete(Box<Spec>),
    Given(Box<RawSpec>),
}

impl SpecBody {
    pub fn into_raw(self) -> RawSpec {
        match self {
            Self::Given(raw) => *raw,
            Self::Complete(spec) => serde_json::from_value(spec.to_request_json())
                .expect("a complete spec reads as one with every field given"),
        }
    }
}

impl Serialize for SpecBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Complete(spec) => model::spec::serialize_as_request(spec, serializer),
            Self::Given(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SpecBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object(raw) = Object::deserialize(deserializer)?;
        Ok(Self::Given(Box::new(raw)))
    }
}
