//! Jobs: one action on many processes, by priority and in batches.

mod options;
mod update;

pub use options::{AfterRelease, BatchSize, Gate, GateState, Isolation, JobOptions, TaskOrder};
pub use update::{JobDefinition, JobUpdate, MAX_UPDATE_DEFINITIONS, TaskUpdate};

use serde::{Deserialize, Serialize};

use crate::operation::MAX_OUTPUT;
use crate::topology::{BkProcessId, BusinessId};
use crate::{Code, FullName, Host, Invalid, Namespace, Op, OpId, UnixMillis};

/// How many tasks one job may have.
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
    UpgradeAgent,
    /// Gives processes another definition, and restarts those that need it.
    Update,
}

/// The objects that a job acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobObject {
    Process,
    ConfigFile,
    /// The agents of hosts.
    Agent,
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
    UpgradeAgent = "upgrade_agent",
    Update = "update",
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
            | Self::UnsetAuto
            | Self::Update => JobObject::Process,
            Self::Generate | Self::Release | Self::Diff => JobObject::ConfigFile,
            Self::UpgradeAgent => JobObject::Agent,
        }
    }

    /// The operation that agents execute for it.
    pub fn op(self) -> Option<Op> {
        match self {
            Self::Start => Some(Op::Start),
            Self::Stop => Some(Op::Stop),
            Self::Restart | Self::Update => Some(Op::Restart),
            Self::Reload => Some(Op::Reload),
            Self::ForceStop => Some(Op::Kill),
            Self::SetAuto => Some(Op::Manage),
            Self::UnsetAuto => Some(Op::Unmanage),
            Self::Generate | Self::Release | Self::Diff | Self::UpgradeAgent => None,
        }
    }

    /// The action that executes an operation.
    pub fn of_op(op: Op) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.op() == Some(op))
    }

    pub fn order(self) -> PriorityOrder {
        match self {
            Self::Stop | Self::Restart | Self::Update => PriorityOrder::HighFirst,
            Self::Start | Self::Reload | Self::ForceStop => PriorityOrder::LowFirst,
            Self::SetAuto
            | Self::UnsetAuto
            | Self::Generate
            | Self::Release
            | Self::Diff
            | Self::UpgradeAgent => PriorityOrder::AllAtOnce,
        }
    }
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

/// What a job acts in, which decides who may see and operate it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobArea {
    Business(BusinessId),
    /// A job over registered processes: the namespaces of its tasks, each once.
    Namespaces(Vec<Namespace>),
    /// A job over the agents of hosts: the version that they are to be of.
    Agents(String),
}

impl JobArea {
    pub fn business(&self) -> Option<BusinessId> {
        match self {
            Self::Business(business) => Some(*business),
            Self::Namespaces(_) | Self::Agents(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    pub id: JobId,
    #[serde(flatten)]
    pub area: JobArea,
    pub action: JobAction,
    /// The scope, expression or filter of the request, shown to callers.
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
    /// The user who paused it; empty while it is not paused.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub paused_by: String,
    /// When failed tasks were last retried, or `NEVER`. Earlier failures no longer block tasks.
    #[serde(default = "never")]
    pub retried_at: UnixMillis,
    /// Of a job that updates a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Box<JobUpdate>>,
}

fn never() -> UnixMillis {
    UnixMillis::NEVER
}

/// The process that a task of a job is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JobTarget {
    /// An instance of a process of a business.
    Instance {
        process: BkProcessId,
        local_inst_id: u32,
    },
    /// A registered process on one host.
    Registered { registered: FullName, host: Host },
    /// The agent of a host.
    Agent { agent: Host },
}

impl JobTarget {
    /// The process of the view, in a job of a business.
    pub fn process(&self) -> Option<BkProcessId> {
        self.instance().map(|(process, _)| process)
    }

    /// The process of the view and its `local_inst_id`, in a job of a business.
    pub fn instance(&self) -> Option<(BkProcessId, u32)> {
        match self {
            Self::Instance {
                process,
                local_inst_id,
            } => Some((*process, *local_inst_id)),
            Self::Registered { .. } | Self::Agent { .. } => None,
        }
    }
}

/// One process of a job, or one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobTaskRow {
    pub job: JobId,
    /// From 0, in the order of process id and `local_inst_id`, or in that of the options.
    pub ordinal: u32,
    #[serde(flatten)]
    pub target: JobTarget,
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
    /// While the operation has succeeded and the gate of the job is not passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateProgress>,
    /// In a job that updates a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<TaskUpdate>,
}

/// How far the process of a task has come with the gate of its job. Times are the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateProgress {
    /// When the operation succeeded.
    pub from: UnixMillis,
    /// The run that was first seen in the state that the gate asks for.
    pub seen: Option<GateRun>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRun {
    pub since: UnixMillis,
    pub pid: i32,
    /// How often the agent had started the process by itself.
    pub restarts: u32,
}

impl JobTaskRow {
    /// Names the task in a sentence: `set.module.service.process.id`, or `namespace/name on cloud:ip`.
    pub fn title(&self) -> String {
        match &self.target {
            JobTarget::Instance { .. } => crate::expression::unescaped(&self.label.expression),
            JobTarget::Registered { registered, host } => format!("{registered} on {host}"),
            JobTarget::Agent { agent } => format!("agent of {agent}"),
        }
    }
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
    crate::text::sanitize_output(output, MAX_OUTPUT);
}

/// Describes the process of a task by names, which stay true when the topology changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobTaskLabel {
    /// `set.module.service.process.id`, names escaped; jobs of earlier versions have them as they are. Empty for a registered
    /// process.
    pub expression: String,
    /// The alias; of a registered process `namespace/name`.
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

    /// Jobs of earlier versions have a business, and instances as tasks.
    #[test]
    fn rows_of_earlier_versions_are_read() {
        let old = r#"{"id":7,"business":2,"action":"start","scope":{"scope":{}},"options":{"batch_size":3},"app":"a",
            "user":"u","created_at":1,"ended_at":0,"status":"running"}"#;
        let job: JobRow = serde_json::from_str(old).unwrap();
        assert_eq!(job.area, JobArea::Business(BusinessId(2)));
        assert_eq!(
            (job.paused_by.as_str(), job.options.batch_size),
            ("", Some(3))
        );
        let json = serde_json::to_value(&job).unwrap();
        assert_eq!(
            (&json["business"], json.get("paused_by")),
            (&2.into(), None)
        );

        let old = r#"{"job":7,"ordinal":3,"process":46,"local_inst_id":2,"label":{"expression":"a.b.c.d.46",
            "bk_process_name":"d","inst_id":2,"bk_cloud_id":0,"bk_host_innerip":"10.0.0.1"},"priority":0,"unit":0,
            "status":"failed","op":null,"code":117,"reason":"away","started_at":0,"ended_at":5}"#;
        let task: JobTaskRow = serde_json::from_str(old).unwrap();
        let (process, local_inst_id) = (BkProcessId(46), 2);
        assert_eq!(
            task.target,
            JobTarget::Instance {
                process,
                local_inst_id
            }
        );
        let again: JobTaskRow =
            serde_json::from_str(&serde_json::to_string(&task).unwrap()).unwrap();
        assert_eq!(again, task);
    }

    #[test]
    fn a_job_over_registered_processes_reads_back_as_it_was_written() {
        let task = JobTaskRow {
            job: JobId(1),
            ordinal: 0,
            target: JobTarget::Registered {
                registered: "web/nginx".parse().unwrap(),
                host: "3:10.0.0.1".parse().unwrap(),
            },
            label: JobTaskLabel::default(),
            priority: 0,
            unit: 0,
            status: JobStatus::Pending,
            op: None,
            code: Code::OK,
            reason: String::new(),
            output: String::new(),
            command: String::new(),
            started_at: UnixMillis::NEVER,
            ended_at: UnixMillis::NEVER,
            gate: None,
            update: None,
        };
        let json = serde_json::to_value(&task).unwrap();
        assert_eq!(
            (&json["registered"], &json["host"]),
            (&"web/nginx".into(), &"3:10.0.0.1".into())
        );
        assert_eq!(serde_json::from_value::<JobTaskRow>(json).unwrap(), task);
        let agent = JobTaskRow {
            target: JobTarget::Agent {
                agent: "3:10.0.0.1".parse().unwrap(),
            },
            ..task
        };
        let json = serde_json::to_value(&agent).unwrap();
        assert_eq!(json["agent"], "3:10.0.0.1");
        assert_eq!(serde_json::from_value::<JobTaskRow>(json).unwrap(), agent);
        let area = JobArea::Namespaces(vec![Namespace::parse("web").unwrap()]);
        let json = serde_json::to_string(&area).unwrap();
        assert_eq!(json, r#"{"namespaces":["web"]}"#);
        assert_eq!(serde_json::from_str::<JobArea>(&json).unwrap(), area);
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
