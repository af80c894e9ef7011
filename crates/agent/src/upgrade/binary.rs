//! The files of an upgrade: the new binary, the old one, and the rollback.
//!
//! The agent's path always names a complete, working binary: the new one is copied and checked beside it, then renamed
//! over it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use supervisor::OtherProcess;

use super::UpgradeError;

/// Limit for `--version`.
const VERSION_PATIENCE: Duration = Duration::from_secs(10);
/// Bytes read of the output of `--version`.
const MAX_VERSION: usize = 1024;

/// What `--version` of a binary prints.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BinaryVersion {
    program: String,
    version: String,
}

impl BinaryVersion {
    /// Runs `--version`; the error says why the binary cannot be used.
    pub(super) fn of(binary: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| format!("it cannot be run: {error}");
        let mut child = Command::new(binary)
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        // It is not waited for yet, so it is still in the process table.
        let found = OtherProcess::find(child.id() as i32);
        let in_time =
            found.map(|found| found.is_none_or(|child| child.ends_within(VERSION_PATIENCE)));
        if !matches!(in_time, Ok(true)) {
            // It may have ended just now.
            let _ = child.kill();
        }
        let status = child.wait().map_err(failed)?;
        match in_time {
            Ok(true) => {}
            Ok(false) => return Err("its --version does not end".into()),
            Err(error) => return Err(format!("its --version cannot be awaited: {error}")),
        }
        if !status.success() {
            return Err(format!("its --version failed ({status})"));
        }
        let mut said = vec![0; MAX_VERSION];
        let n = match child.stdout.as_mut() {
            Some(stdout) => stdout.read(&mut said).map_err(failed)?,
            None => 0,
        };
        let said = String::from_utf8_lossy(&said[..n]);
        Self::parse(&said).ok_or_else(|| format!("its --version says no version but {said:?}"))
    }

    /// `muster-agent 1.2.3`
    fn parse(said: &str) -> Option<Self> {
        let mut words = said.lines().next()?.split_whitespace();
        let (program, version) = (words.next()?, words.next()?);
        version
            .starts_with(|c: char| c.is_ascii_digit())
            .then(|| Self {
                program: program.to_owned(),
                version: version.to_owned(),
            })
    }

    fn must_have(&self, version: Option<&str>) -> Result<(), String> {
        match version {
            Some(expected) if self.version != expected => {
                Err(format!("it is of version {}, not {expected}", self.version))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Fails for another program: `muster` takes other arguments than `muster-agent`.
    pub(super) fn must_be(&self, program: &str) -> Result<(), String> {
        match self.program == program {
            true => Ok(()),
            false => Err(format!(
                "it is {} {}, and the agent runs as {program}",
                self.program, self.version
            )),
        }
    }
}

/// A new binary in place of the old one.
#[derive(Debug)]
pub(super) struct Swap {
    exe: PathBuf,
    old: PathBuf,
}

impl Swap {
    /// Puts `new` at `exe`, and keeps the binary that process `pid` runs as `EXE.old`.
    pub(super) fn make(
        new: &Path,
        exe: &Path,
        pid: i32,
        program: &str,
        version: Option<&str>,
    ) -> Result<Self, UpgradeError> {
        let refused = |why: String| UpgradeError::Refused {
            path: new.into(),
            why,
        };
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| UpgradeError::Swap { path, source }
        };
        let found = std::fs::metadata(new).map_err(|error| refused(error.to_string()))?;
        if !found.is_file() {
            return Err(refused("it is no file".into()));
        }
        let running = PathBuf::from(format!("/proc/{pid}/exe"));
        let like = std::fs::metadata(&running).map_err(failed(exe))?;
        if std::fs::metadata(exe)
            .is_ok_and(|at_exe| (at_exe.dev(), at_exe.ino()) == (found.dev(), found.ino()))
        {
            return Err(refused(
                "it is the agent's own binary: leave out --binary to start it again".into(),
            ));
        }
        let staged = beside(exe, "new");
        copy(new, &staged, &like).map_err(failed(&staged))?;
        // Checks the copy that will run.
        let checked = BinaryVersion::of(&staged).and_then(|found| {
            found.must_be(program)?;
            found.must_have(version)
        });
        if let Err(why) = checked {
            let _ = std::fs::remove_file(&staged);
            return Err(refused(why));
        }
        let old = beside(exe, "old");
        let kept = beside(exe, "old.new");
        let swapped = copy(&running, &kept, &like)
            .and_then(|()| std::fs::rename(&kept, &old))
            .and_then(|()| rename(&staged, exe));
        if swapped.is_err() {
            for left in [&staged, &kept] {
                let _ = std::fs::remove_file(left);
            }
        }
        swapped.map_err(failed(exe))?;
        Ok(Self {
            exe: exe.into(),
            old,
        })
    }

    pub(super) fn old(&self) -> &Path {
        &self.old
    }

    /// Restores the old binary.
    pub(super) fn undo(self) -> io::Result<()> {
        rename(&self.old, &self.exe)
    }
}

fn beside(exe: &Path, suffix: &str) -> PathBuf {
    let mut path = exe.as_os_str().to_owned();
    path.push(".");
    path.push(suffix);
    path.into()
}

/// Copies with fsync; the copy gets mode and owner of `like`.
fn copy(from: &Path, to: &Path, like: &std::fs::Metadata) -> io::Result<()> {
    match std::fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o700)
        .open(to)?;
    io::copy(&mut File::open(from)?, &mut file)?;
    // The owner first: chown clears set-id bits.
    let mine = file.metadata()?;
    if (mine.uid(), mine.gid()) != (like.uid(), like.gid()) {
        std::os::unix::fs::fchown(&file, Some(like.uid()), Some(like.gid()))?;
    }
    file.set_permissions(PermissionsExt::from_mode(like.mode() & 0o7777))?;
    file.sync_all()
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)?;
    match to.parent() {
        Some(dir) => File::open(dir)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_name_and_a_number() {
        let version = BinaryVersion::parse("muster-agent 1.2.3\n").unwrap();
        assert_eq!(version.must_be("muster-agent"), Ok(()));
        let why = version.must_be("muster").unwrap_err();
        assert_eq!(
            why,
            "it is muster-agent 1.2.3, and the agent runs as muster"
        );
        for other in ["", "muster", "hello world", "1.2.3"] {
            assert_eq!(BinaryVersion::parse(other), None, "{other}");
        }
    }
}
