//! The environment of one supervisor: a folder that ends everything that runs there, and a FIFO to which sleepers write.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::bail;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};

use super::{BenchPaths, Supervisor};
use crate::folder::WorkFolder;
use crate::interrupt;

/// How often the supervisor's API is polled.
const ASK_EVERY: Duration = Duration::from_micros(200);

#[derive(Debug)]
pub(crate) struct Sandbox {
    dir: WorkFolder,
    fifo: File,
    sleeper: PathBuf,
    peers: PathBuf,
    binaries: PathBuf,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    /// The newest pid of each sleeper; 0 until it is up.
    pids: Vec<i32>,
    n_missing: usize,
}

impl Sandbox {
    pub(super) fn new(paths: &BenchPaths, n: usize) -> anyhow::Result<Self> {
        let dir = WorkFolder::below(&paths.sandboxes, "bench-agent-")?;
        let path = dir.path().join("up");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
        // Opened for writing, too, so that the last sleeper does not cause an end of file.
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(Self {
            fifo: File::from(open(&path, flags, Mode::empty())?),
            dir,
            sleeper: paths.sleeper.clone(),
            peers: paths.peers.clone(),
            binaries: paths.binaries.clone(),
            rest: Vec::new(),
            pids: vec![0; n],
            n_missing: n,
        })
    }

    /// For configuration and data. Processes with this folder in their arguments or as working directory are killed with it.
    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The folder of an installed peer.
    pub(super) fn peer(&self, name: &str) -> PathBuf {
        self.peers.join(name)
    }

    /// Our own binaries.
    pub(super) fn binaries(&self) -> &Path {
        &self.binaries
    }

    pub(super) fn fifo(&self) -> PathBuf {
        self.dir().join("up")
    }

    pub(super) fn sleeper(&self) -> &Path {
        &self.sleeper
    }

    pub(super) fn n_sleepers(&self) -> usize {
        self.pids.len()
    }

    /// The command line of a sleeper; it needs no quoting.
    pub(super) fn command(&self, index: usize) -> String {
        let fifo = self.fifo();
        format!("{} {} {index}", self.sleeper.display(), fifo.display())
    }

    /// Waits until every sleeper is up, and until the supervisor reports them.
    pub(super) fn wait_for_all(
        &mut self,
        supervisor: &mut dyn Supervisor,
        since: Instant,
        patience: Duration,
    ) -> anyhow::Result<Duration> {
        let up = self.wait_until_up(supervisor, since, patience)?;
        let reported = self.wait_for_reports(supervisor, since, patience)?;
        Ok(reported.unwrap_or(up))
    }

    /// Waits until every sleeper is up.
    pub(super) fn wait_until_up(
        &mut self,
        supervisor: &mut dyn Supervisor,
        since: Instant,
        patience: Duration,
    ) -> anyhow::Result<Duration> {
        while self.n_missing > 0 {
            interrupt::check()?;
            if since.elapsed() > patience {
                let (n, missing) = (self.pids.len(), self.n_missing);
                bail!("{missing} of {n} not up after {} s", patience.as_secs());
            }
            // A short timeout, to check whether the supervisor is still alive.
            let moment = Timespec {
                tv_sec: 0,
                tv_nsec: 100_000_000,
            };
            let mut fifo = [PollFd::new(&self.fifo, PollFlags::IN)];
            if poll(&mut fifo, Some(&moment))? == 0 {
                supervisor.failure()?;
            }
            self.read_fifo()?;
        }
        Ok(since.elapsed())
    }

    /// Waits until the supervisor reports every sleeper; `None` without such an API.
    pub(super) fn wait_for_reports(
        &self,
        supervisor: &mut dyn Supervisor,
        since: Instant,
        patience: Duration,
    ) -> anyhow::Result<Option<Duration>> {
        loop {
            match supervisor.reports(&self.pids)? {
                None => return Ok(None),
                Some(true) => return Ok(Some(since.elapsed())),
                Some(false) => interrupt::sleep(ASK_EVERY)?,
            }
            if since.elapsed() > patience {
                bail!("up, but not reported after {} s", patience.as_secs());
            }
        }
    }

    /// Returns the pids of all sleepers, which must come up again.
    pub(super) fn forget(&mut self) -> Vec<i32> {
        self.n_missing = self.pids.len();
        let n = self.n_missing;
        std::mem::replace(&mut self.pids, vec![0; n])
    }

    /// Returns the pid of one sleeper, which must come up again.
    pub(super) fn forget_one(&mut self, index: usize) -> i32 {
        let pid = std::mem::take(&mut self.pids[index]);
        self.n_missing += usize::from(pid != 0);
        pid
    }

    fn read_fifo(&mut self) -> anyhow::Result<()> {
        let mut buffer = [0; 64 * 1024];
        match self.fifo.read(&mut buffer) {
            Ok(length) => self.rest.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8(self.rest.drain(..=end).collect())?;
            let Some((index, pid)) = line.trim_end().split_once(' ') else {
                bail!("a sleeper said {line:?}");
            };
            let slot = &mut self.pids[index.parse::<usize>()?];
            if *slot == 0 {
                self.n_missing -= 1;
            }
            *slot = pid.parse()?;
        }
        Ok(())
    }
}
