//! The last runs of a process.

use std::borrow::Cow;

use model::UnixMillis;
use model::run_history::RunRecord;

use crate::{HostText, LastExitView};

responses! {
    /// The last runs of a process on a host, as its agent remembers them.
    pub struct RunHistory<'a> {
        /// `cloud:ip`
        #[schema(value_type = String)]
        pub host: HostText,
        /// The oldest first; at most 100.
        pub runs: Vec<RunRecordView<'a>>,
    }

    /// One run: from its start command on, also if that failed.
    pub struct RunRecordView<'a> {
        /// Counts up by one with each run on that host; `run` of the logs.
        pub number: u32,
        #[schema(value_type = i64)]
        pub began: UnixMillis,
        /// Whether it goes on.
        pub running: bool,
        /// How it ended, and when; null while it goes on, and if the agent did not see its end.
        pub end: Option<LastExitView>,
        /// How long it took in milliseconds; null without an end.
        pub duration_ms: Option<u64>,
        /// How many bytes of its output are kept; null if none are any more, or if it writes into its log.
        pub output_bytes: Option<u64>,
        /// The log that it writes into, as long as the agent knows where in it; else empty.
        pub log_path: Cow<'a, str>,
    }
}

impl From<RunRecord> for RunRecordView<'static> {
    fn from(run: RunRecord) -> Self {
        // The clock may have been set while it ran.
        let lasted = run.end.map(|end| end.at.0.saturating_sub(run.began.0));
        Self {
            number: run.number,
            began: run.began,
            running: run.is_current,
            end: run.end.map(LastExitView::from),
            duration_ms: lasted.map(|lasted| u64::try_from(lasted).unwrap_or(0)),
            output_bytes: run.output_bytes,
            log_path: run.log_path.into(),
        }
    }
}
