//! Enrolment: exchanges the join token for a certificate once, and a certificate for the next one ever after.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use model::{AgentId, Host};
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, SanType};
use rustls_pki_types::CertificateDer;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use tokio_util::codec::Framed;
use wire::WireError;
use wire::enrol::{Enrol, Enrolled, JoinToken};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::config::ServerAddress;
use crate::connect::{ConnectError, connect};
use crate::identity::{self, Identity};
use crate::tls::{self, TlsError};

/// Limit for the server to sign.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum EnrolError {
    #[error("cannot connect to the server to enrol")]
    Connect(#[from] ConnectError),
    #[error("the connection failed during enrolment")]
    Wire(#[from] WireError),
    #[error("the server closed the connection or stayed silent during enrolment")]
    NoAnswer,
    #[error(
        "the server's CA is not the one that the join token names: nothing was sent. Is the address right, and the token of this server?"
    )]
    WrongCa(#[source] ConnectError),
    #[error("server rejected this agent: {0}")]
    Refused(String),
    #[error("the server cannot enrol this agent now: {0}")]
    NotYet(String),
    #[error("the server's answer is wrong: {0}")]
    BadAnswer(&'static str),
    #[error("the request for a certificate cannot be made")]
    Request(#[from] rcgen::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl EnrolError {
    /// Whether a retry may succeed without a change by the user.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Connect(_) | Self::Wire(_) | Self::NoAnswer | Self::NotYet(_)
        )
    }
}

/// Tries once. Sends the secret only to a server with the CA that the token names; to any server if it names none.
pub async fn enrol(
    server: &ServerAddress,
    token: &JoinToken,
    host: Host,
    agent_id: Option<&AgentId>,
    key: &KeyPair,
) -> Result<Identity, EnrolError> {
    let enrol = Enrol {
        token: token.secret.clone(),
        cloud: host.cloud,
        ip: host.ip.to_string(),
        agent_id: agent_id.map(ToString::to_string).unwrap_or_default(),
        csr_der: certificate_request(host, key)?,
    };
    let (config, verifier) = tls::enrolment_config(token.ca_sha256)?;
    let stream = connect(server, &config)
        .await
        .map_err(|error| match error.is_wrong_ca() {
            true => EnrolError::WrongCa(error),
            false => EnrolError::Connect(error),
        })?;
    let ca = verifier
        .ca()
        .ok_or(EnrolError::BadAnswer("the server showed no CA"))?;
    if token.ca_sha256.is_none() {
        tracing::warn!(
            ca_sha256 = hex(&tls::sha256(&ca)),
            "the join token names no CA: trusting the server on first use"
        );
    }

    let answer = ask(stream, enrol).await?;
    accept(answer, ca, host, key)
}

/// Tries once to get the next certificate, for a new key, authenticated by the present one.
pub async fn renew(
    server: &ServerAddress,
    identity: &Identity,
) -> Result<(Identity, KeyPair), EnrolError> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let enrol = Enrol {
        csr_der: certificate_request(identity.host, &key)?,
        ..request_of(identity)
    };
    let stream = connect(server, &tls::renewal_config(identity)?).await?;
    let answer = ask(stream, enrol).await?;
    let next = accept(answer, identity.ca.clone(), identity.host, &key)?;
    Ok((next, key))
}

/// Asks whether the server accepts this certificate.
pub async fn confirm(server: &ServerAddress, identity: &Identity) -> Result<(), EnrolError> {
    let stream = connect(server, &tls::renewal_config(identity)?).await?;
    let answer = ask(stream, request_of(identity)).await?;
    match answer.refused.is_empty() {
        true => Ok(()),
        false => Err(EnrolError::Refused(answer.refused)),
    }
}

/// Asks over an open connection whether the server accepts this certificate, and what time it is. Without an identity it
/// asks for the time alone; no token is sent.
pub(crate) async fn probe(
    stream: TlsStream<TcpStream>,
    identity: Option<&Identity>,
) -> Result<Enrolled, EnrolError> {
    let request = identity.map(request_of).unwrap_or_default();
    ask(stream, request).await
}

/// A request without token and certificate request.
fn request_of(identity: &Identity) -> Enrol {
    Enrol {
        token: String::new(),
        cloud: identity.host.cloud,
        ip: identity.host.ip.to_string(),
        agent_id: identity.agent_id.to_string(),
        csr_der: Vec::new(),
    }
}

async fn ask(stream: TlsStream<TcpStream>, request: Enrol) -> Result<Enrolled, EnrolError> {
    let codec = wire::Codec::<Enrolled, Enrol>::with_limit(wire::enrol::MAX_FRAME);
    let mut framed = Framed::new(stream, codec);
    let conversation = async {
        framed.send(request).await?;
        framed.next().await.transpose()
    };
    timeout(ANSWER_TIMEOUT, conversation)
        .await
        .map_err(|_| EnrolError::NoAnswer)??
        .ok_or(EnrolError::NoAnswer)
}

/// Checks that the certificate is for this host and key, and that the CA is the one of the connection.
fn accept(
    answer: Enrolled,
    ca: CertificateDer<'static>,
    host: Host,
    key: &KeyPair,
) -> Result<Identity, EnrolError> {
    if !answer.refused.is_empty() {
        return Err(match answer.retry {
            true => EnrolError::NotYet(answer.refused),
            false => EnrolError::Refused(answer.refused),
        });
    }
    if answer.ca_der != ca.as_ref() {
        return Err(EnrolError::BadAnswer(
            "its CA is not the one of the connection",
        ));
    }
    let (_, certificate) = X509Certificate::from_der(&answer.certificate_der)
        .map_err(|_| EnrolError::BadAnswer("no certificate"))?;
    if certificate.public_key().subject_public_key.data.as_ref() != key.public_key_raw() {
        return Err(EnrolError::BadAnswer("the certificate is for another key"));
    }
    if wire::host::of_certificate(&certificate) != Some(host) {
        return Err(EnrolError::BadAnswer("the certificate is for another host"));
    }
    let agent_id =
        AgentId::parse(&answer.agent_id).map_err(|_| EnrolError::BadAnswer("no agent id"))?;
    Ok(Identity {
        host,
        agent_id,
        key: identity::key_der(key),
        certificate: answer.certificate_der.into(),
        ca,
    })
}

fn certificate_request(host: Host, key: &KeyPair) -> Result<Vec<u8>, rcgen::Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    let uri = wire::host::to_uri(&host);
    params.subject_alt_names = vec![SanType::URI(uri.as_str().try_into()?)];
    Ok(params.serialize_request(key)?.der().to_vec())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
