//! Settles tasks: those whose operation has ended, whose gate has decided, whose config file is written.

use std::sync::Arc;

use model::job::{JobStatus, JobTaskRow};
use model::{Code, Outcome, UnixMillis};

use super::super::gate::{self, Verdict};
use super::super::instance::observed;
use super::super::settle::settled;
use super::{ConfigResults, JobStep, StoredOutcomes, needs_worker};

impl JobStep<'_> {
    pub(super) fn settle(&mut self, stored: &StoredOutcomes) {
        let (action, options) = (self.job.row.action, &self.job.row.options);
        for task in &self.job.tasks {
            let is_operated = task.status == JobStatus::Running && task.gate.is_none();
            let Some(op) = task.op.filter(|_| is_operated) else {
                continue;
            };
            let outcome = match self.core.tasks.get(op.task) {
                Some(known) => known.outcome(op),
                None => match stored.get(&op) {
                    Some(Some(outcome)) => Some(outcome.clone()),
                    Some(None) => {
                        let lost = "the result of its operation is no longer kept";
                        let outcome = Outcome::plain(Code::TERMINATED, lost, self.now);
                        Some(Arc::new(outcome.into()))
                    }
                    // Dropped from memory after this step started: the next step reads it.
                    None => None,
                },
            };
            if let Some(outcome) = outcome {
                let row = settled(task, action, options, &outcome, self.now);
                let row = gate::entered(row, options, self.now);
                self.moved.insert(task.ordinal, row);
            }
        }
    }

    /// Ends tasks whose process has stayed as the gate asks, or has not.
    pub(super) fn judge_gates(&mut self) {
        let Some(asked) = self.job.row.options.gate else {
            return;
        };
        let tasks = self.job.tasks.iter();
        let waiting: Vec<JobTaskRow> = tasks
            .map(|task| self.moved.get(&task.ordinal).unwrap_or(task))
            .filter(|task| task.gate.is_some())
            .cloned()
            .collect();
        for task in waiting {
            let Some(progress) = task.gate else { continue };
            let seen = observed(self.world.fleet, &task);
            let verdict = gate::judge(asked, progress, seen.as_ref(), self.now);
            if let Verdict::Waits { check_at, .. } = verdict {
                self.gate_at = Some(self.gate_at.map_or(check_at, |at| at.min(check_at)));
            }
            if let Some(row) = gate::judged(&task, verdict, self.now) {
                self.moved.insert(task.ordinal, row);
            }
        }
    }

    /// Settles config file tasks. A task that continues with an operation stays running.
    pub(super) fn settle_config(&mut self, done: &ConfigResults) {
        for (ordinal, config) in done {
            let Some(task) = self.task(*ordinal).cloned() else {
                continue;
            };
            if !needs_worker(&task) {
                continue;
            }
            let (status, code, reason) = match &config.failed {
                Some((code, reason)) => (JobStatus::Failed, *code, reason.clone()),
                None if self.operates_after() => (JobStatus::Running, Code::OK, String::new()),
                None => (JobStatus::Succeeded, Code::OK, config.note.clone()),
            };
            let row = JobTaskRow {
                status,
                code,
                reason,
                output: config.output.clone(),
                ended_at: match status.is_over() {
                    true => self.now,
                    false => UnixMillis::NEVER,
                },
                ..task
            };
            self.moved.insert(*ordinal, row);
        }
    }
}
