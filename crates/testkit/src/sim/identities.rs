//! The identities of simulated agents: each enrols with its own key and certificate, as a real agent does.
//!
//! `--data` stores them in one file, a line each, so that the next run of the same fleet does not enrol again.

#![allow(
    clippy::print_stderr,
    reason = "progress goes to standard error, answers to standard output"
)]

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::backoff::{self, Attempt, Backoff};
use agent::enrol::enrol;
use agent::error::chain;
use agent::identity::Identity;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use model::{AgentId, Host};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls_pki_types::PrivatePkcs8KeyDer;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use super::SimError;
use super::options::Options;

const FILE: &str = "identities.jsonl";
/// Limit of concurrent enrolments.
const AT_A_TIME: usize = 64;
/// Attempts of one agent before the run fails.
const TRIES: usize = 10;
const BETWEEN_PROGRESS: Duration = Duration::from_secs(2);

#[derive(Serialize, Deserialize)]
struct StoredIdentity {
    host: Host,
    agent_id: AgentId,
    key: String,
    certificate: String,
    ca: String,
}

/// One identity per agent, in order: stored ones, the rest enrolled now.
pub(super) async fn load_or_enrol(options: &Options) -> Result<Vec<Identity>, SimError> {
    let hosts = (0..options.agents)
        .map(|index| Ok(Host::new(options.cloud, options.host_ip(index)?)))
        .collect::<Result<Vec<_>, SimError>>()?;
    let file = options.data.as_deref().map(|data| data.join(FILE));
    let mut known = match &file {
        Some(file) => read(file)?,
        None => HashMap::new(),
    };
    let not_enrolled: Vec<Host> = hosts
        .iter()
        .filter(|host| !known.contains_key(host))
        .copied()
        .collect();
    if !not_enrolled.is_empty() {
        let enrolled = enrol_all(options, not_enrolled).await?;
        if let Some(file) = &file {
            append(file, &enrolled)?;
        }
        known.extend(enrolled.into_iter().map(|one| (one.host, one)));
    }
    Ok(hosts.iter().filter_map(|host| known.remove(host)).collect())
}

async fn enrol_all(options: &Options, hosts: Vec<Host>) -> Result<Vec<Identity>, SimError> {
    let options = Arc::new(options.clone());
    let n_agents = hosts.len();
    let mut waiting = hosts.into_iter();
    let mut under_way = JoinSet::new();
    let mut enrolled = Vec::with_capacity(n_agents);
    let (mut n_failed, mut last) = (0, String::new());
    let mut printed_at = Instant::now();
    loop {
        while under_way.len() < AT_A_TIME
            && n_failed == 0
            && let Some(host) = waiting.next()
        {
            under_way.spawn(enrol_one(options.clone(), host));
        }
        match under_way.join_next().await {
            Some(Ok(Ok(identity))) => enrolled.push(identity),
            Some(Ok(Err(error))) => (n_failed, last) = (n_failed + 1, error),
            Some(Err(error)) => (n_failed, last) = (n_failed + 1, error.to_string()),
            None => break,
        }
        if printed_at.elapsed() >= BETWEEN_PROGRESS {
            printed_at = Instant::now();
            eprintln!("sim: {} of {n_agents} enrolled", enrolled.len());
        }
    }
    match n_failed {
        0 => Ok(enrolled),
        _ => Err(SimError::Enrol {
            n_failed,
            n_agents,
            last,
        }),
    }
}

async fn enrol_one(options: Arc<Options>, host: Host) -> Result<Identity, String> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|e| e.to_string())?;
    let mut backoff = Backoff::default();
    let mut tries = 1..TRIES;
    let mut servers = options.server.iter().cycle();
    loop {
        let server = servers.next().expect("at least one server is required");
        let error = match enrol(server, &options.join, host, None, &key).await {
            Ok(identity) => return Ok(identity),
            Err(error) => error,
        };
        if !error.is_transient() || tries.next().is_none() {
            return Err(chain(&error));
        }
        tokio::time::sleep(backoff.delay(Attempt::Failed, backoff::random_fraction())).await;
    }
}

fn read(file: &Path) -> Result<HashMap<Host, Identity>, SimError> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(unusable(file, error)),
    };
    let identities = text.lines().map(|line| {
        let kept: StoredIdentity = serde_json::from_str(line).map_err(|e| unusable(file, e))?;
        let der = |text: &str| BASE64.decode(text).map_err(|e| unusable(file, e));
        let identity = Identity {
            host: kept.host,
            agent_id: kept.agent_id,
            key: PrivatePkcs8KeyDer::from(der(&kept.key)?).into(),
            certificate: der(&kept.certificate)?.into(),
            ca: der(&kept.ca)?.into(),
        };
        Ok((identity.host, identity))
    });
    identities.collect()
}

fn append(file: &Path, identities: &[Identity]) -> Result<(), SimError> {
    let unusable = |error| unusable(file, error);
    std::fs::create_dir_all(file.parent().unwrap_or(&PathBuf::new())).map_err(unusable)?;
    let kept = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(file)
        .map_err(unusable)?;
    let mut kept = BufWriter::new(kept);
    for identity in identities {
        let line = StoredIdentity {
            host: identity.host,
            agent_id: identity.agent_id.clone(),
            key: BASE64.encode(identity.key.secret_der()),
            certificate: BASE64.encode(&identity.certificate),
            ca: BASE64.encode(&identity.ca),
        };
        let line = serde_json::to_string(&line).expect("strings are always JSON");
        writeln!(kept, "{line}").map_err(unusable)?;
    }
    kept.flush().map_err(unusable)
}

fn unusable(file: &Path, error: impl ToString) -> SimError {
    SimError::Identities {
        path: file.display().to_string(),
        what: error.to_string(),
    }
}
