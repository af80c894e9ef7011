//! Tasks and the results of their targets.

use std::borrow::Cow;

use model::UnixMillis;
use model::operation::ProcessInspection;

use crate::Rows;

responses! {
    pub struct TaskList {
        pub tasks: Vec<TaskRow>,
        /// `before` of the next page; null at the end.
        pub next: Option<String>,
    }

    /// A task in short.
    pub struct TaskRow {
        pub id: String,
        pub state: Cow<'static, str>,
        #[schema(value_type = i64)]
        pub created_at: UnixMillis,
        pub app: String,
        pub user: String,
        pub targets: u32,
        pub ended: u32,
        pub ok: u32,
    }

    /// A task with part of its results.
    pub struct TaskDetail<'a> {
        pub id: String,
        /// `running` or `finished`.
        pub state: Cow<'a, str>,
        #[schema(value_type = i64)]
        pub created_at: UnixMillis,
        pub app: Cow<'a, str>,
        pub user: Cow<'a, str>,
        pub counts: Counts,
        /// How many results match.
        pub count: usize,
        pub start: u64,
        #[schema(value_type = Vec<TargetResult<'a>>)]
        pub results: Rows<TargetResult<'a>>,
    }

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct Counts {
        pub total: usize,
        pub ended: usize,
        pub ok: usize,
        pub failed: usize,
        pub running: usize,
    }

    /// How one target fared.
    pub struct TargetResult<'a> {
        /// `namespace/name`
        pub process: String,
        /// `cloud:ip`, or what the caller wrote where that names no host.
        pub host: String,
        pub op: Cow<'a, str>,
        /// 0 done, 115 while it goes on, else why not.
        pub code: i32,
        pub message: Cow<'a, str>,
        #[schema(value_type = Option<i64>)]
        pub ended_at: Option<UnixMillis>,
        /// Whether the agent keeps it as wanted from now on, where the operation changed that.
        pub managed: Option<bool>,
        /// The command that ran, if one did.
        pub command: Option<Cow<'a, str>>,
        pub exit_code: Option<i32>,
        pub exit_signal: Option<i32>,
        pub duration_ms: Option<u64>,
        /// The last 64 KiB of what it printed.
        pub output: Option<Cow<'a, str>>,
        /// What a query saw.
        #[schema(value_type = Option<Object>)]
        pub instance: Option<Cow<'a, ProcessInspection>>,
    }
}
