//! What happened to a process or a host, and how often.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::UnixMillis;

use crate::{HostText, Rows, ValueCount};

responses! {
    pub struct TimelineList<'a> {
        #[schema(value_type = Vec<TimelineRow<'a>>)]
        pub entries: Rows<TimelineRow<'a>>,
        /// `before` of the next page; null at the end.
        pub next: Option<String>,
    }

    /// One thing that happened.
    pub struct TimelineRow<'a> {
        pub id: Cow<'a, str>,
        #[schema(value_type = i64)]
        pub at: UnixMillis,
        /// `event`, `operation`, `agent`, `spec`, `config` or `health`.
        pub kind: Cow<'a, str>,
        /// The kind of an event; `start`, `stop` and so on; `agent_connected`, `agent_away`; `registered`, `updated`,
        /// `unregistered`; `released`, `config_drift`; `process_unhealthy`, `process_not_ready`, `process_ready`.
        pub code: Cow<'a, str>,
        /// Such as `hosts` (how many), `away_secs`, `path`, `md5`, `exit_code` and `exit_signal`.
        #[schema(value_type = BTreeMap<String, String>)]
        pub params: Cow<'a, BTreeMap<String, String>>,
        /// A sentence for people.
        pub text: Cow<'a, str>,
        /// `namespace/name`; null for what happened to a host.
        pub process: Option<String>,
        /// Null for what happened on several hosts, if the request names none.
        #[schema(value_type = Option<String>)]
        pub host: Option<HostText>,
        /// Empty if no person caused it.
        pub user: Cow<'a, str>,
        pub app: Cow<'a, str>,
        /// The address that the request came from.
        pub from: Cow<'a, str>,
        /// The task of an operation. Tasks are kept for two days.
        pub task_id: Option<Cow<'a, str>>,
        pub job_id: Option<u32>,
    }

    /// How many events happened, by time.
    pub struct EventCounts {
        pub bucket_secs: u64,
        /// Buckets with events, by time.
        pub buckets: Vec<EventBucket>,
        /// The values with most events, which are also those of the buckets.
        pub top: Vec<ValueCount>,
    }

    /// The events of one bucket of time.
    pub struct EventBucket {
        /// Its begin.
        #[schema(value_type = i64)]
        pub at: UnixMillis,
        pub counts: BTreeMap<String, u64>,
    }
}
