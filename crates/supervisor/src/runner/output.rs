//! Keeps files that something writes into from growing without end: spools are cut, logs are rotated.

use std::path::PathBuf;

use tokio::task::JoinHandle;

use super::{BOUND_ALL_EVERY, BOUND_IDLE_EVERY, Key, Runner};
use crate::machine::Event;
use crate::os::rotate::Rotation;
use crate::os::user::{self, User};
use crate::os::{self, sink};

/// Logs that are being rotated beside the loop: a long one takes a while to copy. Each with why it could not be.
pub(crate) type Rotating = JoinHandle<Vec<(Key, Result<(), String>)>>;

/// A log that is too long.
#[derive(Debug)]
pub(crate) struct LongLog {
    key: Key,
    rotation: Rotation,
    path: PathBuf,
    user: User,
}

impl Runner {
    /// Looks at those files that were growing, every few rounds at all others but the spools of processes that used no
    /// cpu, without which nobody writes, and now and then at those, too. The logs that are too long.
    pub(super) fn bound_output(&mut self) -> Vec<LongLog> {
        self.bound_rounds = self.bound_rounds.wrapping_add(1);
        let all = self.bound_rounds.is_multiple_of(BOUND_ALL_EVERY);
        let idle = self.bound_rounds.is_multiple_of(BOUND_IDLE_EVERY);
        let mut long = Vec::new();
        for (key, held) in &mut self.held {
            if !held.writes_much && !idle && (!all || held.is_idle_with_spool()) {
                continue;
            }
            held.writes_much = false;
            for sink in held.process.sinks() {
                let size = match sink::bound(sink) {
                    Ok(size) => size,
                    Err(error) => {
                        let path = sink.path.display();
                        tracing::debug!(%path, %error, "cannot bound output");
                        continue;
                    }
                };
                held.writes_much |= size > held.output_size + sink::MUCH;
                held.output_size = size;
                let rotation = Rotation::from(&held.hold.spec.runtime);
                if !sink.spool
                    && rotation.is_due(size)
                    && let Ok(user) = user::find(&held.hold.spec.identity.user)
                {
                    long.push(LongLog {
                        key: *key,
                        rotation,
                        path: sink.path.clone(),
                        user: User::clone(&user),
                    });
                }
            }
        }
        for side in self.sides.values() {
            // Gone with its command: nothing to bound.
            let _ = sink::bound(&side.sink);
        }
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
            let result = user::with_rights_of(&log.user, || log.rotation.rotate(&log.path));
            let result = result.map_err(|error| {
                let (path, why) = (log.path.display(), os::plain(&error));
                format!("log_path: {path} is too long and cannot be rotated: {why}")
            });
            (log.key, result)
        };
        long.into_iter().map(rotated).collect()
    }))
}
