//! Asks an agent for the figures of a process over the last hour.

use model::access::{Caller, Permission};
use model::figures::FigureSeries;
use model::{FullName, Host};
use serde::de::DeserializeOwned;
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
        let series: FigureSeries = self.ask_for(host, question, "figures").await?;
        Ok((host, series.bound()))
    }

    /// Asks an agent for something that older ones do not keep.
    pub(super) async fn ask_for<T: DeserializeOwned>(
        &self,
        host: Host,
        question: Question,
        what: &str,
    ) -> Result<T, ControlError> {
        let answer = match self.ask(host, question).await {
            Err(ControlError::NotFound(reason)) if reason.starts_with(UNKNOWN_QUESTION) => {
                return Err(ControlError::NotFound(format!(
                    "the agent of host {host} is too old to keep {what}: upgrade it (muster agent upgrade)"
                )));
            }
            answer => answer?.whole().await?,
        };
        serde_json::from_slice(&answer).map_err(|error| {
            tracing::warn!(%host, %error, what, "cannot read the answer of an agent");
            ControlError::Away(format!(
                "the agent of host {host} answered in no known form: it may be of another version"
            ))
        })
    }
}
