//! The handle: open, then run.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::Invalid;
use tokio::sync::{mpsc, watch};

use crate::journal::entry::{Entry, Picture};
use crate::journal::{self, Extent, Journal};
use crate::machine::Boot;
use crate::os::clock;
use crate::runner::Runner;
use crate::{Notice, Recovered, Registration, Request};

/// What may be set. The defaults are right for an agent; tests make things faster.
#[derive(Debug, Clone)]
pub struct Options {
    /// How often cpu, memory and the rest are read, and processes that are down are looked for.
    pub sample_every: Duration,
    /// Percent of one core that this whole process may use before it samples less often; none where others share it.
    pub cpu_max: Option<u32>,
    /// How often figures of usage are reported at most.
    pub report_usage_every: Duration,
    /// How often the bytes under `log_path` are counted.
    pub count_disk_every: Duration,
    /// How often `health_cmd` is run, and how long it may take.
    pub check_health_every: Duration,
    pub health_timeout: Duration,
    /// How often the files of `configmap` are read.
    pub check_config_every: Duration,
    /// The journal is written anew when it is larger than this and mostly of the past.
    pub journal_bytes: u64,
    pub control_groups: ControlGroups,
}

/// Whether each process gets a control group of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ControlGroups {
    /// Where the kernel offers them and lets us make them.
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

/// Keeps the processes of one agent.
#[derive(Debug)]
pub struct Supervisor {
    pub(crate) dir: PathBuf,
    pub(crate) options: Options,
    pub(crate) journal: Journal,
    pub(crate) picture: Picture,
    pub(crate) boot: Boot,
    /// The journal was read to its end.
    pub(crate) is_whole: bool,
    /// Held as long as the directory is in use.
    pub(crate) _lock: File,
}

impl Supervisor {
    /// Opens the journal in `dir`, which is made if it does not exist, and tells what is in it.
    pub fn open(dir: &Path, options: Options) -> Result<(Self, Recovered), SupervisorError> {
        let failed = |source| SupervisorError::Open {
            dir: dir.to_owned(),
            source,
        };
        std::fs::create_dir_all(dir.join("output")).map_err(failed)?;
        let lock = journal::lock(dir)
            .map_err(failed)?
            .ok_or_else(|| SupervisorError::InUse(dir.to_owned()))?;
        let (mut journal, entries, extent) = Journal::open(dir).map_err(failed)?;
        let picture = Picture::of(entries);
        let boot_id = clock::boot_id();
        let is_same = picture.boot_id.is_empty() || picture.boot_id == boot_id;
        let boot = match (is_same, extent) {
            (true, Extent::Whole | Extent::Torn) => Boot::Same,
            (true, Extent::Damaged) => Boot::Damaged,
            (false, _) => Boot::Other,
        };
        // Once it says so the old boot is forgotten; until the machines have heard of it, it is not said.
        if picture.boot_id.is_empty() {
            journal
                .append(&[Entry::Opened { boot_id }])
                .and_then(|()| journal.sync())
                .map_err(failed)?;
        }
        let recovered = recovered(&picture);
        let supervisor = Self {
            dir: dir.to_owned(),
            options,
            journal,
            picture,
            boot,
            is_whole: extent == Extent::Whole,
            _lock: lock,
        };
        Ok((supervisor, recovered))
    }

    /// Supervises until `stop` turns true or its sender is gone, or until nobody can make requests any more. Processes
    /// and operations under way are left as they are: the next one goes on with them.
    ///
    /// Must run on one thread (it keeps thread-bound rights for a moment while it opens files of others): in a
    /// current-thread runtime or a `LocalSet`.
    pub async fn run(
        self,
        requests: mpsc::Receiver<Request>,
        notices: mpsc::Sender<Notice>,
        stop: watch::Receiver<bool>,
    ) -> Result<(), SupervisorError> {
        Runner::new(self, notices)?.run(requests, stop).await
    }
}

fn recovered(picture: &Picture) -> Recovered {
    let mut held: Vec<Registration> = Vec::with_capacity(picture.held.len());
    let mut under_way = Vec::new();
    for (hold, process) in picture.held.values() {
        held.push(Registration {
            flag: process.flag,
            managed: process.managed,
            ..hold.clone()
        });
        under_way.extend(process.operations().map(|ticket| ticket.id));
    }
    held.sort_by(|a, b| a.name.cmp(&b.name));
    let results = &picture.ledger.results;
    Recovered {
        held,
        under_way,
        results: results.iter().map(|(id, o)| (*id, o.clone())).collect(),
        events: picture.ledger.events.iter().cloned().collect(),
    }
}
