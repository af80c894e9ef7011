//! What a host's agent answers by itself: logs, and what it holds.

use std::io::Read;
use std::time::Duration;

use model::{FullName, Host};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Client, Path, answer};
use crate::failure::{Failure, Kind};

/// Longer than the server waits for an agent.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process as its agent holds it, beside what is wanted.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ComparedRow {
    pub process: String,
    pub differs: Vec<String>,
}

/// Somebody else behind a pid file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ForeignRow {
    pub process: String,
    pub pid_path: String,
    pub pid: i64,
    pub program: String,
    pub user: String,
}

/// Which output.
#[derive(Debug)]
pub struct LogsWanted<'a> {
    pub name: &'a FullName,
    pub host: Option<Host>,
    pub tail: u32,
    pub follow: bool,
}

impl Client {
    pub fn held<T: DeserializeOwned>(&self, host: &str) -> Result<T, Failure> {
        self.get(&Path::new("hosts").join(host).join("held"))
    }

    /// The bytes as they come.
    pub fn logs(&self, wanted: &LogsWanted<'_>) -> Result<impl Read + use<>, Failure> {
        let path = Path::new("processes")
            .join(wanted.name.namespace.as_str())
            .join(wanted.name.name.as_str())
            .join("logs")
            .maybe("host", wanted.host)
            .query("tail", wanted.tail)
            .maybe("follow", wanted.follow.then_some(true));
        self.stream(&path)
    }

    /// An answer that is no JSON, as it comes.
    pub(super) fn stream(&self, path: &Path) -> Result<impl Read + use<>, Failure> {
        let request = self.agent.get(self.url(path));
        let request = request
            .config()
            .timeout_recv_response(Some(PATIENCE))
            .build();
        let response = self
            .signed(request)
            .call()
            .map_err(|e| answer::unreachable(self.account(), &e))?;
        if !response.status().is_success() {
            return Err(match self.read::<serde::de::IgnoredAny>(response) {
                Err(failure) => failure,
                Ok(_) => Failure::new(Kind::Failed, "the server sent no output"),
            });
        }
        Ok(response.into_body().into_reader())
    }
}
