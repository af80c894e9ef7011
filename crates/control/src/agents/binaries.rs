//! The agents' binaries in the server's folders: `muster-agent-0.2.0-x86_64`, named by program, version and processor.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use bytes::Bytes;
use locks::Mutex;
use model::upgrade::{MAX_BINARY, Sha256};
use ring::digest::{Context, SHA256};

/// The programs that can be an agent, the longer name first.
const PROGRAMS: [&str; 2] = ["muster-agent", "muster"];

/// A binary that this server can hand out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentBinary {
    /// `muster-agent` or `muster`.
    pub program: String,
    pub version: String,
    /// As `uname -m` names it.
    pub arch: String,
    pub path: PathBuf,
    pub size: u64,
    pub sha256: Sha256,
}

impl AgentBinary {
    /// The name under which it is handed out.
    pub fn file_name(&self) -> String {
        format!("{}-{}-{}", self.program, self.version, self.arch)
    }
}

/// Where binaries are, and what is known of them.
#[derive(Debug, Default)]
pub struct AgentBinaries(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    folders: Vec<PathBuf>,
    /// Single files, with the name that they would have in a folder.
    files: Vec<(PathBuf, String)>,
    /// By path, size and time of change.
    hashes: HashMap<(PathBuf, u64, SystemTime), Sha256>,
    /// Contents that are being sent.
    loaded: HashMap<Sha256, Weak<Bytes>>,
}

impl AgentBinaries {
    /// Looks into these folders. One that does not exist has no binaries.
    pub fn add_folder(&self, folder: PathBuf) {
        self.0.lock().folders.push(folder);
    }

    /// Hands out this file, which is the agent of this version for this processor.
    pub fn add_file(&self, path: PathBuf, program: &str, version: &str, arch: &str) {
        let name = format!("{program}-{version}-{arch}");
        self.0.lock().files.push((path, name));
    }

    /// Every binary, the newest version first; of two with the same name the one that was added first. Reads new files, so
    /// call it where that may take a moment.
    pub fn list(&self) -> Vec<AgentBinary> {
        let mut known = self.0.lock();
        let mut found: Vec<(PathBuf, String)> = Vec::new();
        for folder in &known.folders {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let named = entries.filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                Some((entry.path(), name))
            });
            found.extend(named);
        }
        found.extend(known.files.iter().cloned());
        let mut binaries: Vec<AgentBinary> = Vec::new();
        for (path, name) in found {
            let Some(binary) = known.read(&path, &name) else {
                continue;
            };
            if !binaries.iter().any(|one| one.file_name() == name) {
                binaries.push(binary);
            }
        }
        binaries.sort_by_cached_key(|one| {
            let newest = std::cmp::Reverse(version_key(&one.version));
            (newest, one.program.clone(), one.arch.clone())
        });
        binaries
    }

    /// The content of a binary. Shared while it is in use.
    pub fn load(&self, binary: &AgentBinary) -> io::Result<Arc<Bytes>> {
        let known = self
            .0
            .lock()
            .loaded
            .get(&binary.sha256)
            .and_then(Weak::upgrade);
        if let Some(bytes) = known {
            return Ok(bytes);
        }
        let bytes = Arc::new(Bytes::from(fs::read(&binary.path)?));
        let found = Sha256::of_bytes(ring::digest::digest(&SHA256, &bytes).as_ref());
        if found != binary.sha256 {
            let path = binary.path.display();
            return Err(io::Error::other(format!("{path} was changed meanwhile")));
        }
        let mut known = self.0.lock();
        known.loaded.retain(|_, bytes| bytes.strong_count() > 0);
        known
            .loaded
            .insert(binary.sha256.clone(), Arc::downgrade(&bytes));
        Ok(bytes)
    }
}

impl Known {
    fn read(&mut self, path: &Path, name: &str) -> Option<AgentBinary> {
        let (program, version, arch) = parse_name(name)?;
        let data = fs::metadata(path).ok()?;
        if !data.is_file() || data.len() > MAX_BINARY {
            return None;
        }
        let key = (path.to_owned(), data.len(), data.modified().ok()?);
        let sha256 = match self.hashes.get(&key) {
            Some(known) => known.clone(),
            None => {
                let sha256 = hash(path)
                    .inspect_err(|error| {
                        tracing::warn!(path = %path.display(), %error, "cannot read an agent's binary");
                    })
                    .ok()?;
                self.hashes.retain(|(known, ..), _| known != path);
                self.hashes.insert(key, sha256.clone());
                sha256
            }
        };
        Some(AgentBinary {
            program: program.to_owned(),
            version: version.to_owned(),
            arch: arch.to_owned(),
            path: path.to_owned(),
            size: data.len(),
            sha256,
        })
    }
}

fn hash(path: &Path) -> io::Result<Sha256> {
    let mut file = File::open(path)?;
    let mut hash = Context::new(&SHA256);
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Sha256::of_bytes(hash.finish().as_ref())),
            n => hash.update(&buffer[..n]),
        }
    }
}

/// Program, version and processor of `muster-agent-0.2.0-x86_64`.
fn parse_name(name: &str) -> Option<(&'static str, &str, &str)> {
    let is_plain = |text: &str| {
        let mut bytes = text.bytes();
        !text.is_empty() && bytes.all(|b| b.is_ascii_alphanumeric() || b"._+-".contains(&b))
    };
    PROGRAMS.into_iter().find_map(|program| {
        let rest = name.strip_prefix(program)?.strip_prefix('-')?;
        let (version, arch) = rest.rsplit_once('-')?;
        let is_version = version.starts_with(|c: char| c.is_ascii_digit()) && is_plain(version);
        (is_version && is_plain(arch)).then_some((program, version, arch))
    })
}

/// Orders versions by their numbers; a version with a suffix is before the one without.
fn version_key(version: &str) -> (Vec<u64>, bool, String) {
    let at = version.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (numbers, suffix) = version.split_at(at.unwrap_or(version.len()));
    let numbers = numbers.split('.').map(|n| n.parse().unwrap_or(0)).collect();
    (numbers, suffix.is_empty(), suffix.to_owned())
}

/// The newest of these versions.
pub(super) fn newest<'a>(versions: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    versions.max_by_key(|version| version_key(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_program_version_and_processor() {
        let (agent, x86) = ("muster-agent", "x86_64");
        assert_eq!(
            parse_name("muster-agent-0.2.0-x86_64"),
            Some((agent, "0.2.0", x86))
        );
        assert_eq!(
            parse_name("muster-agent-0.2.0-rc1-x86_64"),
            Some((agent, "0.2.0-rc1", x86))
        );
        assert_eq!(
            parse_name("muster-1.0.0-aarch64"),
            Some(("muster", "1.0.0", "aarch64"))
        );
        for other in [
            "muster-agent",
            "muster-agent-x86_64",
            "muster-agent-0.2.0",
            "SHA256SUMS",
            "muster-agent-0.2.0-x86_64;rm",
        ] {
            assert_eq!(parse_name(other), None, "{other}");
        }
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let all = ["0.9.0", "0.10.0-rc1", "0.10.0", "0.2.0"];
        assert_eq!(newest(all.into_iter()), Some("0.10.0"));
        assert_eq!(newest(all.into_iter().take(2)), Some("0.10.0-rc1"));
    }

    #[test]
    fn a_folder_is_read_again_when_a_file_changes() {
        let dir = tempfile::tempdir().unwrap();
        let binaries = AgentBinaries::default();
        binaries.add_folder(dir.path().join("none"));
        binaries.add_folder(dir.path().to_owned());
        assert_eq!(binaries.list(), []);
        let path = dir.path().join("muster-agent-0.2.0-x86_64");
        fs::write(&path, "one").unwrap();
        fs::write(dir.path().join("README"), "text").unwrap();
        let first = binaries.list();
        assert_eq!((first.len(), first[0].size), (1, 3));
        assert_eq!(binaries.load(&first[0]).unwrap().as_ref(), "one");
        fs::write(&path, "another").unwrap();
        let second = binaries.list();
        assert_ne!(second[0].sha256, first[0].sha256);
        assert!(binaries.load(&first[0]).is_err(), "it is another file now");
        // The folder counts before a single file of the same name.
        binaries.add_file(dir.path().join("README"), "muster-agent", "0.2.0", "x86_64");
        binaries.add_file(dir.path().join("README"), "muster", "0.2.0", "x86_64");
        let names: Vec<String> = binaries.list().iter().map(AgentBinary::file_name).collect();
        assert_eq!(names, ["muster-0.2.0-x86_64", "muster-agent-0.2.0-x86_64"]);
    }
}
