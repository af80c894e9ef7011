//! Reads tasks: from memory if they are there, else from the store.

use std::sync::Arc;
use std::time::Duration;

use fleet::Fleet;
use model::access::{AccessArea, Caller, Permission};
use model::spec::Probe;
use model::{FullName, Host, Op, TaskId, UnixMillis};
use store::{TaskPage, TaskReader};

use super::{EndedTarget, KeptText, Operations, Task, kept_text};
use crate::{ControlError, HostLookup};

/// The longest time that a caller may wait for a task.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// One task; `targets` are in the order of the request.
#[derive(Debug, Clone)]
pub struct TaskView {
    pub id: TaskId,
    pub created_at: UnixMillis,
    pub app: String,
    pub user: String,
    /// The task whose failed targets it repeats.
    pub retries: Option<TaskId>,
    pub targets: Vec<TargetView>,
    pub n_ended: usize,
    texts: Vec<KeptText>,
}

#[derive(Debug, Clone)]
pub struct TargetView {
    /// The keys under which the caller named its host.
    pub key_prefixes: Arc<[Box<str>]>,
    pub process: Arc<FullName>,
    pub op: Op,
    pub host: Option<Host>,
    /// What a query looked for, when the process was not registered.
    pub probe: Option<Arc<Probe>>,
    /// None while it is running (115).
    pub outcome: Option<Arc<EndedTarget>>,
}

impl TaskView {
    pub fn has_ended(&self) -> bool {
        self.n_ended == self.targets.len()
    }

    /// The targets in parts, each with the text that a dialect keeps of it until one of them changes.
    pub fn parts(&self) -> impl Iterator<Item = (&[TargetView], &KeptText)> {
        self.targets.chunks(kept_text::TARGETS).zip(&self.texts)
    }
}

impl Operations {
    /// A task as it is now.
    pub async fn task(&self, caller: &Caller, id: TaskId) -> Result<Arc<TaskView>, ControlError> {
        let task = self.find_task(id).await?;
        self.check_task(caller, &task)?;
        Ok(self.view(&task))
    }

    /// The same, with the hosts of its targets as they are known now.
    pub async fn read_task<T>(
        &self,
        caller: &Caller,
        id: TaskId,
        write: impl FnOnce(&TaskView, HostLookup<'_>) -> T,
    ) -> Result<T, ControlError> {
        let task = self.task(caller, id).await?;
        let fleet = self.core.fleet();
        Ok(write(&task, HostLookup { fleet: &fleet }))
    }

    /// The same as `task`, but waits until every target has ended, or for `wait`.
    pub async fn wait_for_task(
        &self,
        caller: &Caller,
        id: TaskId,
        wait: Duration,
    ) -> Result<Arc<TaskView>, ControlError> {
        let task = self.find_task(id).await?;
        self.check_task(caller, &task)?;
        let mut n_ended = task.n_ended.subscribe();
        let all = task.targets.len();
        // A timeout answers with the task as it is.
        let _ = tokio::time::timeout(wait.min(MAX_WAIT), n_ended.wait_for(|n| *n == all)).await;
        Ok(self.view(&task))
    }

    /// Newest first. A caller that may not see every namespace gets the tasks within those that it may see, and its own.
    pub async fn tasks(
        &self,
        caller: &Caller,
        page: TaskPage,
    ) -> Result<Vec<store::TaskSummary>, ControlError> {
        self.access
            .check(caller, Permission::View, AccessArea::Anything)?;
        let process = page.process.as_ref().map(|name| &name.namespace);
        for namespace in page.namespaces.iter().flatten().chain(process) {
            self.access.check(caller, Permission::View, namespace)?;
        }
        let visible = caller.visible_namespaces();
        let page = TaskPage {
            visible_to: visible.map(|namespaces| TaskReader {
                namespaces,
                app: caller.app.clone(),
                user: caller.user.clone(),
            }),
            ..page
        };
        Ok(self.core.store.tasks(&page).await?)
    }

    pub(crate) async fn find_task(&self, id: TaskId) -> Result<Arc<Task>, ControlError> {
        if let Some(task) = self.core.tasks.get(id) {
            return Ok(task);
        }
        let stored = self
            .core
            .store
            .task(id)
            .await?
            .ok_or(ControlError::NoSuchTask(id))?;
        // A commit may have loaded it meanwhile. The copy that is made below gets no further outcomes.
        if let Some(task) = self.core.tasks.get(id) {
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
            let namespace = &target.process.namespace;
            if checked == Some(namespace) {
                continue;
            }
            if caller.may(Permission::View, namespace) {
                checked = Some(namespace);
                continue;
            }
            let fleet = self.core.fleet();
            let place = target.host.zip(fleet.name_id(&target.process));
            match place.and_then(|(host, name)| fleet.process(host, name)) {
                Some(row) => self.access.check_process(caller, Permission::View, &row)?,
                None => self.access.check(caller, Permission::View, namespace)?,
            }
        }
        Ok(())
    }

    fn view(&self, task: &Task) -> Arc<TaskView> {
        let mut progress = task.progress();
        if let Some(view) = &progress.view {
            return view.clone();
        }
        let fleet = self.core.fleet();
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
            retries: task.row.retries,
            targets: targets.collect(),
            n_ended: progress.n_ended,
            texts: progress.texts.clone(),
        });
        progress.view = Some(view.clone());
        view
    }
}

fn host_of(fleet: &Fleet, id: model::change::HostId) -> Option<Host> {
    fleet.address(id)
}
