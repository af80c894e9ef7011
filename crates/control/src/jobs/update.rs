//! Tasks that update a process: give it another definition on their host, and restart it there if that needs a restart.
//!
//! The registration, the operation and the new row of the task are one commit, so a task changes its host once, whatever is
//! killed. What the host had before is in the row, for the job that takes this one back.

use std::collections::HashMap;

use fleet::{Definition, Fleet, Row};
use model::access::{Audit, Caller, Permission};
use model::change::Changes;
use model::job::{
    GateProgress, JobDefinition, JobId, JobRow, JobStatus, JobTaskRow, JobUpdate,
    MAX_UPDATE_DEFINITIONS, TaskUpdate,
};
use model::version::{VersionOrigin, VersionRow, VersionSource};
use model::{Code, Flag, FullName, Host, Invalid, Op, ProcessState, UnixMillis};

use super::instance::{registration, row_of};
use super::step::JobStep;
use super::{JobView, Jobs, NewUpdate};
use crate::answers::spec_lacking;
use crate::draft::{Content, Draft};
use crate::operations::OperatePlan;
use crate::registry::after::refuse_cycle;
use crate::{ControlError, secrets};

impl NewUpdate {
    /// Refuses a definition that makes a cycle of dependencies.
    pub(super) fn check_order(&self, fleet: &Fleet) -> Result<(), Invalid> {
        refuse_cycle(fleet, &self.process, &self.spec).map_err(|invalid| invalid.within("update"))
    }

    /// As a new job has it.
    pub(super) fn begun(&self) -> JobUpdate {
        JobUpdate {
            process: self.process.clone(),
            definitions: vec![JobDefinition {
                spec: self.spec.clone(),
                labels: self.labels.clone(),
            }],
            restores: self.restores,
            reverts: None,
            reverted_by: None,
            revert_asked_by: String::new(),
        }
    }
}

/// Two rolls of one process at a time could take down more of it than the batch of either.
pub(super) fn rolls_already(process: &FullName, job: JobId) -> ControlError {
    ControlError::Conflict(format!(
        "job {job} updates {process} already: wait for its end, or cancel it"
    ))
}

/// The versions that a new job asks for: the one that most of its tasks bring is the newest.
pub(super) fn versions_of(fleet: &Fleet, job: &JobRow, tasks: &[JobTaskRow]) -> Vec<VersionRow> {
    let Some(update) = &job.update else {
        return Vec::new();
    };
    let Some(name) = fleet.name_id(&update.process) else {
        return Vec::new();
    };
    let mut n_tasks: HashMap<u32, usize> = HashMap::new();
    for to in tasks
        .iter()
        .filter_map(|task| task.update)
        .map(|task| task.to)
    {
        *n_tasks.entry(to).or_default() += 1;
    }
    let mut asked: Vec<(usize, u32)> = n_tasks.into_iter().map(|(to, n)| (n, to)).collect();
    asked.sort_unstable();
    let source = match (update.reverts, update.restores) {
        (Some(_), _) => VersionSource::Revert,
        (None, Some(_)) => VersionSource::Rollback,
        (None, None) => VersionSource::Roll,
    };
    let asked = asked.into_iter().filter_map(|(_, to)| {
        let definition = update.definitions.get(to as usize)?;
        Some(VersionRow {
            name,
            spec: definition.spec.clone().into(),
            labels: definition.labels.clone().into(),
            at: job.created_at,
            origin: VersionOrigin {
                job: Some(job.id),
                restores: update.restores,
                ..VersionOrigin::new(source, &job.app, &job.user)
            },
        })
    });
    asked.collect()
}

/// Which of the definitions of its job the host of a task has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HasDefinition {
    /// What the job brings.
    New,
    /// What it had before.
    Old,
    /// Neither: it was changed by another request.
    Other,
}

impl HasDefinition {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Old => "old",
            Self::Other => "other",
        }
    }
}

/// The hash of each definition of a job.
fn hashes(update: &JobUpdate) -> Vec<u64> {
    let definitions = update.definitions.iter();
    definitions
        .map(|one| Content::new(one.spec.clone(), one.labels.clone()).hash)
        .collect()
}

/// For each task, what its host has now, with the hash of that definition; None where the process is no longer registered.
pub(super) fn held(
    fleet: &Fleet,
    update: &JobUpdate,
    tasks: &[JobTaskRow],
) -> Vec<Option<(HasDefinition, u64)>> {
    let hashes = hashes(update);
    let held = tasks.iter().map(|task| {
        let (row, of) = (row_of(fleet, task)?, task.update?);
        let hash = row.definition().hash;
        let is = |place: u32| hashes.get(place as usize) == Some(&hash);
        let has = match of.had {
            _ if is(of.to) => HasDefinition::New,
            Some(had) if !is(had) => HasDefinition::Other,
            Some(_) | None => HasDefinition::Old,
        };
        Some((has, hash))
    });
    held.collect()
}

/// Which version the hosts of a job have, by the ordinal of their task. None where the process is no longer registered.
#[derive(Debug, Clone)]
pub struct UpdateState {
    pub tasks: Vec<Option<(HasDefinition, Option<u32>)>>,
}

impl Jobs {
    /// What the hosts of a job have now; None for a job that is no update.
    pub async fn update_state(
        &self,
        caller: &Caller,
        view: &JobView,
    ) -> Result<Option<UpdateState>, ControlError> {
        self.check(caller, Permission::View, &view.job.area)?;
        let Some(update) = &view.job.update else {
            return Ok(None);
        };
        let (name, held) = {
            let fleet = self.core.fleet();
            let name = fleet.name_id(&update.process);
            (name, held(&fleet, update, &view.tasks))
        };
        let versions = match name {
            Some(name) => self.core.store.version_hashes(name).await?,
            None => Vec::new(),
        };
        let number = |hash| {
            let mut found = versions.iter().filter(|(_, known)| *known == hash);
            found.next().map(|(number, _)| *number)
        };
        let tasks = held.into_iter();
        let tasks = tasks.map(|held| held.map(|(has, hash)| (has, number(hash))));
        Ok(Some(UpdateState {
            tasks: tasks.collect(),
        }))
    }
}

/// What a task has to do.
struct Change {
    to: Content,
    /// What the host has now, unless that is the same.
    replaces: Option<JobDefinition>,
    restarts: bool,
    /// The process runs, so that the gate can judge it.
    is_up: bool,
}

impl JobStep<'_> {
    /// Changes the hosts of these tasks, and restarts what needs it.
    pub(super) fn begin_update(&mut self, mut draft: Draft<'_>, ordinals: &[u32]) -> Changes {
        let update = self.job.row.update.clone();
        let Some(mut update) = update.filter(|_| !ordinals.is_empty()) else {
            return draft.finish();
        };
        let n_known = update.definitions.len();
        let mut operated: Vec<(u32, Host, Content)> = Vec::new();
        let mut n_changed = 0;
        for ordinal in ordinals {
            let (host, begin) = match self.begins(*ordinal, &update) {
                Ok(begins) => begins,
                Err((code, reason)) => {
                    self.fail(*ordinal, code, reason);
                    continue;
                }
            };
            let Some(change) = begin else {
                self.end_update(
                    *ordinal,
                    JobStatus::Ignored,
                    "it has this definition already",
                );
                continue;
            };
            let had = match change.replaces {
                None => None,
                Some(before) => match place_of(&mut update, before) {
                    Some(place) => Some(place),
                    None => {
                        let reason = format!(
                            "its definition is one of more than {MAX_UPDATE_DEFINITIONS} that this job met: begin another job"
                        );
                        self.fail(*ordinal, Code::COMMAND_FAILED, reason);
                        continue;
                    }
                },
            };
            if had.is_some() {
                draft.replace(host, &update.process, &change.to);
                n_changed += 1;
            }
            self.note_change(*ordinal, had, change.restarts);
            match (change.restarts, self.is_away(host)) {
                (true, false) => operated.push((*ordinal, host, change.to)),
                // Only a job that takes another back comes here: what is wanted is right again.
                (true, true) => {
                    let reason = "it has its earlier definition again, and was not restarted: its agent is away";
                    self.fail(*ordinal, Code::NO_CONNECTION, reason.to_owned());
                }
                (false, _) if change.is_up && self.job.row.options.gate.is_some() => {
                    self.enter_gate(*ordinal);
                }
                (false, _) => self.end_update(*ordinal, JobStatus::Succeeded, ""),
            }
        }
        let row = &self.job.row;
        let caller = Caller {
            app: row.app.clone(),
            user: row.user.clone(),
            ..Caller::system()
        };
        let what = format!("job {}: {}", row.id, row.action.as_str());
        let changes = match operated.is_empty() {
            true => {
                let detail = format!("{} on {n_changed} hosts", update.process);
                let (action, at) = (row.action.as_str(), self.now);
                draft.audit(Audit::new(&caller, at, action, what, detail));
                draft.finish()
            }
            false => {
                let id = self.core.tasks.fresh_id(self.now, secrets::random_u32());
                let mut plan = OperatePlan::on(draft, &self.core.tasks, id);
                for (ordinal, host, content) in operated {
                    let name = update.process.clone();
                    let op = plan.add_updated(name, Op::Restart, host, content);
                    if let Some(task) = self.moved.get_mut(&ordinal) {
                        task.op = Some(op);
                    }
                }
                plan.into_changes(&caller, what)
            }
        };
        if update.definitions.len() > n_known {
            self.update = Some(update);
        }
        changes
    }

    /// What a task has to do now, None for nothing; or an error that it ends with instead.
    fn begins(
        &self,
        ordinal: u32,
        update: &JobUpdate,
    ) -> Result<(Host, Option<Change>), (Code, String)> {
        let (_, name, host) = self.target(ordinal)?;
        let task = self.task(ordinal).and_then(|task| task.update);
        let of = task.unwrap_or_default();
        let fleet = self.world.fleet;
        let row = registration(fleet, &name, host);
        let row = row.ok_or_else(|| not_registered(&name))?;
        // A host that is away gets back what it had, because it would run the new definition when it returns.
        if self.is_away(host) && update.reverts.is_none() {
            let reason = format!("can not find connection by ip {}", host.ip);
            return Err((Code::NO_CONNECTION, reason));
        }
        let wanted = update.definitions.get(of.to as usize);
        let wanted = wanted.ok_or_else(|| not_registered(&name))?;
        if let Some(lacking) = spec_lacking(fleet, host, &wanted.spec, Some(Op::Restart)) {
            return Err((Code::COMMAND_FAILED, lacking));
        }
        // Other processes may have changed since the job was created.
        refuse_cycle(fleet, &name, &wanted.spec)
            .map_err(|invalid| (Code::COMMAND_FAILED, invalid.to_string()))?;
        let to = Content::new(wanted.spec.clone(), wanted.labels.clone());
        let before = row.definition();
        let is_same = before.hash == to.hash;
        let restarts = of.restarts || (is_wanted(&row) && needs_restart(&row, before, &to));
        if is_same && !restarts {
            return Ok((host, None));
        }
        let change = Change {
            replaces: (!is_same).then(|| JobDefinition {
                spec: (*before.spec).clone(),
                labels: (*before.labels).clone(),
            }),
            restarts,
            is_up: is_wanted(&row),
            to,
        };
        Ok((host, Some(change)))
    }

    fn is_away(&self, host: Host) -> bool {
        let view = self.world.fleet.find_host(&host);
        !view.is_some_and(|view| view.link.is_up())
    }

    /// The task has begun. What its host had before its first change stays known when it is retried.
    fn note_change(&mut self, ordinal: u32, had: Option<u32>, restarts: bool) {
        let Some(task) = self.task(ordinal).cloned() else {
            return;
        };
        let of = task.update.unwrap_or_default();
        let row = JobTaskRow {
            status: JobStatus::Running,
            started_at: self.now,
            update: Some(TaskUpdate {
                had: of.had.or(had),
                restarts: of.restarts || restarts,
                ..of
            }),
            ..task
        };
        self.moved.insert(ordinal, row);
    }

    fn enter_gate(&mut self, ordinal: u32) {
        let from = self.now;
        if let Some(task) = self.moved.get_mut(&ordinal) {
            task.gate = Some(GateProgress { from, seen: None });
            // The next step judges it.
            self.gate_at = Some(from);
        }
    }

    fn end_update(&mut self, ordinal: u32, status: JobStatus, reason: &str) {
        let Some(task) = self.task(ordinal).cloned() else {
            return;
        };
        let row = JobTaskRow {
            status,
            reason: reason.to_owned(),
            started_at: match task.started_at {
                UnixMillis::NEVER => self.now,
                began => began,
            },
            ended_at: self.now,
            ..task
        };
        self.moved.insert(ordinal, row);
    }
}

fn not_registered(name: &FullName) -> (Code, String) {
    let reason = format!("{name} is no longer registered");
    (Code::NOT_REGISTERED, reason)
}

/// The place of a definition in the job, which grows by it; None when the job is full.
fn place_of(update: &mut JobUpdate, definition: JobDefinition) -> Option<u32> {
    let mut known = update.definitions.iter();
    if let Some(place) = known.position(|known| *known == definition) {
        return Some(place as u32);
    }
    if update.definitions.len() >= MAX_UPDATE_DEFINITIONS {
        return None;
    }
    update.definitions.push(definition);
    Some(update.definitions.len() as u32 - 1)
}

/// Whether the process runs, or should.
fn is_wanted(row: &Row<'_>) -> bool {
    match row.process_state() {
        ProcessState::Running
        | ProcessState::Ready
        | ProcessState::Starting
        | ProcessState::Unhealthy
        | ProcessState::Backoff => true,
        // After a crash of the server the state may be of before the last start; the flag is durable.
        ProcessState::Failed | ProcessState::Unknown | ProcessState::Stopped => {
            row.flag() == Flag::Running
        }
        // A one-shot that is done must not run again, and a periodic one takes the change with its next run.
        ProcessState::Completed | ProcessState::Scheduled => false,
    }
}

/// Whether the change takes effect only when the process is started, or an earlier one waits for that.
fn needs_restart(row: &Row<'_>, before: &Definition, to: &Content) -> bool {
    row.restart_needed() || before.spec.launch_digest() != to.spec.launch_digest()
}
