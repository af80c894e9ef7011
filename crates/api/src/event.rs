//! Events of processes.

use std::borrow::Cow;

use model::UnixMillis;

use crate::{HostText, Rows};

responses! {
    pub struct EventList<'a> {
        #[schema(value_type = Vec<EventRow<'a>>)]
        pub events: Rows<EventRow<'a>>,
        /// `before` of the next page; null at the end.
        pub next: Option<u64>,
    }

    /// An event as lists, streams and webhooks show it.
    pub struct EventRow<'a> {
        /// Rises in the order in which the server got them; the live stream has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub id: Option<u64>,
        #[schema(value_type = i64)]
        pub at: UnixMillis,
        #[schema(value_type = String)]
        pub host: HostText,
        /// `namespace/name`
        pub process: String,
        /// `process_exit`, `process_restart_success`, …
        pub kind: Cow<'a, str>,
        /// A sentence for people.
        pub reason: Cow<'a, str>,
        /// Null unless a run ended with a code.
        pub exit_code: Option<i32>,
        /// Null unless a run was ended by a signal.
        pub exit_signal: Option<i32>,
        /// `warn_report_policy.report_id` of the process; 0 for none.
        pub report_id: i64,
    }
}
