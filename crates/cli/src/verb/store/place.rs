//! Where a store lies: the data directory, its lock and its files.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::failure::{Failure, Kind};

pub(super) const DATABASE: &str = "muster.db";
/// What a server keeps beside its database: the first join token, and the credentials of the local CLI.
pub(super) const BESIDE: [&str; 2] = ["join-token", "cli.toml"];
const LOCK: &str = "server.lock";

/// What to do where the files of a server cannot be read or written.
pub(super) const AS_SERVER: &str =
    "run this as the user of the server, or as root; --data DIR names another directory";

/// Whether there is a store. Fails where this user may not look.
pub(super) fn has_store(file: &Path) -> Result<bool, Failure> {
    file.try_exists().map_err(|e| {
        let what = format!("cannot look for {}: {e}", file.display());
        Failure::new(Kind::Failed, what).advise(AS_SERVER)
    })
}

/// The lock that a server holds while it runs on a data directory.
pub(super) fn lock_of(data: &Path) -> PathBuf {
    data.join(LOCK)
}

/// Takes the lock of a data directory, which is created if it is absent.
pub(super) fn lock(data: &Path) -> Result<File, Failure> {
    let failed = |e: std::io::Error| {
        let what = format!("cannot use the data directory {}: {e}", data.display());
        Failure::new(Kind::Failed, what).advise(AS_SERVER)
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
    leave_to_server(data, &lock).map_err(failed)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(_) => Err(in_use(data)),
    }
}

/// Root may have made the file where the server runs as another user, who owns the directory and has to open it, too.
fn leave_to_server(data: &Path, file: &File) -> std::io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner = std::fs::metadata(data)?;
    std::os::unix::fs::fchown(file, Some(owner.uid()), Some(owner.gid()))
}

/// The failure where a server runs on these files.
pub(super) fn in_use(files: &Path) -> Failure {
    let what = format!("a server runs on {}", files.display());
    Failure::new(Kind::Failed, what).advise("stop it first")
}
