//! Tasks and the results of their targets.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::UnixMillis;
use model::operation::ProcessInspection;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{ReasonView, Rows};

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
        /// How many are as asked: done, or so before (codes 828 and 829).
        pub ok: u32,
        /// How many have ended and not well.
        pub failed: u32,
        /// `start`, `stop` and so on; null where its targets have different ones.
        pub op: Option<Cow<'static, str>>,
        /// `namespace/name` of its first target.
        pub process: String,
        /// How many different processes it has, counted among its first 1,000 targets.
        pub processes: u32,
        /// The task whose failed targets it repeats; null for other tasks.
        pub retries: Option<String>,
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
        /// The task whose failed targets it repeats; null for other tasks.
        pub retries: Option<String>,
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
        /// How many are as asked: done, or so before (codes 828 and 829).
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
        /// Of a command that failed, the line of its output that names the error.
        pub message: Cow<'a, str>,
        /// Why not, for programs and for other languages; null where it is done or goes on. The code is `agent_away`, `timed_out`,
        /// `already_running`, `not_running`, `check_failed`, `not_registered`, `command_failed` (with `exit_code` or
        /// `exit_signal`), `unknown_operation`, `exists`, `invalid_target` or `failed`.
        pub reason: Option<ReasonView<'a>>,
        /// What is wrong although it is done, such as a log that cannot be written.
        pub warning: Option<Cow<'a, str>>,
        #[schema(value_type = Option<i64>)]
        pub ended_at: Option<UnixMillis>,
        /// Whether the agent keeps it as wanted from now on, where the operation changed that.
        pub managed: Option<bool>,
        /// The command that ran, if one did.
        pub command: Option<Cow<'a, str>>,
        pub exit_code: Option<i32>,
        pub exit_signal: Option<i32>,
        /// How long the command ran.
        pub duration_ms: Option<u64>,
        /// From the request to the result, with the checks that follow the command.
        pub took_ms: Option<u64>,
        /// The last 64 KiB of what it printed.
        pub output: Option<Cow<'a, str>>,
        /// What a query saw.
        #[schema(value_type = Option<Object>)]
        pub instance: Option<InspectionView<'a>>,
        /// Why the caller may not or cannot `retry` it: `role`, `not_ended` or `not_failed`.
        #[schema(value_type = BTreeMap<String, String>)]
        pub blocked: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    }
}

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRetryBody {
    /// Only failures with one of these codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codes: Option<Vec<i32>>,
    /// Only failures with a reason like this one, as the groups of failures have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Only on these hosts: CLOUD:IP or IP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
}

responses! {
    /// The failures of a task or a job, in groups. Each failure is in one.
    pub struct FailureGroups {
        /// The largest first.
        pub groups: Vec<FailureGroupView>,
    }

    /// Failures with one code and alike reasons.
    pub struct FailureGroupView {
        pub code: i32,
        /// What all its reasons share, with … for numbers, addresses and paths in which they differ. `reason` of lists and
        /// retries takes this text.
        pub reason: String,
        pub count: usize,
        /// The first three hosts.
        pub hosts: Vec<String>,
    }
}

/// What a query saw. Its `pid` is null when there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct InspectionView<'a>(pub Cow<'a, ProcessInspection>);

impl Serialize for InspectionView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = serde_json::to_value(&self.0).map_err(S::Error::custom)?;
        if self.0.pid <= 0 {
            json["pid"] = Value::Null;
        }
        json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for InspectionView<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut json = Value::deserialize(deserializer)?;
        if json["pid"].is_null() {
            json["pid"] = (-1).into();
        }
        let seen = serde_json::from_value(json).map_err(D::Error::custom)?;
        Ok(Self(Cow::Owned(seen)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_that_is_none_is_null() {
        for (pid, shown) in [(-1, Value::Null), (77, 77.into())] {
            let seen = ProcessInspection {
                pid,
                ..ProcessInspection::default()
            };
            let view = InspectionView(Cow::Owned(seen));
            let json = serde_json::to_value(&view).unwrap();
            assert_eq!(json["pid"], shown);
            let read: InspectionView = serde_json::from_value(json).unwrap();
            assert_eq!(read, view);
        }
    }
}
