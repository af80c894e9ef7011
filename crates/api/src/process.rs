//! Registered processes: lists, one process, registrations.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::lenient::Object;
use model::spec::RawSpec;
use model::status::{Exit, HealthResult, LastExit, ProbeResults};
use model::{Labels, Spec, UnixMillis, lenient};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

use crate::schemas::{HostSchema, SpecSchema};
use crate::{HostRef, HostText, ReasonView, Rows};

responses! {
    /// What names begin with a text, for completion.
    pub struct NameList {
        /// `namespace/name` of processes, sorted, each once for all its hosts.
        pub names: Vec<String>,
        /// Namespaces with processes, sorted.
        pub namespaces: Vec<String>,
    }

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
        /// As its agent reported it.
        pub hostname: Option<Cow<'a, str>>,
        /// The business whose process it is an instance of.
        pub business: Option<u32>,
        #[schema(value_type = BTreeMap<String, String>)]
        pub labels: Cow<'a, Labels>,
        /// The `id` of its definition; hosts with the same one are registered alike.
        pub definition: u32,
        /// The number of the version that it has: the newest with its definition. Only with `with_versions=true`, and only where that
        /// version is kept.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub spec_version: Option<u32>,
        /// What is wanted: `running` or `stopped`.
        pub flag: Cow<'a, str>,
        /// What is: `running`, `ready` (its ready probe succeeds), `starting`, `unhealthy`, `backoff`, `failed`, `stopped`,
        /// `completed`, `scheduled`, or `unknown` before any agent has said and while its agent is away.
        pub state: Cow<'a, str>,
        /// The last known state while the agent is away, else null.
        pub was: Option<Cow<'a, str>>,
        /// When the next attempt of a `backoff` or the next run of a `scheduled` process is due, else null.
        #[schema(value_type = Option<i64>)]
        pub next_at: Option<UnixMillis>,
        /// How often the agent has started it by itself since the last operation that did; at most 65535.
        pub restarts: u32,
        /// How the last run ended; null if none has.
        pub last_exit: Option<LastExitView>,
        /// The last health check of its run; null without a health check and before the first.
        pub health: Option<HealthView<'a>>,
        /// The last results of its probes; null without probes and before the first result.
        pub probes: Option<ProbesView<'a>>,
        /// Whether its run began with an older spec, whose changes take effect only at the next start.
        pub restart_needed: bool,
        /// Whether the agent keeps it as wanted.
        pub managed: bool,
        /// Whether its host's agent is connected.
        pub connected: bool,
        /// Why it is as it is.
        pub message: Cow<'a, str>,
        /// The same for programs, and for other languages; null where everything is as wanted. The code is `unhealthy`,
        /// `not_ready` (its ready probe fails), `backoff`, `gave_up`, `down` (wanted, and does not run), `not_reported`, `agent_away` or `no_agent`, with `since`,
        /// `tried`, `exit` and `check` as it needs.
        pub reason: Option<ReasonView<'a>>,
        /// Null when there is none.
        pub pid: Option<i32>,
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
        /// Operations that the caller may not or cannot take now, each with its reason: `role`, `agent_away`, `no_command`,
        /// `not_running` (reload), or `already_running`, `already_stopped`, `already_managed`, `already_unmanaged`, which are
        /// accepted all the same.
        #[schema(value_type = BTreeMap<String, String>)]
        pub blocked: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    }

    /// How many processes match, and how many of them have each value.
    pub struct FacetList {
        /// By the whole filter.
        pub count: u64,
        /// In the order of `by`.
        pub facets: Vec<FacetView>,
    }

    /// The values of one dimension, the most frequent first. It is not narrowed by its own part of the filter.
    pub struct FacetView {
        pub by: String,
        pub values: Vec<FacetValueView>,
        /// How many values were left off.
        pub more: usize,
    }

    pub struct FacetValueView {
        /// As the filter takes it.
        pub value: String,
        /// The name of a business, set, module, service instance or cloud area.
        pub name: Option<String>,
        pub count: u64,
    }

    /// How a run ended. Neither code nor signal: the agent could not see it.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct LastExitView {
        pub code: Option<i32>,
        pub signal: Option<i32>,
        #[schema(value_type = i64)]
        pub at: UnixMillis,
        /// Whether the kernel killed it because memory was short.
        pub oom: bool,
        /// The most memory that it had used then, in bytes.
        pub memory_used: Option<u64>,
        /// The limit that it reached, in bytes; null if it has none or none is known.
        pub memory_limit: Option<u64>,
        /// Whether it ended because its host was restarted.
        pub host_restarted: bool,
    }

    /// The result of a health check or a probe.
    pub struct HealthView<'a> {
        /// False from the first failure on; the state changes after several in a row.
        pub ok: bool,
        #[schema(value_type = i64)]
        pub checked_at: UnixMillis,
        /// Why it failed.
        pub message: Cow<'a, str>,
    }

    /// The last result of each probe of its run; null without that probe and before its first result.
    pub struct ProbesView<'a> {
        pub ready: Option<HealthView<'a>>,
        pub live: Option<HealthView<'a>>,
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

impl From<LastExit> for LastExitView {
    fn from(last: LastExit) -> Self {
        let (code, signal) = match last.exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
            Exit::Unseen => (None, None),
        };
        Self {
            code,
            signal,
            at: last.at,
            oom: last.oom,
            memory_used: known(last.memory.unwrap_or_default().used),
            memory_limit: known(last.memory.unwrap_or_default().limit),
            host_restarted: last.host_restarted,
        }
    }
}

/// 0 means not known.
fn known(bytes: u64) -> Option<u64> {
    (bytes != 0).then_some(bytes)
}

impl From<HealthResult> for HealthView<'_> {
    fn from(result: HealthResult) -> Self {
        Self {
            ok: result.ok,
            checked_at: result.checked_at,
            message: result.message.into(),
        }
    }
}

impl ProbesView<'_> {
    /// None without any result.
    pub fn of(results: ProbeResults) -> Option<Self> {
        (!results.is_empty()).then(|| Self {
            ready: results.ready.map(Into::into),
            live: results.live.map(Into::into),
        })
    }
}

/// A spec with its labels, and how many hosts use it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DefinitionView<'a> {
    /// By which the rows of processes name it. A changed definition has another id.
    #[schema(required)]
    #[serde(default)]
    pub id: u32,
    #[schema(value_type = SpecSchema)]
    #[serde(serialize_with = "model::spec::serialize_as_request")]
    pub spec: Cow<'a, Spec>,
    #[schema(value_type = BTreeMap<String, String>, required)]
    #[serde(default)]
    pub labels: Cow<'a, Labels>,
    #[schema(required)]
    #[serde(default)]
    pub hosts: u32,
    /// The number of the version that it is; null where that is no longer kept, and for instances of a business.
    #[schema(required)]
    #[serde(default)]
    pub spec_version: Option<u32>,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterBody {
    #[schema(value_type = Vec<HostSchema>)]
    pub hosts: Option<Vec<HostRef>>,
    #[serde(default, deserialize_with = "lenient::labels")]
    pub labels: BTreeMap<String, String>,
    #[schema(value_type = SpecSchema)]
    pub spec: Option<SpecBody>,
}

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
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
        /// Whether anything is different now: false where it was so already.
        pub changed: bool,
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
