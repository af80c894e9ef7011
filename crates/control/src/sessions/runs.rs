//! Asks an agent for the last runs of a process.

use model::access::{Caller, Permission};
use model::run_history::{MAX_RUNS, RunRecord};
use model::{FullName, Host};
use wire::ask::{Question, RunsOf};

use super::Sessions;
use crate::ControlError;

impl Sessions {
    /// The last runs of a process on the only host that it is on, or the given one; the oldest first.
    pub async fn runs(
        &self,
        caller: &Caller,
        process: &FullName,
        host: Option<Host>,
    ) -> Result<(Host, Vec<RunRecord>), ControlError> {
        let (host, _) = self.only_host((caller, Permission::View), process, host, None)?;
        let question = Question::Runs(RunsOf {
            process: process.clone(),
        });
        let mut runs: Vec<RunRecord> = self.ask_for(host, question, "a history of runs").await?;
        let n_old = runs.len().saturating_sub(MAX_RUNS);
        runs.drain(..n_old);
        Ok((host, runs))
    }
}
