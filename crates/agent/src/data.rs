//! The data directory: readable by its owner only, locked by one agent at a time; files are replaced atomically.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

const LOCK: &str = "lock";
/// How long the lock of a dead agent is waited for: a child that it had just forked shares the descriptor until it exits.
const DEAD_HOLDER_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum DataError {
    #[error("the data directory {path} cannot be used")]
    Unusable { path: PathBuf, source: io::Error },
    #[error(
        "the data directory {path} is in use by another agent (process {holder}): stop that one, or give this one its own --data"
    )]
    InUse { path: PathBuf, holder: String },
}

/// A data directory, locked while this value lives.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    /// The kernel releases the lock with the last descriptor, however the agent ends.
    _lock: File,
}

impl DataDir {
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let unusable = |source| DataError::Unusable {
            path: path.into(),
            source,
        };
        let lock = create(path).map_err(unusable)?;
        let since = Instant::now();
        loop {
            match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::WOULDBLOCK) => {}
                Err(errno) => return Err(unusable(errno.into())),
            }
            let holder = std::fs::read_to_string(path.join(LOCK)).unwrap_or_default();
            let holder = holder.trim().to_owned();
            let is_dead = !holder.is_empty() && !Path::new("/proc").join(&holder).exists();
            if !is_dead || since.elapsed() >= DEAD_HOLDER_TIMEOUT {
                let path = path.into();
                return Err(DataError::InUse { path, holder });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        lock.set_len(0).map_err(unusable)?;
        writeln!(&lock, "{}", std::process::id()).map_err(unusable)?;
        Ok(Self {
            path: path.into(),
            _lock: lock,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's text, or `None` if it does not exist.
    pub fn read(&self, name: &str) -> io::Result<Option<String>> {
        read(&self.path, name)
    }

    /// Replaces the file atomically and durably. Only its owner may read it.
    pub fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        self.write_new(name, text)?.sync_all()?;
        self.rename_new(name)?;
        File::open(&self.path)?.sync_all()
    }

    /// Replaces the file atomically but without fsync: for files that matter only while this agent runs.
    pub fn replace_unsynced(&self, name: &str, text: &str) -> io::Result<()> {
        self.write_new(name, text)?;
        self.rename_new(name)
    }

    fn write_new(&self, name: &str, text: &str) -> io::Result<File> {
        let new = self.path.join(format!("{name}.new"));
        // A crash may have left one.
        let _ = std::fs::remove_file(&new);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(text.as_bytes())?;
        Ok(file)
    }

    fn rename_new(&self, name: &str) -> io::Result<()> {
        std::fs::rename(self.path.join(format!("{name}.new")), self.path.join(name))
    }
}

/// A file of a directory that need not be locked; `None` if it does not exist.
pub(crate) fn read(directory: &Path, name: &str) -> io::Result<Option<String>> {
    match std::fs::read_to_string(directory.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn create(path: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    check_owner(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path.join(LOCK))
}

/// The journal says what the agent executes, and as which user: with another user's directory, that user could execute
/// anything through a root agent.
fn check_owner(path: &Path) -> io::Result<()> {
    let owner = std::fs::metadata(path)?.uid();
    let me = rustix::process::geteuid().as_raw();
    match owner == me {
        true => Ok(()),
        false => {
            let why = format!(
                "it belongs to user {owner}, and the agent runs as user {me}: give it to {me}"
            );
            Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_another_user_is_not_used() {
        assert!(rustix::process::geteuid().is_root(), "this test needs root");
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(dir.path(), Some(65534), None).unwrap();
        let error = DataDir::open(dir.path()).unwrap_err();
        let DataError::Unusable { source, .. } = error else {
            panic!("{error}");
        };
        let said = "it belongs to user 65534, and the agent runs as user 0: give it to 0";
        assert_eq!(source.to_string(), said);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_serves_one_agent_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        let first = DataDir::open(&path).unwrap();
        let error = DataDir::open(&path).unwrap_err().to_string();
        assert!(error.contains(&std::process::id().to_string()), "{error}");
        drop(first);
        DataDir::open(&path).unwrap();
    }

    #[test]
    fn the_lock_of_a_dead_agent_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataDir::open(dir.path()).unwrap();
        // No process has this pid: it is above the kernel's maximum.
        std::fs::write(dir.path().join(LOCK), "99999999\n").unwrap();
        let opening = std::thread::scope(|scope| {
            let opening = scope.spawn(|| DataDir::open(dir.path()));
            drop(first);
            opening.join().unwrap()
        });
        opening.unwrap();
    }

    #[test]
    fn files_and_directory_are_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        let data = DataDir::open(&path).unwrap();
        data.replace("secret", "one").unwrap();
        data.replace("secret", "two").unwrap();
        assert_eq!(data.read("secret").unwrap().unwrap(), "two");
        assert_eq!(data.read("other").unwrap(), None);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&path.join("secret")), 0o600);
        assert_eq!(mode(&path.join(LOCK)), 0o600);
    }
}
