//! The header of a backup, and the key that belongs to it.

use std::io::{BufRead, Read};

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use crate::BackupError;

/// The newest format that this program reads; the one that it writes.
pub(crate) const FORMAT: u32 = 1;
const MAGIC: &str = "muster-backup ";
/// A longer header is no header.
const MAX_HEADER: u64 = 64 * 1024;
const SALT: usize = 16;
/// What a damaged or hostile header may ask for.
const MAX_MEMORY_KIB: u32 = 1024 * 1024;
const MAX_PASSES: u32 = 64;
const MAX_LANES: u32 = 16;

/// What can be read without the passphrase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub created_at_ms: i64,
    /// The version of the program that wrote it.
    pub version: String,
    /// Of the store.
    pub schema_version: i64,
    /// The last commit in it.
    pub revision: u64,
    pub files: Vec<FileEntry>,
    pub key: KeyDerivation,
}

/// One of the files in the backup, in the order of their content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    pub name: String,
    pub bytes: u64,
}

/// How the key is made of the passphrase: Argon2id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyDerivation {
    pub memory_kib: u32,
    pub passes: u32,
    pub lanes: u32,
    /// Base64; new for each backup.
    pub salt: String,
}

impl KeyDerivation {
    /// About half a second of a core, and 64 MiB.
    pub fn fresh() -> Result<Self, BackupError> {
        let mut salt = [0; SALT];
        SystemRandom::new()
            .fill(&mut salt)
            .map_err(|_| BackupError::Write(std::io::Error::other("no random numbers")))?;
        Ok(Self {
            memory_kib: 64 * 1024,
            passes: 3,
            lanes: 1,
            salt: STANDARD.encode(salt),
        })
    }

    pub(crate) fn key(&self, passphrase: &str) -> Result<LessSafeKey, BackupError> {
        let is_sane = self.memory_kib <= MAX_MEMORY_KIB
            && self.passes <= MAX_PASSES
            && self.lanes <= MAX_LANES;
        let bad = || BackupError::BadKeyDerivation;
        let salt = STANDARD.decode(&self.salt).map_err(|_| bad())?;
        let params = Params::new(self.memory_kib, self.passes, self.lanes, Some(32));
        let params = params.map_err(|_| bad())?;
        if !is_sane {
            return Err(bad());
        }
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let mut key = [0; 32];
        let made = argon2.hash_password_into(passphrase.as_bytes(), &salt, &mut key);
        made.map_err(|_| bad())?;
        let key = UnboundKey::new(&CHACHA20_POLY1305, &key).expect("a key of 32 bytes");
        Ok(LessSafeKey::new(key))
    }
}

impl Header {
    /// All files together.
    pub fn content_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Both lines.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let json = serde_json::to_string(self).expect("texts and numbers");
        format!("{MAGIC}{FORMAT}\n{json}\n").into_bytes()
    }

    /// Reads both lines; returns the bytes, too, which are authenticated.
    pub(crate) fn read(from: &mut impl BufRead) -> Result<(Self, Vec<u8>), BackupError> {
        let mut bytes = Vec::new();
        let mut line = |limit: u64| -> Result<String, BackupError> {
            let start = bytes.len();
            let mut limited = from.by_ref().take(limit);
            limited
                .read_until(b'\n', &mut bytes)
                .map_err(BackupError::Read)?;
            let line = bytes.get(start..).and_then(|line| line.strip_suffix(b"\n"));
            let text = line.map(|line| String::from_utf8_lossy(line).into_owned());
            text.ok_or(BackupError::NotABackup)
        };
        let first = line(64)?;
        let format = first.strip_prefix(MAGIC).ok_or(BackupError::NotABackup)?;
        match format.parse::<u32>() {
            Ok(FORMAT) => {}
            Ok(_) | Err(_) => {
                return Err(BackupError::TooNew {
                    found: format.to_owned(),
                });
            }
        }
        let json = line(MAX_HEADER).map_err(|error| match error {
            BackupError::NotABackup => BackupError::Truncated { after: 0 },
            other => other,
        })?;
        let header = serde_json::from_str(&json).map_err(BackupError::BadHeader)?;
        Ok((header, bytes))
    }
}
