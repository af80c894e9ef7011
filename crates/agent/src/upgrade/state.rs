//! `state.json` in the folder of upgrades: how the last one went, for the agent, which tells its server.

use std::io;
use std::path::{Path, PathBuf};

use model::upgrade::{Sha256, UpgradePhase, UpgradeState};
use serde::{Deserialize, Serialize};
use supervisor::OtherProcess;

use super::UpgradeArgs;

const FILE: &str = "state.json";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StateFile {
    phase: UpgradePhase,
    sha256: String,
    version: String,
    message: String,
    /// The process that upgrades.
    pid: i32,
    start_time: u64,
}

impl StateFile {
    /// An upgrade that this process has just begun.
    pub(crate) fn begun(sha256: &Sha256, version: &str, pid: i32) -> Self {
        let process = OtherProcess::find(pid).ok().flatten();
        Self {
            phase: UpgradePhase::Running,
            sha256: sha256.as_str().to_owned(),
            version: version.to_owned(),
            message: String::new(),
            pid,
            start_time: process.map_or(0, |process| process.start_time()),
        }
    }

    /// The same, by the process that upgrades.
    pub(crate) fn begun_by_us(folder: &Path, args: &UpgradeArgs) -> Self {
        let name = args.binary.as_deref().and_then(Path::file_name);
        let sha256 = name.and_then(|name| Sha256::parse(name.to_str()?).ok());
        let sha256 = sha256.map_or(String::new(), |sha256| sha256.as_str().to_owned());
        let version = args.expect_version.clone().unwrap_or_default();
        let begun = Self {
            sha256,
            ..Self::begun(&Sha256::of_bytes(&[]), &version, std::process::id() as i32)
        };
        // The agent writes the same.
        let _ = begun.write(folder);
        begun
    }

    /// The last upgrade; none if the file cannot be read.
    pub(crate) fn read(folder: &Path) -> Self {
        let text = std::fs::read(folder.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Forgets the last upgrade, before the next begins.
    pub(crate) fn clear(folder: &Path) -> io::Result<()> {
        match std::fs::remove_file(folder.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Writes that the upgrade has begun, unless its process has written that, or how it went, already.
    pub(crate) fn write_if_absent(&self, folder: &Path) -> io::Result<()> {
        let new = self.write_beside(folder)?;
        // Unlike a rename, a link replaces nothing.
        let linked = std::fs::hard_link(&new, folder.join(FILE));
        std::fs::remove_file(&new)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub(crate) fn ended(mut self, failed: Option<String>) -> Self {
        self.phase = match failed {
            None => UpgradePhase::Done,
            Some(_) => UpgradePhase::Failed,
        };
        self.message = failed.unwrap_or_default();
        self
    }

    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let new = self.write_beside(folder)?;
        std::fs::rename(new, folder.join(FILE))
    }

    /// Writes a file of this process alone: the agent and the process that upgrades write at the same time.
    fn write_beside(&self, folder: &Path) -> io::Result<PathBuf> {
        let new = folder.join(format!("{FILE}.{}.new", std::process::id()));
        std::fs::write(&new, serde_json::to_vec(self)?)?;
        Ok(new)
    }

    /// How the last upgrade goes or went, for the server. One whose process is gone without a word was interrupted.
    pub(crate) fn current(folder: &Path) -> UpgradeState {
        let found = Self::read(folder);
        if found.phase != UpgradePhase::Running || found.lives() {
            return found.to_state();
        }
        // Its process has ended, so what it wrote last is there now; it may have been written after the first reading.
        let last = Self::read(folder);
        match last.phase {
            UpgradePhase::Running => {
                let why = "the upgrade was interrupted; the agent runs what is at its path";
                last.ended(Some(why.to_owned())).to_state()
            }
            UpgradePhase::Idle | UpgradePhase::Done | UpgradePhase::Failed => last.to_state(),
        }
    }

    fn lives(&self) -> bool {
        let process = OtherProcess::find(self.pid).ok().flatten();
        process.is_some_and(|process| process.start_time() == self.start_time)
    }

    /// As it was written.
    pub(crate) fn to_state(&self) -> UpgradeState {
        UpgradeState {
            phase: self.phase,
            sha256: self.sha256.clone(),
            version: self.version.clone(),
            message: self.message.clone(),
            received: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upgrade_whose_process_is_gone_was_interrupted() {
        let dir = tempfile::tempdir().unwrap();
        let hash = Sha256::of_bytes(&[1; 32]);
        assert_eq!(StateFile::current(dir.path()), UpgradeState::default());
        let mine = StateFile::begun(&hash, "1.0.0", std::process::id() as i32);
        mine.write_if_absent(dir.path()).unwrap();
        assert_eq!(StateFile::current(dir.path()).phase, UpgradePhase::Running);
        // It was quicker than the agent.
        mine.clone().ended(None).write(dir.path()).unwrap();
        mine.write_if_absent(dir.path()).unwrap();
        assert_eq!(StateFile::current(dir.path()).phase, UpgradePhase::Done);
        // The next one begins without it.
        StateFile::clear(dir.path()).unwrap();
        StateFile::clear(dir.path()).unwrap();
        assert_eq!(StateFile::current(dir.path()), UpgradeState::default());
        let gone = StateFile {
            start_time: mine.start_time + 1,
            ..mine
        };
        gone.write(dir.path()).unwrap();
        let state = StateFile::current(dir.path());
        assert_eq!(state.phase, UpgradePhase::Failed);
        assert!(state.message.contains("interrupted"), "{state:?}");
        let left = std::fs::read_dir(dir.path()).unwrap();
        assert_eq!(left.count(), 1, "only the state itself");
    }
}
