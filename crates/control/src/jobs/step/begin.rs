//! Begins tasks: marks them as running, and creates the operations of those that need one.

use std::collections::HashSet;

use model::access::Caller;
use model::change::{Changes, ProcessId};
use model::job::{JobAction, JobStatus, JobTarget, JobTaskRow};
use model::{Code, FullName, Op, UnixMillis};

use super::super::instance::{instance_of, registration};
use super::super::settle::NO_COMMAND;
use super::{ConfigResults, JobStep, needs_worker};
use crate::draft::Draft;
use crate::operations::OperatePlan;
use crate::secrets;
use crate::topology::why_unregistered;

impl JobStep<'_> {
    /// Marks tasks as running. Workers take running tasks without an operation.
    pub(super) fn begin_config(&mut self, ordinals: &[u32]) {
        for ordinal in ordinals {
            if let Some(task) = self.task(*ordinal).cloned() {
                let row = JobTaskRow {
                    status: JobStatus::Running,
                    started_at: self.now,
                    ..task
                };
                self.moved.insert(*ordinal, row);
            }
        }
    }

    /// The tasks whose files are written, so that their processes can be operated.
    pub(super) fn written(&self, done: &ConfigResults) -> Vec<u32> {
        let ok = done.iter().filter(|(ordinal, config)| {
            let task = self.job.tasks.get(**ordinal as usize);
            config.failed.is_none() && task.is_some_and(needs_worker)
        });
        let mut ordinals: Vec<u32> = ok.map(|(ordinal, _)| *ordinal).collect();
        ordinals.sort_unstable();
        ordinals
    }

    /// Creates one operation task for all job tasks that start together.
    pub(super) fn begin(&mut self, draft: Draft<'_>, ordinals: &[u32], op: Op) -> Changes {
        let mut targets: Vec<(u32, FullName, model::Host)> = Vec::with_capacity(ordinals.len());
        let mut taken = HashSet::with_capacity(ordinals.len());
        for ordinal in ordinals {
            match self.target(*ordinal) {
                Ok((process, _, _)) if !taken.insert(process) => {
                    let reason = "what this task was for is no longer registered";
                    self.fail(*ordinal, Code::NOT_REGISTERED, reason.to_owned());
                }
                Ok((_, name, host)) => targets.push((*ordinal, name, host)),
                Err((code, reason)) => self.fail(*ordinal, code, reason),
            }
        }
        if targets.is_empty() {
            return draft.finish();
        }
        let id = self.core.tasks.fresh_id(self.now, secrets::random_u32());
        let mut plan = OperatePlan::on(draft, &self.core.tasks, id);
        for (ordinal, name, host) in targets {
            let op_id = plan.add_instance(name, op, host);
            if let Some(task) = self.task(ordinal).cloned() {
                let row = JobTaskRow {
                    status: JobStatus::Running,
                    op: Some(op_id),
                    started_at: match task.started_at {
                        UnixMillis::NEVER => self.now,
                        began => began,
                    },
                    ..task
                };
                self.moved.insert(ordinal, row);
            }
        }
        let row = &self.job.row;
        let caller = Caller {
            app: row.app.clone(),
            user: row.user.clone(),
            ..Caller::system()
        };
        let what = format!("job {}: {}", row.id, row.action.as_str());
        plan.into_changes(&caller, what)
    }

    /// The registered process of a job task.
    pub(in crate::jobs) fn target(
        &self,
        ordinal: u32,
    ) -> Result<(ProcessId, FullName, model::Host), (Code, String)> {
        let not_there = |what: &str| (Code::NOT_REGISTERED, what.to_owned());
        let task = self
            .task(ordinal)
            .ok_or_else(|| not_there("there is no such task"))?;
        let (process, local_inst_id) = match &task.target {
            JobTarget::Instance {
                process,
                local_inst_id,
            } => (*process, *local_inst_id),
            JobTarget::Registered { registered, host } => {
                let row = registration(self.world.fleet, registered, *host);
                let row = row.ok_or_else(|| not_there("process is not registered"))?;
                return Ok((row.id(), registered.clone(), *host));
            }
            JobTarget::Agent { .. } => return Err(not_there("this task is about no process")),
        };
        let row = self
            .world
            .fleet
            .view_row(process)
            .ok_or_else(|| not_there("the process is no longer in the topology"))?;
        let needs_start = match self.job.row.action {
            JobAction::Start => true,
            JobAction::Restart => row.program.restart_cmd.trim().is_empty(),
            JobAction::Stop
            | JobAction::Reload
            | JobAction::ForceStop
            | JobAction::SetAuto
            | JobAction::UnsetAuto
            | JobAction::Generate
            | JobAction::Release
            | JobAction::Diff
            | JobAction::UpgradeAgent
            | JobAction::Update => false,
        };
        if needs_start && row.program.start_cmd.trim().is_empty() {
            let reason = format!("process {} has no start_cmd", row.id());
            return Err((NO_COMMAND, reason));
        }
        let instance = instance_of(self.world.fleet, &row, local_inst_id, task)
            .ok_or_else(|| not_there(&why_unregistered(&row, local_inst_id)))?;
        let row = instance.row;
        Ok((row.id(), row.name().clone(), row.host().host))
    }
}
