//! Reading tasks: from memory while they are there, else from the store.

use std::sync::Arc;
use std::time::Duration;

use fleet::Fleet;
use model::access::{AccessArea, Caller, Permission};
use model::spec::Probe;
use model::{FullName, Host, Op, Outcome, TaskId, UnixMillis};

use crate::tasks::Task;
use crate::{Control, ControlError};

/// The longest that a caller may wait for a task.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// One task as a reader sees it; `targets` are in the order of the request.
#[derive(Debug, Clone)]
pub struct TaskView {
    pub id: TaskId,
    pub created_at: UnixMillis,
    pub app: String,
    pub user: String,
    pub targets: Vec<TargetView>,
    pub n_ended: usize,
}

#[derive(Debug, Clone)]
pub struct TargetView {
    /// How the caller named its host: once, or in several ways.
    pub key_prefixes: Arc<[Box<str>]>,
    pub process: Arc<FullName>,
    pub op: Op,
    pub host: Option<Host>,
    /// Where a query looked, when nothing was registered.
    pub probe: Option<Arc<Probe>>,
    /// None while it goes on (115).
    pub outcome: Option<Arc<Outcome>>,
}

impl TaskView {
    pub fn has_ended(&self) -> bool {
        self.n_ended == self.targets.len()
    }
}

impl Control {
    /// A task as it is now.
    pub async fn task(&self, caller: &Caller, id: TaskId) -> Result<Arc<TaskView>, ControlError> {
        let task = self.find_task(id).await?;
        self.check_task(caller, &task)?;
        Ok(self.view(&task))
    }

    /// The same, but waits until every target has ended or the time is over.
    pub async fn task_ended(
        &self,
        caller: &Caller,
        id: TaskId,
        wait: Duration,
    ) -> Result<Arc<TaskView>, ControlError> {
        let task = self.find_task(id).await?;
        self.check_task(caller, &task)?;
        let mut n_ended = task.n_ended.subscribe();
        let all = task.targets.len();
        // Running out of time is an answer, too.
        let _ = tokio::time::timeout(wait.min(MAX_WAIT), n_ended.wait_for(|n| *n == all)).await;
        Ok(self.view(&task))
    }

    /// Newest first. A caller who may not see every namespace sees its own.
    pub async fn tasks(
        &self,
        caller: &Caller,
        limit: u32,
        before: Option<TaskId>,
    ) -> Result<Vec<store::TaskSummary>, ControlError> {
        self.check(caller, Permission::View, AccessArea::Anything)?;
        let sees_all = caller.may(Permission::View, AccessArea::Everything);
        let sees = |summary: &store::TaskSummary| {
            sees_all || (summary.task.app == caller.app && summary.task.user == caller.user)
        };
        let (mut tasks, mut before) = (Vec::new(), before);
        while tasks.len() < limit as usize {
            let page = self.0.store.tasks(limit, before).await?;
            before = page.last().map(|summary| summary.task.id);
            let is_last = page.len() < limit as usize;
            tasks.extend(page.into_iter().filter(sees));
            if is_last {
                break;
            }
        }
        tasks.truncate(limit as usize);
        Ok(tasks)
    }

    pub(crate) async fn find_task(&self, id: TaskId) -> Result<Arc<Task>, ControlError> {
        if let Some(task) = self.0.tasks.get(id) {
            return Ok(task);
        }
        let stored = self
            .0
            .store
            .task(id)
            .await?
            .ok_or(ControlError::NoSuchTask(id))?;
        // A commit that was being folded in has it by now. What is made below nobody tells how the task goes on.
        if let Some(task) = self.0.tasks.get(id) {
            return Ok(task);
        }
        let (targets, outcomes): (Vec<_>, Vec<_>) = stored.targets.into_iter().unzip();
        let ids: Vec<_> = targets.iter().map(|target| target.op_id).collect();
        let task = Task::new(stored.task, targets);
        let outcomes = ids.into_iter().zip(outcomes);
        task.end(outcomes.filter_map(|(op, outcome)| Some((op, outcome?))));
        task.announce();
        Ok(Arc::new(task))
    }

    fn check_task(&self, caller: &Caller, task: &Task) -> Result<(), ControlError> {
        let mut checked = None;
        for target in &task.targets {
            if checked != Some(&target.process.namespace) {
                self.check(caller, Permission::View, &target.process.namespace)?;
                checked = Some(&target.process.namespace);
            }
        }
        Ok(())
    }

    fn view(&self, task: &Task) -> Arc<TaskView> {
        // The fleet is locked before the task, here and everywhere.
        let fleet = self.fleet();
        let mut progress = task.progress();
        if let Some(view) = &progress.view {
            return view.clone();
        }
        let targets = task
            .targets
            .iter()
            .zip(&progress.outcomes)
            .map(|(target, outcome)| TargetView {
                key_prefixes: target.key_prefixes.clone(),
                probe: target.probe.clone(),
                process: target.process.clone(),
                op: target.op,
                host: target.host.and_then(|id| host_of(&fleet, id)),
                outcome: outcome.clone(),
            });
        let view = Arc::new(TaskView {
            id: task.row.id,
            created_at: task.row.created_at,
            app: task.row.app.clone(),
            user: task.row.user.clone(),
            targets: targets.collect(),
            n_ended: progress.n_ended,
        });
        progress.view = Some(view.clone());
        view
    }
}

fn host_of(fleet: &Fleet, id: model::change::HostId) -> Option<Host> {
    fleet.host(id).map(|view| view.host)
}
