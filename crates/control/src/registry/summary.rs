//! The fleet in a few numbers, of what a caller may see.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use fleet::ProcessCounts;
use locks::Mutex;
use model::access::{AccessArea, Caller, Permission};
use model::job::JobArea;
use model::topology::namespace_of;
use model::{Namespace, ProcessState};
use tokio::time::Instant;

use super::Registry;
use crate::ControlError;
use crate::core::Core;

/// How many summaries are kept for watchers: one for each set of namespaces that they see.
const MAX_KEPT: usize = 64;

/// For how long watchers share a summary while changes go on.
const KEPT_FOR: Duration = Duration::from_secs(1);

/// The fleet in a few numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    pub counts: ProcessCounts,
    pub n_hosts: usize,
    pub n_agents_up: usize,
    pub n_tasks_running: usize,
    pub n_jobs_running: usize,
}

impl Summary {
    /// Processes that the agent no longer starts.
    pub fn n_gave_up(&self) -> u64 {
        self.counts.in_state(ProcessState::Failed)
    }

    pub fn n_unhealthy(&self) -> u64 {
        self.counts.in_state(ProcessState::Unhealthy)
    }
}

/// Summaries for watchers: counted once for all that see the same.
#[derive(Debug, Default)]
pub(crate) struct Summaries(Mutex<HashMap<Option<Vec<Namespace>>, Kept>>);

#[derive(Debug)]
struct Kept {
    at: Instant,
    /// The number of the first change that it may not count.
    until: u64,
    summary: Arc<Summary>,
}

impl Registry {
    /// The summary of these namespaces, or of all that the caller may see. Hosts and agents are counted whole: every caller
    /// may see them. A task or a job counts if the caller may see all of it.
    pub fn summary(
        &self,
        caller: &Caller,
        namespaces: Option<Vec<Namespace>>,
    ) -> Result<Summary, ControlError> {
        if namespaces.is_none() {
            self.access
                .check(caller, Permission::View, AccessArea::Anything)?;
        }
        let visible = self.access.visible(caller, namespaces)?;
        Ok(self.core.summary(visible.as_deref()))
    }

    /// The summary for a watcher that sees these namespaces, up to [`KEPT_FOR`] old, with the number of the first change that
    /// it may not count.
    pub fn watched_summary(&self, visible: Option<Vec<Namespace>>) -> (u64, Arc<Summary>) {
        let head = self.core.watchers.head();
        {
            let kept = self.core.summaries.0.lock();
            if let Some(kept) = kept.get(&visible)
                && (kept.until >= head || kept.at.elapsed() < KEPT_FOR)
            {
                return (kept.until, kept.summary.clone());
            }
        }
        let summary = Arc::new(self.core.summary(visible.as_deref()));
        let mut kept = self.core.summaries.0.lock();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        let now = Kept {
            at: Instant::now(),
            until: head,
            summary: summary.clone(),
        };
        kept.insert(visible, now);
        (head, summary)
    }
}

impl Core {
    fn summary(&self, visible: Option<&[Namespace]>) -> Summary {
        let sees =
            |namespace: &Namespace| visible.is_none_or(|visible| visible.contains(namespace));
        let (counts, n_hosts, n_agents_up) = {
            let fleet = self.fleet();
            let n_up = fleet.hosts().filter(|host| host.link.is_up()).count();
            (fleet.process_counts(visible), fleet.n_hosts(), n_up)
        };
        let jobs = self.jobs.areas();
        let jobs = jobs.iter().filter(|area| match area {
            JobArea::Business(business) => sees(&namespace_of(*business)),
            JobArea::Namespaces(namespaces) => namespaces.iter().all(sees),
            JobArea::Agents(_) => true,
        });
        let n_tasks_running = match visible {
            None => self.tasks.n_open().0,
            Some(_) => {
                let open = self.tasks.open();
                let seen = open
                    .iter()
                    .filter(|task| task.names().namespaces.iter().all(sees));
                seen.count()
            }
        };
        Summary {
            counts,
            n_hosts,
            n_agents_up,
            n_tasks_running,
            n_jobs_running: jobs.count(),
        }
    }
}
