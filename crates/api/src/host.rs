//! Hosts and their agents, and how a request names a host.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use model::{AgentId, Host, Labels, UnixMillis};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use crate::{Rows, Scalar};

responses! {
    pub struct HostPage<'a> {
        pub count: usize,
        pub start: u64,
        #[schema(value_type = Vec<HostRow<'a>>)]
        pub hosts: Rows<HostRow<'a>>,
    }

    /// One machine, and the agent on it.
    pub struct HostRow<'a> {
        /// `cloud:ip`
        #[schema(value_type = String)]
        pub host: HostText,
        pub agent_id: Option<Cow<'a, str>>,
        pub connected: bool,
        /// Since when it is connected, or gone; 0 if it never was.
        #[schema(value_type = i64)]
        pub since: UnixMillis,
        /// When its agent got its certificate; 0 for a host that was only named.
        #[schema(value_type = i64)]
        pub enrolled_at: UnixMillis,
        pub version: Option<Cow<'a, str>>,
        /// Whether the agent runs as root.
        pub root: Option<bool>,
        pub hostname: Option<Cow<'a, str>>,
        pub kernel: Option<Cow<'a, str>>,
        pub cores: Option<u32>,
        pub memory_kib: Option<u64>,
        /// Its processor, as `uname -m` names it.
        pub arch: Option<Cow<'a, str>>,
        /// The program that runs as the agent, if the server can replace it; empty if it cannot.
        pub program: Option<Cow<'a, str>>,
        /// The oldest version of the protocol with servers that it speaks; 0 where that is not known.
        pub protocol_oldest: Option<u32>,
        /// The newest.
        pub protocol: Option<u32>,
        /// What the agent does without because its kernel does not offer or permit it: `pidfd_open`, `pidfd_send_signal`,
        /// `clone3`, `close_range`, `cgroups`, `cgroup.kill`.
        pub missing: Vec<Cow<'a, str>>,
        /// The address of the relay that its agent connects through, as the server sees it.
        pub relay: Option<Cow<'a, str>>,
        #[schema(value_type = BTreeMap<String, String>)]
        pub labels: Cow<'a, Labels>,
        /// How many processes are registered on it.
        pub processes: u32,
        /// How many of those that the caller may see are in each state; states without one are left out.
        #[schema(value_type = BTreeMap<String, u32>)]
        pub states: BTreeMap<Cow<'a, str>, u32>,
    }

    /// What holds all words of a search, the first of each kind.
    pub struct SearchResult<'a> {
        /// `namespace/name`, each once for all its hosts.
        pub processes: Vec<String>,
        pub namespaces: Vec<Cow<'a, str>>,
        pub hosts: Vec<FoundHost<'a>>,
        pub businesses: Vec<FoundBusiness<'a>>,
        pub templates: Vec<FoundTemplate<'a>>,
    }

    pub struct FoundHost<'a> {
        /// `cloud:ip`
        #[schema(value_type = String)]
        pub host: HostText,
        pub hostname: Option<Cow<'a, str>>,
    }

    pub struct FoundBusiness<'a> {
        pub id: u32,
        pub name: Cow<'a, str>,
    }

    pub struct FoundTemplate<'a> {
        pub business: u32,
        pub id: u32,
        pub name: Cow<'a, str>,
    }
}

/// A host in a response: the server writes a [`Host`], and a client reads any text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostText {
    Host(Host),
    Text(String),
}

impl Default for HostText {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<Host> for HostText {
    fn from(host: Host) -> Self {
        Self::Host(host)
    }
}

impl fmt::Display for HostText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => host.fmt(f),
            Self::Text(text) => f.pad(text),
        }
    }
}

impl Serialize for HostText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HostText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::Text)
    }
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentIdBody {
    /// At most 64 letters, digits, '-', '_' and '.'.
    #[schema(required)]
    pub agent_id: Option<String>,
}

/// One host as a caller names it: `"0:10.0.0.1"`, `"10.0.0.1"`, `{"ip", "cloud_id"}` or `{"agent_id"}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum HostRef {
    Text(String),
    Parts(HostParts),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostParts {
    #[serde(skip_serializing_if = "Scalar::is_absent")]
    pub ip: Scalar,
    #[serde(skip_serializing_if = "Scalar::is_absent")]
    pub cloud_id: Scalar,
    #[serde(skip_serializing_if = "Scalar::is_absent")]
    pub agent_id: Scalar,
}

impl From<Host> for HostRef {
    fn from(host: Host) -> Self {
        Self::Text(host.to_string())
    }
}

impl From<AgentId> for HostRef {
    fn from(id: AgentId) -> Self {
        Self::Parts(HostParts {
            agent_id: id.as_str().into(),
            ..HostParts::default()
        })
    }
}

impl<'de> Deserialize<'de> for HostRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RefVisitor;

        impl<'de> Visitor<'de> for RefVisitor {
            type Value = HostRef;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"CLOUD:IP\", or an object with ip and cloud_id, or with agent_id")
            }

            fn visit_str<E>(self, text: &str) -> Result<HostRef, E> {
                Ok(HostRef::Text(text.trim().to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HostRef, A::Error> {
                HostParts::deserialize(MapAccessDeserializer::new(map)).map(HostRef::Parts)
            }
        }

        deserializer.deserialize_any(RefVisitor)
    }
}
