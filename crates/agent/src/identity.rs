//! The agent's identity on disk: its key, its certificate, and the CA that signed it.
//!
//! The key is stored before anything is sent, so that an interrupted enrolment is repeated with the same key. Certificate,
//! CA, host and agent id are one file, so that they are replaced atomically. While key and certificate are replaced, the
//! key file holds both keys; the certificate decides which one counts.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;

use base64::Engine as _;
use model::{AgentId, Host, UnixMillis};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::config::{AgentConfig, ServerAddress};
use crate::data::{self, DataDir};

const KEY_FILE: &str = "agent-key.pem";
const IDENTITY_FILE: &str = "identity.toml";
/// How far `not_before` lies before the issue of a certificate that does not name its time of issue.
const BACKDATED_MS: i64 = 2 * 24 * 3600 * 1000;

#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("the agent's identity cannot be read or written")]
    Io(#[from] io::Error),
    #[error(
        "{file} in the data directory is damaged ({what}): remove it and enrol again with --join TOKEN"
    )]
    Damaged { file: &'static str, what: String },
    #[error(
        "this data directory is enrolled as {enrolled}, not as {asked}: give the agent a new --data directory and enrol it with --join TOKEN, or start it as {enrolled}"
    )]
    Other { enrolled: String, asked: String },
    #[error(
        "this data directory is not enrolled: give --join TOKEN (or MUSTER_JOIN_TOKEN, or `join` in the file)"
    )]
    NoToken,
    #[error(
        "--ip (or MUSTER_IP, or `ip` in the file): is required to enrol, because there is no route to a server to tell the address by"
    )]
    NoIp,
}

/// An enrolled agent.
#[derive(Debug)]
pub struct Identity {
    pub host: Host,
    pub agent_id: AgentId,
    pub key: PrivateKeyDer<'static>,
    pub certificate: CertificateDer<'static>,
    pub ca: CertificateDer<'static>,
}

/// Whether the data directory holds an identity that fits the configuration.
#[derive(Debug)]
pub enum EnrolmentState {
    Enrolled(Identity),
    /// Must enrol as this host, with this key.
    NotEnrolled {
        host: Host,
        key: KeyPair,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    host: Host,
    agent_id: AgentId,
    certificate: String,
    ca: String,
}

/// Loads the identity and compares it with the configuration. Makes a key if there is none.
pub fn determine(
    data: &DataDir,
    config: &AgentConfig,
    now: UnixMillis,
) -> Result<EnrolmentState, IdentityError> {
    if let Some(identity) = load(data)? {
        identity.check(config)?;
        if !identity.has_expired(now) {
            return Ok(EnrolmentState::Enrolled(identity));
        }
        if config.join.is_none() {
            tracing::error!(
                "the certificate has expired, or the clock is wrong: start the agent with a new join token (--join TOKEN)"
            );
            return Ok(EnrolmentState::Enrolled(identity));
        }
        tracing::warn!("the certificate has expired: joining again");
        return Ok(EnrolmentState::NotEnrolled {
            host: identity.host,
            key: make_key()?,
        });
    }
    if config.join.is_none() {
        return Err(IdentityError::NoToken);
    }
    let ip = config
        .ip
        .or_else(|| own_address(&config.servers))
        .ok_or(IdentityError::NoIp)?;
    Ok(EnrolmentState::NotEnrolled {
        host: Host::new(config.cloud.unwrap_or(0), ip),
        key: load_or_make_key(data)?,
    })
}

/// The address by which this host reaches a server, if it has a route to any of them.
fn own_address(servers: &[ServerAddress]) -> Option<IpAddr> {
    servers.iter().find_map(|server| {
        let mut addresses = server.resolve().ok()?;
        addresses.find_map(|address| {
            let any: SocketAddr = match address {
                SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
                SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
            };
            // Sends nothing: the kernel chooses the address by its routes.
            let socket = UdpSocket::bind(any).ok()?;
            socket.connect(address).ok()?;
            let own = socket.local_addr().ok()?.ip();
            (!own.is_unspecified()).then_some(own)
        })
    })
}

/// Replaces identity and key: after a crash either the old or the new pair is complete.
pub fn save(data: &DataDir, identity: &Identity, key: &KeyPair) -> Result<(), IdentityError> {
    let new = key.serialize_pem();
    let old = data.read(KEY_FILE)?.unwrap_or_default();
    if old == new {
        return store(data, identity);
    }
    data.replace(KEY_FILE, &format!("{new}{old}"))?;
    store(data, identity)?;
    Ok(data.replace(KEY_FILE, &new)?)
}

fn store(data: &DataDir, identity: &Identity) -> Result<(), IdentityError> {
    let stored = Stored {
        host: identity.host,
        agent_id: identity.agent_id.clone(),
        certificate: to_pem(&identity.certificate),
        ca: to_pem(&identity.ca),
    };
    let text = toml::to_string(&stored).map_err(io::Error::other)?;
    Ok(data.replace(IDENTITY_FILE, &text)?)
}

pub(crate) fn load(data: &DataDir) -> Result<Option<Identity>, IdentityError> {
    load_from(data.path())
}

/// Loads it from a directory that an agent may have locked.
pub(crate) fn load_from(data: &Path) -> Result<Option<Identity>, IdentityError> {
    let Some(text) = data::read(data, IDENTITY_FILE)? else {
        return Ok(None);
    };
    let damaged = |what: &str| IdentityError::Damaged {
        file: IDENTITY_FILE,
        what: what.to_owned(),
    };
    let stored: Stored = toml::from_str(&text).map_err(|e| damaged(e.message()))?;
    let read = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes());
    let certificate = read(&stored.certificate).map_err(|_| damaged("certificate"))?;
    let keys = load_keys(data)?;
    let key = keys.iter().find(|key| is_for(&certificate, key));
    let key = key.ok_or_else(|| damaged("its key is gone"))?;
    Ok(Some(Identity {
        host: stored.host,
        agent_id: stored.agent_id,
        key: key_der(key),
        certificate,
        ca: read(&stored.ca).map_err(|_| damaged("ca"))?,
    }))
}

impl Identity {
    /// Fails if the configuration names another host or agent id: an identity is for one host.
    fn check(&self, config: &AgentConfig) -> Result<(), IdentityError> {
        let asked = Host::new(
            config.cloud.unwrap_or(self.host.cloud),
            config.ip.unwrap_or(self.host.ip),
        );
        if asked != self.host {
            return Err(IdentityError::Other {
                enrolled: format!("host {}", self.host),
                asked: format!("host {asked}"),
            });
        }
        match &config.agent_id {
            Some(id) if *id != self.agent_id => Err(IdentityError::Other {
                enrolled: format!("agent {}", self.agent_id),
                asked: format!("agent {id}"),
            }),
            _ => Ok(()),
        }
    }

    /// When the certificate was issued, and when it expires.
    pub fn life(&self) -> Option<(UnixMillis, UnixMillis)> {
        let (_, certificate) = X509Certificate::from_der(&self.certificate).ok()?;
        let validity = certificate.validity();
        let from = UnixMillis::from_secs(validity.not_before.timestamp());
        let issued = wire::host::issued_at(&certificate);
        let until = UnixMillis::from_secs(validity.not_after.timestamp());
        Some((
            issued.unwrap_or_else(|| from.plus_millis(BACKDATED_MS)),
            until,
        ))
    }

    fn has_expired(&self, now: UnixMillis) -> bool {
        self.life().is_some_and(|(_, until)| until < now)
    }
}

/// Makes a new key.
pub(crate) fn make_key() -> Result<KeyPair, IdentityError> {
    Ok(KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(io::Error::other)?)
}

fn is_for(certificate: &CertificateDer<'_>, key: &KeyPair) -> bool {
    X509Certificate::from_der(certificate).is_ok_and(|(_, certificate)| {
        certificate.public_key().subject_public_key.data.as_ref() == key.public_key_raw()
    })
}

pub(crate) fn key_der(key: &KeyPair) -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(key.serialize_der()).into()
}

fn load_or_make_key(data: &DataDir) -> Result<KeyPair, IdentityError> {
    if let Some(key) = load_keys(data.path())?.into_iter().next() {
        return Ok(key);
    }
    let key = make_key()?;
    data.replace(KEY_FILE, &key.serialize_pem())?;
    Ok(key)
}

/// One key, or two if the agent was killed while it replaced them.
fn load_keys(data: &Path) -> Result<Vec<KeyPair>, IdentityError> {
    let Some(text) = data::read(data, KEY_FILE)? else {
        return Ok(Vec::new());
    };
    let damaged = || IdentityError::Damaged {
        file: KEY_FILE,
        what: "no private key".into(),
    };
    let keys: Result<Vec<KeyPair>, IdentityError> = PrivateKeyDer::pem_slice_iter(text.as_bytes())
        .map(|der| {
            let der = der.map_err(|_| damaged())?;
            KeyPair::try_from(&der).map_err(|_| damaged())
        })
        .collect();
    keys.and_then(|keys| match keys.is_empty() {
        true => Err(damaged()),
        false => Ok(keys),
    })
}

fn to_pem(der: &CertificateDer<'_>) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> = (0..text.len())
        .step_by(64)
        .map(|at| &text[at..text.len().min(at + 64)])
        .collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}
