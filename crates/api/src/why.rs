//! Why a process is as it is.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::UnixMillis;

use crate::{HostText, LastExitView};

responses! {
    /// Why a process on a host is as it is.
    pub struct WhyView<'a> {
        /// `namespace/name`
        pub process: String,
        /// `cloud:ip`
        #[schema(value_type = String)]
        pub host: HostText,
        pub state: Cow<'a, str>,
        /// Since when; 0 if that is not known.
        #[schema(value_type = i64)]
        pub since: UnixMillis,
        /// `running`, `ready`, `not_ready`, `starting`, `dependency` (waits for other processes), `unhealthy`, `backoff`, `gave_up`,
        /// `stopped_by`, `down` (wanted, and does not run), `not_started`, `completed`, `scheduled`, `not_reported`, `agent_away` or
        /// `no_agent`.
        pub code: Cow<'a, str>,
        /// As the code needs: `since`, `tried`, `exit`, `check`, `op`, `user`, `app`, `from`; of a `dependency`
        /// `process`, `when` and `where`, each a list in the order of the spec.
        #[schema(value_type = BTreeMap<String, String>)]
        pub params: BTreeMap<Cow<'a, str>, String>,
        /// A sentence for people.
        pub text: Cow<'a, str>,
        /// How the last run ended; null if none has.
        pub last_exit: Option<LastExitView>,
        /// Why the last run ended; null if none has.
        pub cause: Option<CauseView<'a>>,
        /// How often the agent has started it by itself since the last operation that did.
        pub tried: u32,
        /// When it starts next, else null.
        #[schema(value_type = Option<i64>)]
        pub next: Option<UnixMillis>,
        /// The last lines of the run that ended; empty if there is none, its agent is away, or the caller may not read
        /// output.
        pub output: Vec<String>,
    }

    /// Why a run ended.
    pub struct CauseView<'a> {
        /// `exit`, `signal`, `oom`, `limit`, `health`, `operator`, `host_restarted`, or `not_seen` (the agent could not see it).
        pub code: Cow<'a, str>,
        /// As the code needs: `exit_code`, `signal`, `used` and `limit` (bytes), `op`, `user`, `app`, `from`.
        #[schema(value_type = BTreeMap<String, String>)]
        pub params: BTreeMap<Cow<'a, str>, String>,
        /// A sentence for people.
        pub text: Cow<'a, str>,
        #[schema(value_type = i64)]
        pub at: UnixMillis,
    }
}
