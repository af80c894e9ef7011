//! Jobs: one action on every instance of a scope, by priority and in batches.

use serde::{Deserialize, Serialize};

use crate::config_template::TemplateId;
use crate::operation::MAX_OUTPUT;
use crate::topology::{BkProcessId, BusinessId};
use crate::{Code, Invalid, Op, OpId, UnixMillis};

/// How many instances one job may have.
pub const MAX_JOB_TASKS: usize = 200_000;

number_id!(JobId);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobAction {
    Start,
    Stop,
    Restart,
    Reload,
    ForceStop,
    SetAuto,
    UnsetAuto,
    Generate,
    Release,
    Diff,
}

/// The objects that a job acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobObject {
    Process,
    ConfigFile,
}

/// The order in which the priorities of a job run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriorityOrder {
    LowFirst,
    HighFirst,
    AllAtOnce,
}

variant_names!(JobAction, as_str, {
    Start = "start",
    Stop = "stop",
    Restart = "restart",
    Reload = "reload",
    ForceStop = "force_stop",
    SetAuto = "set_auto",
    UnsetAuto = "unset_auto",
    Generate = "generate",
    Release = "release",
    Diff = "diff",
});

impl JobAction {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let known = Self::ALL.into_iter().find(|action| action.as_str() == text);
        known.ok_or_else(|| {
            let all: Vec<&str> = Self::ALL.iter().map(|action| action.as_str()).collect();
            Invalid::new(
                "job_action",
                format!("must be one of {}, not {text:?}", all.join(", ")),
            )
        })
    }

    pub fn object(self) -> JobObject {
        match self {
            Self::Start
            | Self::Stop
            | Self::Restart
            | Self::Reload
            | Self::ForceStop
            | Self::SetAuto
            | Self::UnsetAuto => JobObject::Process,
            Self::Generate | Self::Release | Self::Diff => JobObject::ConfigFile,
        }
    }

    /// The operation that agents execute for it.
    pub fn op(self) -> Option<Op> {
        match self {
            Self::Start => Some(Op::Start),
            Self::Stop => Some(Op::Stop),
            Self::Restart => Some(Op::Restart),
            Self::Reload => Some(Op::Reload),
            Self::ForceStop => Some(Op::Kill),
            Self::SetAuto => Some(Op::Manage),
            Self::UnsetAuto => Some(Op::Unmanage),
            Self::Generate | Self::Release | Self::Diff => None,
        }
    }

    pub fn order(self) -> PriorityOrder {
        match self {
            Self::Stop | Self::Restart => PriorityOrder::HighFirst,
            Self::Start | Self::Reload | Self::ForceStop => PriorityOrder::LowFirst,
            Self::SetAuto | Self::UnsetAuto | Self::Generate | Self::Release | Self::Diff => {
                PriorityOrder::AllAtOnce
            }
        }
    }
}

/// The unit within which a failure blocks later tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    #[default]
    Business,
    Set,
    Module,
    Host,
}

/// How a job executes its tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobOptions {
    pub isolation: Isolation,
    /// Tasks at a time; none means all of one priority.
    pub batch_size: Option<u32>,
    /// Up to this many failures do not block later tasks.
    pub max_failures: u32,
    /// Result codes that count as ignored instead of failed.
    pub ignore_error_codes: Vec<i64>,
    /// Between two batches.
    pub pause_secs: u32,
    /// For config files: only these templates; empty means all that are bound.
    pub config_template_ids: Vec<TemplateId>,
    /// What to do to a process after its files were released.
    pub after_release: Option<AfterRelease>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterRelease {
    Restart,
    Reload,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    #[default]
    Pending,
    Running,
    Succeeded,
    Failed,
    /// Only for tasks: there was nothing to do.
    Ignored,
}

impl JobStatus {
    pub fn is_over(self) -> bool {
        match self {
            Self::Pending | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::Ignored => true,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Ignored => "ignored",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    pub id: JobId,
    pub business: BusinessId,
    pub action: JobAction,
    /// The scope or expression of the request, shown to callers and evaluated again on a retry.
    pub scope: serde_json::Value,
    pub options: JobOptions,
    pub app: String,
    pub user: String,
    pub created_at: UnixMillis,
    /// `NEVER` while it runs.
    pub ended_at: UnixMillis,
    pub status: JobStatus,
    /// The user who cancelled it; empty if it was not cancelled.
    #[serde(default)]
    pub cancelled_by: String,
    /// When failed tasks were last retried, or `NEVER`. Earlier failures no longer block tasks.
    #[serde(default = "never")]
    pub retried_at: UnixMillis,
}

fn never() -> UnixMillis {
    UnixMillis::NEVER
}

/// One instance of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobTaskRow {
    pub job: JobId,
    /// From 0, in the order of process id and `local_inst_id`.
    pub ordinal: u32,
    pub process: BkProcessId,
    pub local_inst_id: u32,
    /// Fixed when the job starts, so that it stays true for later readers.
    pub label: JobTaskLabel,
    pub priority: i32,
    /// The id of its isolation unit: a business, set, module or host.
    pub unit: u32,
    pub status: JobStatus,
    /// The operation that executes it, or the last one that did.
    pub op: Option<OpId>,
    pub code: Code,
    /// Why it failed or was ignored; empty otherwise.
    pub reason: String,
    /// The output of the command, or the diff.
    #[serde(default)]
    pub output: String,
    /// The executed command.
    #[serde(default)]
    pub command: String,
    pub started_at: UnixMillis,
    pub ended_at: UnixMillis,
}

/// Cuts an output to [`MAX_OUTPUT`] bytes and marks the cut.
pub fn truncate_output(output: &mut String) {
    const CUT: &str = "\n… the rest is not kept\n";
    if output.len() > MAX_OUTPUT {
        output.truncate(output.floor_char_boundary(MAX_OUTPUT - CUT.len()));
        output.truncate(output.trim_end_matches('\n').len());
        output.push_str(CUT);
    }
    // A diff contains text from files of the host.
    crate::text::sanitize_lines(output, MAX_OUTPUT);
}

/// Describes an instance by names, which stay true when the topology changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobTaskLabel {
    /// `set.module.service.process.id`, names escaped; jobs of earlier versions have them as they are.
    pub expression: String,
    pub bk_process_name: String,
    pub inst_id: u64,
    pub bk_cloud_id: u32,
    pub bk_host_innerip: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncating_an_output_is_idempotent() {
        let mut output = "中".repeat(MAX_OUTPUT);
        truncate_output(&mut output);
        let once = output.clone();
        assert!(once.len() <= MAX_OUTPUT && once.ends_with("not kept\n"));
        truncate_output(&mut output);
        assert!(output == once, "cut twice");
        output.push_str("more");
        truncate_output(&mut output);
        assert!(output == once, "text after the cut was kept");
    }

    #[test]
    fn an_action_parses_from_its_name() {
        for action in JobAction::ALL {
            assert_eq!(JobAction::parse(action.as_str()).unwrap(), action);
            let json = serde_json::to_string(&action).unwrap();
            assert_eq!(json, format!("\"{}\"", action.as_str()));
            assert_eq!(action.op().is_some(), action.object() == JobObject::Process);
        }
        let refused = JobAction::parse("explode").unwrap_err();
        assert!(refused.rule.contains("force_stop"), "{refused}");
    }
}
