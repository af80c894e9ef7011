//! What an agent holds, compared with what the server wants of it.

use std::borrow::Cow;

use model::UnixMillis;

use crate::ReasonView;

responses! {
    /// One host as its agent says it is.
    pub struct HeldAnswer {
        /// `cloud:ip`
        pub host: String,
        pub processes: Vec<ComparedProcess>,
        /// Live processes that pid files name and that are not the processes which the files belong to.
        pub foreign: Vec<ForeignView>,
    }

    pub struct ComparedProcess {
        /// `namespace/name`
        pub process: String,
        pub wanted: WantedView,
        /// Null when the agent does not hold it.
        pub held: Option<HeldProcessView>,
        /// Each difference in words; none when all is as wanted.
        pub differs: Vec<String>,
        /// The same differences as codes, in the same order.
        pub reasons: Vec<ReasonView<'static>>,
    }

    /// What the server wants of it.
    pub struct WantedView {
        /// Whether it is registered on this host; if not, the rest is null.
        pub registered: bool,
        /// `running`, `stopped` or `unregistered`
        pub flag: Option<Cow<'static, str>>,
        pub managed: Option<bool>,
        /// Stands for spec and labels: equal texts, equal definitions.
        pub definition: Option<String>,
        /// Tells this registration from an earlier one.
        pub incarnation: Option<u64>,
        #[schema(value_type = Option<i64>)]
        pub registered_at: Option<UnixMillis>,
    }

    /// What the agent holds.
    pub struct HeldProcessView {
        pub flag: Cow<'static, str>,
        pub managed: bool,
        pub definition: String,
        pub incarnation: u64,
        /// What is going on with it, in words.
        pub phase: String,
        pub run: Option<RunView>,
        /// Operations under way, as `task#ordinal`.
        pub operations: Vec<String>,
    }

    pub struct RunView {
        pub pid: i32,
        #[schema(value_type = i64)]
        pub started_at: UnixMillis,
    }

    pub struct ForeignView {
        /// Whose pid file it is.
        pub process: String,
        pub pid_path: String,
        pub pid: i32,
        /// Who is there instead.
        pub program: String,
        pub user: String,
    }
}
