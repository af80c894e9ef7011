//! The data directory: one server at a time, secrets readable by its owner only.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use control::FirstKeys;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use wire::enrol::JoinToken;

use super::BootError;
use crate::http::listen::HttpListener;

const LOCK: &str = "server.lock";
const DATABASE: &str = "muster.db";
const JOIN_TOKEN: &str = "join-token";
/// The file with which the local CLI finds the server and its credentials.
const CLI: &str = "cli.toml";

/// An open data directory, locked until it is dropped.
#[derive(Debug)]
pub(super) struct DataDir {
    path: PathBuf,
    _lock: File,
}

/// The content of [`CLI`].
#[derive(Serialize, Deserialize, Default)]
struct CliFile {
    url: String,
    app_code: String,
    app_secret: String,
    /// Whether the app may name its user; the CLI asks the server if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trusted: Option<bool>,
    /// The root certificates for an https:// server: the server's own certificate, unless an operator names another file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ca: Option<String>,
}

impl DataDir {
    pub(super) fn open(path: &Path) -> Result<Self, BootError> {
        let data_error = |source| BootError::Data {
            path: path.to_owned(),
            source,
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(data_error)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path.join(LOCK))
            .map_err(data_error)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
            rustix::io::Errno::WOULDBLOCK => BootError::InUse {
                path: path.to_owned(),
            },
            other => data_error(other.into()),
        })?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    pub(super) fn sqlite_url(&self) -> String {
        format!("sqlite:{}", self.path.join(DATABASE).display())
    }

    /// Saves a new token, and returns the saved one, with the CA's fingerprint.
    pub(super) fn remember_join_token(
        &self,
        token: Option<&str>,
        ca_sha256: [u8; 32],
    ) -> Result<Option<String>, BootError> {
        if let Some(secret) = token {
            let token = JoinToken {
                secret: secret.to_owned(),
                ca_sha256: Some(ca_sha256),
            };
            self.write_secret(JOIN_TOKEN, &format!("{token}\n"))?;
        }
        let saved = std::fs::read_to_string(self.path.join(JOIN_TOKEN)).ok();
        Ok(saved
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty()))
    }

    /// Writes the server's URL; the saved secret stays unless there is a new one.
    pub(super) fn remember_cli(
        &self,
        http: &HttpListener,
        keys: &FirstKeys,
    ) -> Result<(), BootError> {
        let before = std::fs::read_to_string(self.path.join(CLI)).unwrap_or_default();
        let mut file: CliFile = toml::from_str(&before).unwrap_or_default();
        file.url = http.url();
        if let Some(ca) = http.certificate_file() {
            file.ca.get_or_insert_with(|| ca.display().to_string());
        }
        if let (Some(code), Some(secret)) = (&keys.app_code, &keys.app_secret) {
            (file.app_code, file.app_secret) = (code.clone(), secret.clone());
        }
        file.trusted = match keys.app_code.as_ref() == Some(&file.app_code) {
            true => keys.is_app_trusted,
            false => None,
        };
        if file.app_secret.is_empty() {
            tracing::warn!(
                "the local CLI has no credentials: set MUSTER_APP_CODE and MUSTER_APP_SECRET once to give it some"
            );
            return Ok(());
        }
        let text = toml::to_string(&file).expect("strings are always TOML");
        self.write_secret(CLI, &text)
    }

    fn write_secret(&self, name: &str, text: &str) -> Result<(), BootError> {
        let path = self.path.join(name);
        replace_private(&path, text).map_err(|source| BootError::Data { path, source })
    }
}
/// Writes a file with mode 0600 from the first byte on, and replaces the old one atomically.
pub fn replace_private(path: &Path, text: &str) -> io::Result<()> {
    let temporary = path.with_added_extension("new");
    // A crash may have left one.
    let _ = std::fs::remove_file(&temporary);
    let mut file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)
}
