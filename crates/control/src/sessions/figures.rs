//! Asks an agent for the figures of a process over the last hour.

use model::access::{Caller, Permission};
use model::figures::FigureSeries;
use model::{FullName, Host};
use wire::ask::{FiguresOf, Question};

use super::Sessions;
use crate::ControlError;

/// How an agent refuses a question that it does not know.
pub(super) const UNKNOWN_QUESTION: &str = "this agent does not know the question";

impl Sessions {
    /// The figures of a process on the only host that it is on, or the given one.
    pub async fn figures(
        &self,
        caller: &Caller,
        process: &FullName,
        host: Option<Host>,
    ) -> Result<(Host, FigureSeries), ControlError> {
        let (host, _) = self.only_host((caller, Permission::View), process, host, None)?;
        let question = Question::Figures(FiguresOf {
            process: process.clone(),
        });
        let too_old = || {
            ControlError::NotFound(format!(
                "the agent of host {host} is too old to keep figures: upgrade it (muster agent upgrade)"
            ))
        };
        let answer = match self.ask(host, question).await {
            Err(ControlError::NotFound(reason)) if reason.starts_with(UNKNOWN_QUESTION) => {
                return Err(too_old());
            }
            answer => answer?.whole().await?,
        };
        let series: FigureSeries = serde_json::from_slice(&answer).map_err(|error| {
            tracing::warn!(%host, %error, "cannot read the figures of an agent");
            ControlError::Away(format!(
                "the agent of host {host} answered in no known form: it may be of another version"
            ))
        })?;
        Ok((host, series.bound()))
    }
}
