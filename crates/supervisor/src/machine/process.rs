//! The state of one process, whatever it is doing.

use std::collections::VecDeque;

use model::status::{Exit, LastExit, OomMemory};
use model::{Flag, UnixMillis};
use serde::{Deserialize, Serialize};

use super::current_run::CurrentRun;
use super::drift::{Drift, WatchedFiles};
use super::work::Work;
use super::{MAX_QUEUE, Ticket, record, schedule};

/// The whole state of one process. What is true of one run only is in the phases that have a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) flag: Flag,
    pub(crate) managed: bool,
    pub(crate) phase: Phase,
    /// The query that is being answered.
    #[serde(default)]
    pub(crate) query: Option<Ticket>,
    #[serde(default)]
    pub(crate) queue: VecDeque<Ticket>,
    #[serde(flatten)]
    pub(crate) attempts: FailedAttempts,
    /// The sentence that the status shows.
    #[serde(default)]
    pub(crate) message: String,
    /// The last run stayed in the foreground, so the next is likely to.
    #[serde(default, rename = "stays")]
    pub(crate) stays_in_foreground: bool,
    #[serde(default, skip_serializing_if = "Drift::is_none")]
    pub(crate) drift: Drift,
    #[serde(default, skip_serializing_if = "WatchedFiles::is_empty")]
    pub(crate) watched_files: WatchedFiles,
    /// As the program last printed it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) version: String,
    /// When the last run began; kept after the run has ended.
    #[serde(default)]
    pub(crate) last_started_at: UnixMillis,
    /// Why it is down, while it is down.
    #[serde(default, skip_serializing_if = "Resting::is_stopped")]
    pub(crate) resting: Resting,
    /// How often the agent has started it by itself since the last operation that did.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) restarts: u32,
    /// How the last run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_exit: Option<LastExit>,
    #[serde(default)]
    pub(crate) forgetting: bool,
    /// The time of a scheduled run that waits for the end of the run before it; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) waiting_run: String,
    /// Until when the times of its schedule are dealt with; `NEVER` while it has none.
    #[serde(default, skip_serializing_if = "schedule::is_never")]
    pub(crate) schedule_seen: UnixMillis,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    /// The agent has not observed it yet.
    #[serde(rename = "unseen")]
    Unobserved,
    /// Not running, and nothing will change that by itself.
    Down,
    Up {
        #[serde(rename = "alive")]
        current: CurrentRun,
    },
    /// The run has ended; the agent observes whether another took its place.
    Lost {
        #[serde(rename = "alive")]
        current: CurrentRun,
        exit: Exit,
        at_boot_ms: u64,
        last_line: String,
        #[serde(
            default,
            deserialize_with = "record::oom",
            skip_serializing_if = "Option::is_none"
        )]
        oom: Option<OomMemory>,
    },
    /// Waits for its next attempt.
    Backoff {
        until_boot_ms: u64,
        /// The same by the wall clock, which is shown.
        #[serde(default)]
        until: UnixMillis,
        /// Why an attempt is needed, without the wait.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    Working(Box<Work>),
}

/// What a process that is down has come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Resting {
    /// It was stopped, or never ran.
    #[default]
    Stopped,
    /// It failed, and the agent does not start it again.
    Failed,
    /// It ran to its end, as one-shot and periodic programs do.
    Completed,
}

impl Resting {
    fn is_stopped(&self) -> bool {
        *self == Self::Stopped
    }
}

pub(super) fn is_none(number: &u32) -> bool {
    *number == 0
}

/// Restart attempts in a row without a run that lasted, and when the first of them began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FailedAttempts {
    #[serde(default, rename = "failures")]
    pub(crate) count: u32,
    #[serde(default, rename = "failing_since")]
    pub(crate) since_boot_ms: Option<u64>,
}

impl Process {
    pub(crate) fn new(flag: Flag, managed: bool) -> Self {
        Self {
            flag,
            managed,
            phase: Phase::Unobserved,
            query: None,
            queue: VecDeque::new(),
            attempts: FailedAttempts::default(),
            message: String::new(),
            stays_in_foreground: false,
            drift: Drift::default(),
            watched_files: WatchedFiles::default(),
            version: String::new(),
            last_started_at: UnixMillis::NEVER,
            resting: Resting::default(),
            restarts: 0,
            last_exit: None,
            forgetting: false,
            waiting_run: String::new(),
            schedule_seen: UnixMillis::NEVER,
        }
    }

    /// A new registration under the same name: the desired state is replaced, the observed state stays.
    pub(crate) fn register_anew(&mut self, flag: Flag, managed: bool) {
        self.flag = flag;
        self.managed = managed;
        self.attempts = FailedAttempts::default();
        self.resting = Resting::Stopped;
        self.restarts = 0;
        self.last_exit = None;
        match self.phase {
            Phase::Down | Phase::Lost { .. } | Phase::Backoff { .. } => {
                self.phase = Phase::Unobserved;
                self.message.clear();
            }
            Phase::Unobserved | Phase::Up { .. } | Phase::Working(_) => {}
        }
    }

    /// Queues an operation, to begin at the next step; false when the queue is full. The operation must be in the journal
    /// before that step.
    pub(crate) fn accept(&mut self, ticket: Ticket) -> bool {
        let fits = self.queue.len() < MAX_QUEUE;
        if fits {
            self.queue.push_back(ticket);
        }
        fits
    }

    /// The run that the facts and faults of this process are about.
    pub(super) fn current(&self) -> Option<&CurrentRun> {
        match &self.phase {
            Phase::Up { current } => Some(current),
            Phase::Working(work) => work.before.as_ref(),
            Phase::Unobserved | Phase::Down | Phase::Lost { .. } | Phase::Backoff { .. } => None,
        }
    }

    pub(super) fn current_mut(&mut self) -> Option<&mut CurrentRun> {
        match &mut self.phase {
            Phase::Up { current } => Some(current),
            Phase::Working(work) => work.before.as_mut(),
            Phase::Unobserved | Phase::Down | Phase::Lost { .. } | Phase::Backoff { .. } => None,
        }
    }

    pub(super) fn work(&self) -> Option<&Work> {
        match &self.phase {
            Phase::Working(work) => Some(work),
            Phase::Unobserved
            | Phase::Down
            | Phase::Up { .. }
            | Phase::Lost { .. }
            | Phase::Backoff { .. } => None,
        }
    }

    /// The operation under way.
    pub(crate) fn operation(&self) -> Option<Ticket> {
        self.work().and_then(Work::ticket)
    }

    /// Every accepted operation that has not ended, in order.
    pub(crate) fn operations(&self) -> impl Iterator<Item = Ticket> + '_ {
        let current = self.operation().into_iter().chain(self.query);
        current.chain(self.queue.iter().copied())
    }

    /// A start command was executed, and its result is not known yet. A process that is forgotten now could not be found
    /// again: the agent writes the pid file of a foreground program when it is up.
    pub(super) fn is_coming_up(&self) -> bool {
        self.work().is_some_and(|work| work.step.has_started())
    }
}
