//! The upgrade of this agent by its server: takes the parts of the new binary, and starts the upgrade.
//!
//! The parts are collected in `upgrade/` of the data directory. The upgrade itself is a process of its own
//! ([`crate::upgrade`]), because it has to outlive this agent; it writes how it went into `upgrade/state.json`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use locks::Mutex;
use model::upgrade::{MAX_BINARY, MAX_PART, Sha256, UpgradePhase, UpgradeState};
use wire::ask::{Upgrade, UpgradePart};

use super::AnswerSource;
use super::blocking::BlockingTask;
use crate::upgrade::state::StateFile;

/// Within the data directory.
const FOLDER: &str = "upgrade";

/// Where upgrades are prepared. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct UpgradeFolder(Option<Arc<Mutex<Staging>>>);

#[derive(Debug)]
struct Staging {
    data: PathBuf,
    folder: PathBuf,
    program: &'static str,
}

impl UpgradeFolder {
    /// `program` is the name of the binary that runs as this agent.
    pub(crate) fn new(data: &Path, program: &'static str) -> Self {
        Self(Some(Arc::new(Mutex::new(Staging {
            data: data.to_owned(),
            folder: data.join(FOLDER),
            program,
        }))))
    }

    pub(super) fn part(&self, part: UpgradePart) -> AnswerSource {
        self.begin(move |staging| staging.take(&part))
    }

    pub(super) fn upgrade(&self, wanted: Upgrade) -> AnswerSource {
        self.begin(move |staging| staging.upgrade(&wanted))
    }

    pub(super) fn state(&self) -> AnswerSource {
        self.begin(Staging::state)
    }

    fn begin(
        &self,
        work: impl FnOnce(&Staging) -> Result<UpgradeState, String> + Send + 'static,
    ) -> AnswerSource {
        let Some(staging) = self.0.clone() else {
            let reason = "this agent is part of another program, and its binary cannot be replaced";
            return AnswerSource::Refused(reason.to_owned());
        };
        AnswerSource::Task(BlockingTask::begin(move || {
            let state = work(&staging.lock())?;
            serde_json::to_vec(&state).map_err(|error| error.to_string())
        }))
    }
}

impl Staging {
    fn state(&self) -> Result<UpgradeState, String> {
        Ok(StateFile::current(&self.folder))
    }

    fn partial(&self, sha256: &Sha256) -> PathBuf {
        self.folder.join(format!("{}.part", sha256.as_str()))
    }

    fn whole(&self, sha256: &Sha256) -> PathBuf {
        self.folder.join(sha256.as_str())
    }

    /// Appends a part, if it is the next one.
    fn take(&self, part: &UpgradePart) -> Result<UpgradeState, String> {
        let UpgradePart {
            sha256,
            size,
            offset,
            content,
        } = part;
        if *size > MAX_BINARY || content.len() > MAX_PART {
            return Err(format!("a binary of {size} bytes is too large"));
        }
        let received = |received| {
            let state = self.state()?;
            Ok(UpgradeState { received, ..state })
        };
        if self.whole(sha256).exists() {
            return received(*size);
        }
        let failed = |error: io::Error| {
            format!(
                "{} cannot be written: {error}",
                self.partial(sha256).display()
            )
        };
        self.make_folder(sha256).map_err(failed)?;
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(self.partial(sha256))
            .map_err(failed)?;
        let have = file.metadata().map_err(failed)?.len();
        if have != *offset || content.is_empty() {
            return received(have);
        }
        if let Err(error) = file.write_all(content) {
            // A torn part would be taken for a whole one.
            let _ = file.set_len(have);
            return Err(failed(error));
        }
        let have = have + content.len() as u64;
        if have >= *size {
            file.sync_all().map_err(failed)?;
            self.check(sha256)?;
        }
        received(have)
    }

    /// Keeps a complete binary, and refuses one that is not what was announced.
    fn check(&self, sha256: &Sha256) -> Result<(), String> {
        let partial = self.partial(sha256);
        let failed = |error: io::Error| format!("{} cannot be read: {error}", partial.display());
        let found = hash(&partial).map_err(failed)?;
        if found != *sha256 {
            // It would be wrong the next time, too.
            let _ = fs::remove_file(&partial);
            return Err(format!(
                "the binary arrived with the checksum {}, not {}: nothing was changed",
                found.as_str(),
                sha256.as_str()
            ));
        }
        fs::rename(&partial, self.whole(sha256)).map_err(failed)
    }

    /// Makes the folder, and removes what is left of other binaries.
    fn make_folder(&self, sha256: &Sha256) -> io::Result<()> {
        match fs::DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let is_binary = |name: &str| {
                let name = name.strip_suffix(".part").unwrap_or(name);
                Sha256::parse(name).is_ok_and(|of| of != *sha256)
            };
            if name.is_some_and(is_binary) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    fn upgrade(&self, wanted: &Upgrade) -> Result<UpgradeState, String> {
        let state = self.state()?;
        if state.phase == UpgradePhase::Running {
            return match state.sha256 == wanted.sha256.as_str() {
                true => Ok(state),
                false => Err("another upgrade is under way".to_owned()),
            };
        }
        let binary = self.whole(&wanted.sha256);
        if !binary.exists() {
            return Err("the new binary has not arrived completely".to_owned());
        }
        let failed = |error: io::Error| format!("the upgrade cannot begin: {error}");
        let exe = std::env::current_exe().map_err(failed)?;
        let log = File::create(self.folder.join("upgrade.log")).map_err(failed)?;
        StateFile::clear(&self.folder).map_err(failed)?;
        let mut command = Command::new(crate::image::without_deleted(exe));
        if self.program == "muster" {
            command.arg("agent");
        }
        command
            .arg("upgrade")
            .arg("--data")
            .arg(&self.data)
            .arg("--binary")
            .arg(&binary)
            .args(["--expect-version", &wanted.version])
            .arg("--state-dir")
            .arg(&self.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(failed)?)
            .stderr(log)
            // Not in the process group that a terminal or a service manager signals.
            .process_group(0);
        let child = command.spawn().map_err(failed)?;
        tracing::info!(
            version = wanted.version,
            sha256 = wanted.sha256.as_str(),
            "the server upgrades this agent"
        );
        let begun = StateFile::begun(&wanted.sha256, &wanted.version, child.id() as i32);
        begun.write_if_absent(&self.folder).map_err(failed)?;
        Ok(begun.to_state())
    }
}

/// The SHA-256 of a file.
fn hash(path: &Path) -> io::Result<Sha256> {
    let mut file = File::open(path)?;
    let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
    let mut buffer = vec![0; MAX_PART];
    loop {
        match io::Read::read(&mut file, &mut buffer)? {
            0 => return Ok(Sha256::of_bytes(hash.finish().as_ref())),
            n => hash.update(&buffer[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn staging(dir: &Path) -> Staging {
        Staging {
            data: dir.to_owned(),
            folder: dir.join(FOLDER),
            program: "muster-agent",
        }
    }

    fn part(sha256: &Sha256, size: u64, offset: u64, content: &'static [u8]) -> UpgradePart {
        UpgradePart {
            sha256: sha256.clone(),
            size,
            offset,
            content: content.into(),
        }
    }

    fn sha256_of(bytes: &[u8]) -> Sha256 {
        Sha256::of_bytes(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref())
    }

    #[test]
    fn parts_become_the_binary_whatever_was_sent_twice_or_too_early() {
        let dir = tempfile::tempdir().unwrap();
        let staging = staging(dir.path());
        let hash = sha256_of(b"new binary");
        let take = |offset, content| {
            let part = part(&hash, 10, offset, content);
            staging.take(&part).map(|state| state.received)
        };
        assert_eq!(take(0, b"").unwrap(), 0);
        assert_eq!(take(4, b"binary").unwrap(), 0);
        assert_eq!(take(0, b"new ").unwrap(), 4);
        assert_eq!(take(0, b"new ").unwrap(), 4);
        let early = staging.upgrade(&Upgrade {
            sha256: hash.clone(),
            version: "1.0.0".into(),
        });
        assert!(early.unwrap_err().contains("not arrived completely"));
        assert_eq!(take(4, b"binary").unwrap(), 10);
        assert_eq!(take(4, b"binary").unwrap(), 10);
        assert_eq!(fs::read(staging.whole(&hash)).unwrap(), b"new binary");
        // The next binary takes its place.
        let next = sha256_of(b"next");
        staging.take(&part(&next, 4, 0, b"ne")).unwrap();
        assert!(!staging.whole(&hash).exists() && staging.partial(&next).exists());
    }

    #[test]
    fn a_binary_with_another_checksum_is_thrown_away() {
        let dir = tempfile::tempdir().unwrap();
        let staging = staging(dir.path());
        let hash = sha256_of(b"right");
        let wrong = staging.take(&part(&hash, 5, 0, b"wrong"));
        assert!(wrong.unwrap_err().contains("nothing was changed"));
        assert!(!staging.partial(&hash).exists() && !staging.whole(&hash).exists());
        assert_eq!(
            staging
                .take(&part(&hash, MAX_BINARY + 1, 0, b"x"))
                .unwrap_err(),
            format!("a binary of {} bytes is too large", MAX_BINARY + 1)
        );
    }
}
