//! Enrolment: token and key request in, certificate out. An agent that has a certificate needs no token to get the next
//! one, and without a request it only asks whether its certificate is good.

use std::net::SocketAddr;

use control::{Certificate, Control, ControlError, Refused};
use futures_util::{SinkExt, StreamExt};
use model::{AgentId, Host};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::Framed;
use wire::Codec;
use wire::enrol::{Enrol, Enrolled, MAX_FRAME};

use super::ConnectionError;
use crate::ca::Ca;

pub(super) async fn serve(
    control: &Control,
    ca: &Ca,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: SocketAddr,
    certificate: Option<Result<Certificate, Refused>>,
) -> Result<(), ConnectionError> {
    let mut frames = Framed::new(stream, Codec::<Enrol, Enrolled>::with_limit(MAX_FRAME));
    let question = frames.next().await.ok_or(ConnectionError::Closed)??;
    let named = format!("{}:{}", question.cloud, question.ip);
    // What another replica has just enrolled or revoked counts here, too.
    control.settled().await;
    let answer = match (certificate, question.token.is_empty()) {
        (Some(certificate), true) => renew(control, ca, &question, certificate),
        (_, _) => enrol(control, ca, question, peer).await,
    };
    let answer = match answer {
        Ok(answer) => {
            tracing::info!(host = named, %peer, agent_id = answer.agent_id, "agent has a certificate");
            answer
        }
        Err(Unenrolled::Refused { reason, retry }) => {
            tracing::warn!(host = named, %peer, refused = reason, "agent gets no certificate");
            Enrolled {
                refused: reason,
                retry,
                ..Default::default()
            }
        }
        // Without an answer the agent tries again, which is right: the trouble is ours.
        Err(Unenrolled::NotNow(error)) => {
            tracing::error!(host = named, %peer, error, "cannot enrol agents");
            return Err(ConnectionError::Closed);
        }
    };
    frames.send(answer).await?;
    frames.close().await?;
    Ok(())
}

/// Why there is no certificate.
enum Unenrolled {
    /// The sentence that the agent shows. Without `retry` it has to be configured in another way first.
    Refused {
        reason: String,
        retry: bool,
    },
    NotNow(String),
}

impl Unenrolled {
    fn for_good(reason: impl Into<String>) -> Self {
        Self::Refused {
            reason: reason.into(),
            retry: false,
        }
    }
}

impl From<Refused> for Unenrolled {
    fn from(refused: Refused) -> Self {
        match refused.permanent {
            true => Self::for_good(refused.reason),
            false => Self::NotNow(refused.reason),
        }
    }
}

async fn enrol(
    control: &Control,
    ca: &Ca,
    question: Enrol,
    peer: SocketAddr,
) -> Result<Enrolled, Unenrolled> {
    let refused = |reason: String| Unenrolled::for_good(reason);
    let host =
        Host::parse(i64::from(question.cloud), &question.ip).map_err(|e| refused(e.to_string()))?;
    let agent_id = match question.agent_id.as_str() {
        "" => None,
        id => Some(AgentId::parse(id).map_err(|e| refused(e.to_string()))?),
    };
    // Looked at first: a request that cannot be signed must not use the token up.
    ca.check_request(&question.csr_der)
        .map_err(|e| refused(format!("the key request is no good: {e}")))?;
    let enrolled = control
        .enrol(&question.token, host, agent_id, Some(peer.ip()))
        .await;
    let agent_id = enrolled.map_err(|error| match error {
        ControlError::Unavailable(_) | ControlError::Busy(_) => {
            Unenrolled::NotNow(error.to_string())
        }
        ControlError::HostInUse(reason) => Unenrolled::Refused {
            reason,
            retry: true,
        },
        other => Unenrolled::for_good(other.to_string()),
    })?;
    // Signed afterwards: it says that it was issued no earlier than the enrolment that it belongs to.
    let certificate = ca
        .sign_agent(&host, &question.csr_der, control.issue_time(host))
        .map_err(|e| Unenrolled::NotNow(e.to_string()))?;
    Ok(Enrolled {
        certificate_der: certificate.to_vec(),
        ca_der: ca.certificate().to_vec(),
        agent_id: agent_id.to_string(),
        ..Default::default()
    })
}

fn renew(
    control: &Control,
    ca: &Ca,
    question: &Enrol,
    certificate: Result<Certificate, Refused>,
) -> Result<Enrolled, Unenrolled> {
    let certificate = certificate?;
    let (agent_id, issued_at) = control.renewal(certificate)?;
    let certificate_der = match question.csr_der.is_empty() {
        true => Vec::new(),
        false => ca
            .sign_agent(&certificate.host, &question.csr_der, issued_at)
            .map_err(|e| Unenrolled::for_good(format!("the key request is no good: {e}")))?
            .to_vec(),
    };
    Ok(Enrolled {
        certificate_der,
        ca_der: ca.certificate().to_vec(),
        agent_id: agent_id.to_string(),
        ..Default::default()
    })
}
