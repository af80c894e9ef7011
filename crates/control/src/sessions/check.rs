//! Asks an agent whether its host is fit for an agent.

use std::time::Duration;

use model::Host;
use model::access::{AccessArea, Caller, Permission};
use model::host_check::HostCheckReport;
use wire::ask::Question;

use super::Sessions;
use super::figures::UNKNOWN_QUESTION;
use super::question::{Unfinished, away};
use crate::ControlError;

/// The agent bounds each of its checks; all take less.
const WITHIN: Duration = Duration::from_secs(40);

impl Sessions {
    /// Has the agent check its host, which takes some seconds.
    pub async fn check_host(
        &self,
        caller: &Caller,
        host: Host,
    ) -> Result<HostCheckReport, ControlError> {
        self.access
            .check(caller, Permission::View, AccessArea::Anything)?;
        let answer = match self.ask(host, Question::Check {}).await {
            Err(ControlError::NotFound(reason)) if reason.starts_with(UNKNOWN_QUESTION) => {
                return Err(ControlError::NotFound(format!(
                    "the agent of host {host} is too old to check its host: upgrade it (muster agent upgrade)"
                )));
            }
            // The agent says that a check is under way.
            Err(ControlError::NotFound(reason)) if self.core.fleet().host_id(&host).is_some() => {
                return Err(ControlError::Busy(reason));
            }
            answer => answer?,
        };
        let answer = answer.finish(WITHIN).await.map_err(|why| match why {
            Unfinished::Refused(reason) => ControlError::Busy(reason),
            Unfinished::Disconnected => away(host),
            Unfinished::TooLate => ControlError::Away(format!(
                "the agent of host {host} did not end its check within {} s",
                WITHIN.as_secs()
            )),
            Unfinished::TooLong => {
                ControlError::Busy(format!("the answer of host {host} is too large"))
            }
        })?;
        let report: HostCheckReport = serde_json::from_slice(&answer).map_err(|error| {
            tracing::warn!(%host, %error, "cannot read the check of an agent");
            ControlError::Away(format!(
                "the agent of host {host} answered in no known form: it may be of another version"
            ))
        })?;
        Ok(report.bound())
    }
}
