//! Where a store lies: the data directory, its lock and its files.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::failure::{Failure, Kind};

pub(super) const DATABASE: &str = "muster.db";
/// What a server keeps beside its database: the first join token, and the credentials of the local CLI.
pub(super) const BESIDE: [&str; 2] = ["join-token", "cli.toml"];
const LOCK: &str = "server.lock";

/// The lock that a server holds while it runs on a data directory.
pub(super) fn lock_of(data: &Path) -> PathBuf {
    data.join(LOCK)
}

/// Takes the lock of a data directory, which is created if it is absent.
pub(super) fn lock(data: &Path) -> Result<File, Failure> {
    let failed = |e: std::io::Error| {
        let what = format!("cannot use the data directory {}: {e}", data.display());
        Failure::new(Kind::Failed, what).advise("choose a directory that you may write: --data DIR")
    };
    let created = DirBuilder::new().recursive(true).mode(0o700).create(data);
    created.map_err(failed)?;
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(lock_of(data))
        .map_err(failed)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(_) => Err(in_use(data)),
    }
}

/// The failure where a server runs on these files.
pub(super) fn in_use(files: &Path) -> Failure {
    let what = format!("a server runs on {}", files.display());
    Failure::new(Kind::Failed, what).advise("stop it first")
}
