//! The handle of the supervisor: open, then run.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::Invalid;
use tokio::sync::{mpsc, watch};

use crate::journal::entry::{Entry, JournalState};
use crate::journal::{self, Extent, Journal};
use crate::machine::Boot;
use crate::os::{clock, kept_runs};
use crate::runner::Runner;
use crate::{Notice, Recovered, Registration, Request};

pub const DEFAULT_OUTPUT_RUNS: u32 = 3;
pub const DEFAULT_OUTPUT_MAX: u64 = 1024 * 1024;

/// Settings. The defaults are for production; tests use shorter periods.
#[derive(Debug, Clone)]
pub struct Options {
    /// How often usage is sampled and processes that are down are observed.
    pub sample_every: Duration,
    /// Percent of one core that this agent process may use before it samples less often; `None` for no limit.
    pub cpu_max: Option<u32>,
    /// The shortest time between two reports of usage.
    pub report_usage_every: Duration,
    /// How often the bytes under `log_path` are counted.
    pub count_disk_every: Duration,
    /// How often `health_cmd` is run, and how long it may take.
    pub check_health_every: Duration,
    pub health_timeout: Duration,
    /// How often the files of `configmap` are read.
    pub check_config_every: Duration,
    /// The journal is rewritten when it is larger than this and mostly superseded.
    pub journal_bytes: u64,
    pub control_groups: ControlGroups,
    /// Of how many runs of a process the output is kept.
    pub output_runs: u32,
    /// How much of the output of one run is kept, in bytes on disk.
    pub output_max: u64,
}

/// Whether each process gets a control group of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ControlGroups {
    /// If the kernel offers them and the agent may create them.
    #[default]
    Auto,
    /// `/proc` alone, and no hard limits.
    Off,
}

impl ControlGroups {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        match text.trim() {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            other => Err(Invalid::new(
                "cgroups",
                format!("must be auto or off, not {other:?}"),
            )),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sample_every: Duration::from_secs(5),
            cpu_max: None,
            report_usage_every: Duration::from_secs(10),
            count_disk_every: Duration::from_secs(60),
            check_health_every: Duration::from_secs(30),
            health_timeout: Duration::from_secs(10),
            check_config_every: Duration::from_secs(60),
            journal_bytes: 8 * 1024 * 1024,
            control_groups: ControlGroups::default(),
            output_runs: DEFAULT_OUTPUT_RUNS,
            output_max: DEFAULT_OUTPUT_MAX,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    #[error("{} is in use by another agent: stop that one, or choose another directory", .0.display())]
    InUse(PathBuf),
    #[error("cannot open the journal in {}", dir.display())]
    Open {
        dir: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot watch processes")]
    Watch(#[source] io::Error),
}

/// Supervises the processes of one agent.
#[derive(Debug)]
pub struct Supervisor {
    pub(crate) dir: PathBuf,
    pub(crate) options: Options,
    pub(crate) journal: Journal,
    pub(crate) state: JournalState,
    pub(crate) boot: Boot,
    /// The journal was read to its end.
    pub(crate) is_whole: bool,
    /// Locks the directory as long as it is in use.
    pub(crate) _lock: File,
}

impl Supervisor {
    /// Opens the journal in `dir`, which is created if it does not exist, and returns what it holds.
    pub fn open(dir: &Path, options: Options) -> Result<(Self, Recovered), SupervisorError> {
        let failed = |source| SupervisorError::Open {
            dir: dir.to_owned(),
            source,
        };
        std::fs::create_dir_all(dir).map_err(failed)?;
        for folder in ["output", "runs"] {
            kept_runs::make_private_at_start(&dir.join(folder)).map_err(failed)?;
        }
        let lock = journal::lock(dir)
            .map_err(failed)?
            .ok_or_else(|| SupervisorError::InUse(dir.to_owned()))?;
        let (mut journal, entries, extent) = Journal::open(dir).map_err(failed)?;
        let state = JournalState::of(entries);
        let boot_id = clock::boot_id();
        let is_same = state.boot_id.is_empty() || state.boot_id == boot_id;
        let boot = match (is_same, extent) {
            (true, Extent::Whole | Extent::Torn) => Boot::Same,
            (true, Extent::Damaged) => Boot::Damaged,
            (false, _) => Boot::Other,
        };
        // The new boot id is written only with the machines' steps for the reboot: until then the old one must stay.
        if state.boot_id.is_empty() {
            journal
                .append(&[Entry::Opened { boot_id }])
                .and_then(|()| journal.sync())
                .map_err(failed)?;
        }
        let recovered = recovered(&state);
        let supervisor = Self {
            dir: dir.to_owned(),
            options,
            journal,
            state,
            boot,
            is_whole: extent == Extent::Whole,
            _lock: lock,
        };
        Ok((supervisor, recovered))
    }

    /// Supervises until `stop` turns true, or the sender of `stop` or of `requests` is dropped. Leaves processes and
    /// operations under way as they are: the next supervisor goes on with them.
    ///
    /// Must run on one thread, in a current-thread runtime or a `LocalSet`: it changes thread-bound credentials while it
    /// opens files of other users.
    pub async fn run(
        self,
        requests: mpsc::Receiver<Request>,
        notices: mpsc::Sender<Notice>,
        stop: watch::Receiver<bool>,
    ) -> Result<(), SupervisorError> {
        Runner::new(self, notices)?.run(requests, stop).await
    }
}

fn recovered(state: &JournalState) -> Recovered {
    let mut held: Vec<Registration> = Vec::with_capacity(state.held.len());
    let mut under_way = Vec::new();
    for (hold, process) in state.held.values() {
        held.push(Registration {
            flag: process.flag,
            managed: process.managed,
            ..hold.clone()
        });
        under_way.extend(process.operations().map(|ticket| ticket.id));
    }
    held.sort_by(|a, b| a.name.cmp(&b.name));
    let results = &state.ledger.results;
    Recovered {
        held,
        under_way,
        results: results.iter().map(|(id, o)| (*id, o.clone())).collect(),
        events: state.ledger.events.iter().cloned().collect(),
    }
}
