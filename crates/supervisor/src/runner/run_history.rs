//! Which run of the history ended, and the history that the agent asks for.

use model::FullName;
use model::run_history::RunRecord;

use super::{Runner, SupervisedProcess};
use crate::machine::{Phase, Process};
use crate::os::kept_runs::KeptRuns;

impl Runner {
    pub(super) fn run_history(&self, name: &FullName) -> Option<Vec<RunRecord>> {
        let key = self.names.get(name)?;
        let held = self.held.get(key)?;
        let current = match (held.numbered_run, &held.process.phase) {
            (Some((_, id)), _) => Some(id),
            // It is being started.
            (None, Phase::Working(_)) => held.open_runs.newest,
            (None, _) => None,
        };
        Some(self.runs.history(name, current))
    }
}

impl SupervisedProcess {
    /// After a step of the machine: notes the run that is up now, and records the end of the one that was.
    pub(crate) fn follow_run(&mut self, before: &Process, runs: &KeptRuns) {
        let newest = self.open_runs.newest;
        if self.process.last_exit != before.last_exit
            && let Some(end) = self.process.last_exit
        {
            let was_up = before.alive().map(|alive| alive.run);
            let numbered = self.numbered_run.filter(|(run, _)| was_up == Some(*run));
            // A command that failed before anything was up is the newest run.
            if let Some(id) = numbered.map(|(_, id)| id).or(newest) {
                runs.record_end(&self.registration.name, id, end);
            }
        }
        let up = self.process.alive().map(|alive| alive.run);
        if up != self.numbered_run.map(|(run, _)| run) {
            self.numbered_run = up.zip(newest);
        }
    }
}
