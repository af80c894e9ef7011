//! `--join-only`: enrols this host and ends, so that an installer knows whether the server takes the token before it installs
//! anything. Asks each server once. A join that fails leaves the data directory as it was.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use model::{AgentId, Host};
use serde::Serialize;

use crate::backoff::random_fraction;
use crate::config::{AgentConfig, ServerAddress};
use crate::data::{DataDir, DataError};
use crate::enrol::{EnrolError, confirm, enrol};
use crate::error::AgentError;
use crate::identity::{self, EnrolmentState, Identity, IdentityError};
use crate::server_order::ServerOrder;

/// The identity that the data directory has now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Joined {
    pub host: Host,
    pub agent_id: AgentId,
    /// False if it had joined before, and the server still accepts it.
    pub joined: bool,
}

impl fmt::Display for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.joined { "joined" } else { "had joined" };
        write!(f, "{how} as host {}, agent {}", self.host, self.agent_id)
    }
}

/// Enrols, unless the data directory has an identity that a server accepts.
pub fn join_only(config: &AgentConfig) -> Result<Joined, AgentError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let before = Before::of(&config.data);
    let joined = runtime.block_on(join(config));
    match &joined {
        // Its files are those of the agent that uses it.
        Ok(_) | Err(AgentError::Data(DataError::InUse { .. })) => {}
        Err(_) => before.restore(&config.data),
    }
    joined
}

async fn join(config: &AgentConfig) -> Result<Joined, AgentError> {
    let data = DataDir::open(&config.data)?;
    let determined = identity::determine(&data, config, crate::session::now())?;
    let (host, agent_id, key) = match determined {
        EnrolmentState::NotEnrolled { host, key } => (host, config.agent_id.clone(), key),
        EnrolmentState::Enrolled(known) => {
            if config.join.is_none() || is_accepted(config, &known).await? {
                return Ok(Joined {
                    host: known.host,
                    agent_id: known.agent_id,
                    joined: false,
                });
            }
            (known.host, Some(known.agent_id), identity::make_key()?)
        }
    };
    let token = config.join.as_ref().ok_or(IdentityError::NoToken)?;
    let identity = ask_each(config, async |server| {
        enrol(server, &token.0, host, agent_id.as_ref(), &key).await
    })
    .await?;
    identity::save(&data, &identity, &key)?;
    Ok(Joined {
        host: identity.host,
        agent_id: identity.agent_id,
        joined: true,
    })
}

/// Whether the server accepts the certificate: not after a revocation, nor after the host was removed.
async fn is_accepted(config: &AgentConfig, known: &Identity) -> Result<bool, EnrolError> {
    match ask_each(config, async |server| confirm(server, known).await).await {
        Ok(()) => Ok(true),
        Err(EnrolError::Refused(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Asks the servers in turn until one answers; a refusal is an answer for all of them.
async fn ask_each<T>(
    config: &AgentConfig,
    ask: impl AsyncFn(&ServerAddress) -> Result<T, EnrolError>,
) -> Result<T, EnrolError> {
    let mut order = ServerOrder::new(config.servers.len(), random_fraction);
    loop {
        let error = match ask(&config.servers[order.current()]).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let is_answer = !error.is_transient() || matches!(error, EnrolError::NotYet(_));
        if is_answer || !order.failed() {
            return Err(error);
        }
    }
}

/// What was there before.
struct Before {
    /// Folders that did not exist: the data directory first, then those above it.
    missing: Vec<PathBuf>,
    files: BTreeSet<OsString>,
}

impl Before {
    fn of(data: &Path) -> Self {
        let above = data.ancestors().filter(|at| !at.as_os_str().is_empty());
        Self {
            missing: above
                .take_while(|at| !at.exists())
                .map(Path::to_owned)
                .collect(),
            files: names(data).collect(),
        }
    }

    /// Removes what a failed join created. What cannot be removed stays: the error that is reported is the join's.
    fn restore(&self, data: &Path) {
        for name in names(data).filter(|name| !self.files.contains(name)) {
            let _ = std::fs::remove_file(data.join(name));
        }
        for folder in &self.missing {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

fn names(folder: &Path) -> impl Iterator<Item = OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name())
}
