//! Bounds output files: spools are cut, logs are rotated.

use std::io;
use std::path::PathBuf;

use tokio::task::JoinHandle;

use super::{BOUND_ALL_EVERY, BOUND_IDLE_EVERY, Key, Runner};
use crate::machine::Event;
use crate::os::rights::OsRights;
use crate::os::rotate::Rotation;
use crate::os::{self, sink};

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

impl Runner {
    /// Checks the files that were growing; every few rounds all others but the spools of processes that used no CPU and so
    /// wrote nothing; and rarely those, too. Returns the logs that are too long.
    pub(super) fn bound_output(&mut self) -> Vec<LongLog> {
        self.bound_rounds = self.bound_rounds.wrapping_add(1);
        let all = self.bound_rounds.is_multiple_of(BOUND_ALL_EVERY);
        let idle = self.bound_rounds.is_multiple_of(BOUND_IDLE_EVERY);
        let mut long = Vec::new();
        let mut hidden = Vec::new();
        for (key, held) in &mut self.held {
            if !held.writes_much && !idle && (!all || held.is_idle_with_spool()) {
                continue;
            }
            held.writes_much = false;
            for sink in held.process.sinks() {
                let rights = match sink::rights(sink, &held.registration.spec.identity.user) {
                    Ok(rights) => rights,
                    Err(why) => {
                        tracing::debug!(why, "cannot bound output");
                        continue;
                    }
                };
                let is_hidden = !sink.spool && held.log_is_hidden;
                let size = match sink::bound(sink, &rights) {
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
                held.writes_much |= size > held.output_size + sink::MUCH;
                held.output_size = size;
                let rotation = Rotation::from(&held.registration.spec.runtime);
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
            let _ = sink::bound(&side.sink, &OsRights::Agent);
        }
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
