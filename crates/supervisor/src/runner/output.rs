//! Bounds output files: spools are cut, logs are rotated.

use std::io;
use std::path::PathBuf;

use tokio::task::JoinHandle;

use super::{BOUND_ALL_EVERY, BOUND_IDLE_EVERY, FLOOD_ROUNDS, Key, Runner};
use crate::machine::Event;
use crate::os::rights::OsRights;
use crate::os::rotate::Rotation;
use crate::os::{self, clock, sink};

/// Logs that are being rotated on a blocking thread, because a long one takes a while to copy.
pub(crate) type Rotating = JoinHandle<Vec<(Key, Result<(), String>)>>;

/// A log that is too long.
#[derive(Debug)]
pub(crate) struct LongLog {
    key: Key,
    rotation: Rotation,
    path: PathBuf,
    rights: OsRights,
}

/// How fast the output of a process grows.
#[derive(Debug, Default)]
pub(crate) struct OutputGrowth {
    /// It grew much before the last check, or is new: it is checked more often.
    pub(crate) grows: bool,
    /// Its length then.
    pub(crate) length: u64,
}

impl OutputGrowth {
    /// A new output, which begins at this length. It may grow fast from the start.
    pub(crate) fn begins_at(length: u64) -> Self {
        Self {
            grows: true,
            length,
        }
    }

    /// True if it grows so fast that it must be checked at once again.
    fn grew_to(&mut self, length: u64) -> bool {
        let grown = length.saturating_sub(self.length);
        self.length = length;
        self.grows |= grown > sink::MUCH;
        grown > sink::FLOOD
    }
}

impl Runner {
    /// Checks the files that were growing; every few rounds all others but the spools of processes that used no CPU and so
    /// wrote nothing; and rarely those, too. Returns the logs that are too long.
    pub(super) fn bound_output(&mut self) -> Vec<LongLog> {
        // Rounds between the regular ones check only what grows.
        self.flood_rounds = match self.is_flooded {
            true => (self.flood_rounds + 1) % FLOOD_ROUNDS,
            false => 0,
        };
        let is_regular = self.flood_rounds == 0;
        self.bound_rounds = self.bound_rounds.wrapping_add(u32::from(is_regular));
        // Each process has its own round, so that no round looks at thousands of files.
        let round = self.bound_rounds;
        let is_turn =
            |key: &Key, every: u32| is_regular && round.wrapping_add(key.0).is_multiple_of(every);
        let max = self.options.output_max;
        let now = clock::now();
        let mut is_flooded = false;
        let mut long = Vec::new();
        let mut hidden = Vec::new();
        for (key, held) in &mut self.held {
            let every = match held.is_idle_with_spool() {
                true => BOUND_IDLE_EVERY,
                false => BOUND_ALL_EVERY,
            };
            if !held.output.grows && !is_turn(key, every) {
                continue;
            }
            held.output.grows = false;
            let name = &held.registration.name;
            let pid = held.process.alive().map(|alive| alive.pid());
            let newest = held.open_runs.newest;
            let newest_path = newest
                .filter(|_| !held.open_runs.is_log)
                .map(|run| self.runs.output_path(name, run));
            // The output of a daemon is no sink: its launch command has ended, but the daemon may have inherited it.
            if let Some(path) = &newest_path {
                match sink::cut_if_long(path, max) {
                    Ok(size) => {
                        is_flooded |= held.output.grew_to(size);
                        self.runs
                            .record_length(name, &mut held.open_runs, now, size);
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        // The process may have closed it.
                        let _ = pid.map(|pid| sink::cut_deleted(path, pid, max));
                        held.output.grows = pid.is_some();
                    }
                    Err(error) => tracing::debug!(%error, "cannot bound {}", path.display()),
                }
            }
            for run in &held.open_runs.inherited {
                // It may be removed already.
                let _ = sink::cut_if_long(&self.runs.output_path(name, *run), max);
            }
            for sink in held.process.sinks() {
                if Some(&sink.path) == newest_path.as_ref() {
                    continue;
                }
                let rights = match sink::rights(sink, &held.registration.spec.identity.user) {
                    Ok(rights) => rights,
                    Err(why) => {
                        tracing::debug!(why, "cannot bound output");
                        continue;
                    }
                };
                let is_hidden = !sink.spool && held.log_is_hidden;
                let size = match sink::bound(sink, max, &rights) {
                    Ok(size) => size,
                    Err(error) => {
                        let (path, who) = (sink.path.display(), rights.shown());
                        tracing::debug!(%error, "cannot bound output in {path}{who}");
                        if !sink.spool && !is_hidden && error.kind() != io::ErrorKind::NotFound {
                            held.log_is_hidden = true;
                            let why = os::plain(&error);
                            let message =
                                format!("log_path: {path} cannot be looked at{who}: {why}");
                            hidden.push((*key, Err(message)));
                        }
                        continue;
                    }
                };
                if is_hidden {
                    held.log_is_hidden = false;
                    hidden.push((*key, Ok(())));
                }
                if newest_path.is_none() {
                    is_flooded |= held.output.grew_to(size);
                }
                if !sink.spool && held.open_runs.is_log {
                    self.runs
                        .record_length(name, &mut held.open_runs, now, size);
                }
                let rotation = Rotation::from(&*held.registration.spec.runtime);
                if !sink.spool && rotation.is_due(size) {
                    long.push(LongLog {
                        key: *key,
                        rotation,
                        path: sink.path.clone(),
                        rights,
                    });
                }
            }
        }
        for side in self.sides.values() {
            // The file may be gone with its command.
            let _ = sink::bound(&side.sink, max, &OsRights::Agent);
        }
        self.is_flooded = is_flooded;
        self.rotated(hidden);
        long
    }

    pub(super) fn rotated(&mut self, results: Vec<(Key, Result<(), String>)>) {
        for (key, result) in results {
            self.drive(key, Event::LogRotated(result));
        }
    }
}

/// Rotates logs with the rights of their users.
pub(super) fn rotate(long: Vec<LongLog>) -> Option<Rotating> {
    if long.is_empty() {
        return None;
    }
    Some(tokio::task::spawn_blocking(move || {
        let rotated = |log: LongLog| {
            let result = log.rotation.rotate(&log.path, &log.rights);
            let result = result.map_err(|error| {
                let (path, who) = (log.path.display(), log.rights.shown());
                let why = os::plain(&error);
                format!("log_path: {path} is too long and cannot be rotated{who}: {why}")
            });
            (log.key, result)
        };
        long.into_iter().map(rotated).collect()
    }))
}
