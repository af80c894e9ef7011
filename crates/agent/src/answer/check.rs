//! Checks the host for the server, one check at a time.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::AnswerSource;
use super::blocking::BlockingTask;
use crate::check::{CheckSubject, check_host};

/// Clones share the limit.
#[derive(Debug, Clone)]
pub(crate) struct HostChecker {
    /// None for an agent that was started without a configuration.
    subject: Option<Arc<CheckSubject>>,
    room: Arc<Semaphore>,
}

impl HostChecker {
    pub(crate) fn new(subject: Option<CheckSubject>) -> Self {
        Self {
            subject: subject.map(Arc::new),
            room: Arc::new(Semaphore::new(1)),
        }
    }

    pub(super) fn begin(&self) -> AnswerSource {
        let Some(subject) = self.subject.clone() else {
            return AnswerSource::Refused("this agent has no configuration to check".to_owned());
        };
        // Threads that hang keep it, so that they cannot pile up.
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            let reason = "this host is being checked already, or an earlier check still hangs: try again later";
            return AnswerSource::Refused(reason.to_owned());
        };
        AnswerSource::Task(BlockingTask::begin(move || {
            let report = check_host(&subject, Arc::new(permit));
            serde_json::to_vec(&report).map_err(|error| error.to_string())
        }))
    }
}
