//! Operations on processes: a task with one target per process. Every target ends exactly once, by its agent's result or by its
//! deadline.

mod blocked;
mod by_labels;
mod deadlines;
mod ended;
mod kept_text;
mod operate;
mod operate_matching;
mod recorder;
mod result_reason;
mod retry;
mod task;
mod tasks;

pub(crate) use blocked::command_of;
pub use blocked::{BlockReason, blocked, blocked_in_view};
pub(crate) use deadlines::run as end_overdue;
pub use ended::EndedTarget;
pub use kept_text::KeptText;
pub(crate) use operate::OperatePlan;
pub use operate::{Operate, OperateSpec};
pub(crate) use operate_matching::by_count;
pub use operate_matching::{BlockedProcesses, OperateMatching, OperationPlan};
pub(crate) use recorder::{Record, run as record};
pub use result_reason::{
    job_task_reason, job_task_retry_blocked, target_reason, target_retry_blocked,
};
pub use task::{TargetView, TaskView};
pub(crate) use tasks::{Task, Tasks};

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::core::Core;
use crate::{Access, ControlError, Replicas};

/// How many results and events may wait to be recorded before agents are slowed.
const RECORD_BACKLOG: usize = 16 * 1024;

#[derive(Debug)]
pub struct Operations {
    core: Arc<Core>,
    access: Arc<Access>,
    replicas: Arc<Replicas>,
    pub(crate) records: mpsc::Sender<Record>,
}

impl Operations {
    pub(crate) fn new(
        core: &Arc<Core>,
        access: &Arc<Access>,
        replicas: &Arc<Replicas>,
    ) -> (Self, mpsc::Receiver<Record>) {
        let (records, incoming) = mpsc::channel(RECORD_BACKLOG);
        let operations = Self {
            core: core.clone(),
            access: access.clone(),
            replicas: replicas.clone(),
            records,
        };
        (operations, incoming)
    }
}

/// Every target that may be open is.
fn too_many_open() -> ControlError {
    ControlError::Busy(format!(
        "{} operations are under way already: try again when some have ended",
        tasks::MAX_OPEN_TARGETS
    ))
}
