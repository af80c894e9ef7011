//! Enrolment: join token and certificate signing request (CSR) in, certificate out.
//!
//! An agent that has a certificate needs no token to renew it. Without a CSR it only asks whether its certificate is valid.

use std::net::SocketAddr;

use control::{Certificate, Control, ControlError, Refused};
use futures_util::{SinkExt, StreamExt};
use model::{AgentId, Host};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::Framed;
use wire::Codec;
use wire::enrol::{Enrol, Enrolled, MAX_FRAME};

use super::ConnectionError;
use crate::ca::{Ca, CheckedRequest};

pub(super) async fn serve(
    control: &Control,
    ca: &Ca,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: SocketAddr,
    certificate: Option<Result<Certificate, Refused>>,
) -> Result<(), ConnectionError> {
    let mut frames = Framed::new(stream, Codec::<Enrol, Enrolled>::with_limit(MAX_FRAME));
    let request = frames.next().await.ok_or(ConnectionError::Closed)??;
    let named = format!("{}:{}", request.cloud, request.ip);
    // Another replica may have just enrolled or revoked it.
    control.replicas().catch_up().await;
    if certificate.is_none() && request.token.is_empty() && request.csr_der.is_empty() {
        // `muster-agent check` of a host that has not joined.
        let reason = "neither a certificate nor a token: nothing but the time is told";
        frames.send(refusal(reason.into(), false)).await?;
        frames.close().await?;
        return Ok(());
    }
    let answer = match (certificate, request.token.is_empty()) {
        (Some(certificate), true) => renew(control, ca, &request, certificate),
        (_, _) => enrol(control, ca, request, peer).await,
    };
    let answer = match answer {
        Ok(answer) => {
            tracing::info!(host = named, %peer, agent_id = answer.agent_id, "agent has a certificate");
            answer
        }
        Err(NoCertificate::Refused { reason, retry }) => {
            tracing::warn!(host = named, %peer, refused = reason, "agent gets no certificate");
            refusal(reason, retry)
        }
        // Without a response the agent tries again, which is right: the fault is the server's.
        Err(NoCertificate::Unavailable(error)) => {
            tracing::error!(host = named, %peer, error, "cannot enrol agents");
            return Err(ConnectionError::Closed);
        }
    };
    frames.send(answer).await?;
    frames.close().await?;
    Ok(())
}

fn refusal(refused: String, retry: bool) -> Enrolled {
    Enrolled {
        refused,
        retry,
        server_time_ms: crate::http::now().0,
        ..Default::default()
    }
}

/// Why there is no certificate.
enum NoCertificate {
    /// The message that the agent shows. Without `retry` an operator has to change its configuration first.
    Refused {
        reason: String,
        retry: bool,
    },
    Unavailable(String),
}

impl NoCertificate {
    fn for_good(reason: impl Into<String>) -> Self {
        Self::Refused {
            reason: reason.into(),
            retry: false,
        }
    }
}

impl From<Refused> for NoCertificate {
    fn from(refused: Refused) -> Self {
        match refused.permanent {
            true => Self::for_good(refused.reason),
            false => Self::Unavailable(refused.reason),
        }
    }
}

async fn enrol(
    control: &Control,
    ca: &Ca,
    request: Enrol,
    peer: SocketAddr,
) -> Result<Enrolled, NoCertificate> {
    let refused = |reason: String| NoCertificate::for_good(reason);
    let host =
        Host::parse(i64::from(request.cloud), &request.ip).map_err(|e| refused(e.to_string()))?;
    let agent_id = match request.agent_id.as_str() {
        "" => None,
        id => Some(AgentId::parse(id).map_err(|e| refused(e.to_string()))?),
    };
    // Checked first: a CSR that cannot be signed must not use up the token.
    let checked = CheckedRequest::read(&request.csr_der)
        .map_err(|e| refused(format!("the key request is no good: {e}")))?;
    let enrolled = control
        .enrolment()
        .enrol(&request.token, host, agent_id, Some(peer.ip()))
        .await;
    let agent_id = enrolled.map_err(|error| match error {
        ControlError::Unavailable(_) | ControlError::Busy(_) => {
            NoCertificate::Unavailable(error.to_string())
        }
        ControlError::HostInUse(reason) => NoCertificate::Refused {
            reason,
            retry: true,
        },
        other => NoCertificate::for_good(other.to_string()),
    })?;
    // Signed after the commit, so that the certificate is not issued before its enrolment.
    let certificate = ca
        .sign_agent(&host, checked, control.enrolment().issue_time(host))
        .map_err(|e| NoCertificate::Unavailable(e.to_string()))?;
    Ok(Enrolled {
        certificate_der: certificate.to_vec(),
        ca_der: ca.certificate().to_vec(),
        agent_id: agent_id.to_string(),
        server_time_ms: crate::http::now().0,
        ..Default::default()
    })
}

fn renew(
    control: &Control,
    ca: &Ca,
    request: &Enrol,
    certificate: Result<Certificate, Refused>,
) -> Result<Enrolled, NoCertificate> {
    let certificate = certificate?;
    let (agent_id, issued_at) = control.enrolment().renewal(certificate)?;
    let certificate_der = match request.csr_der.is_empty() {
        true => Vec::new(),
        false => CheckedRequest::read(&request.csr_der)
            .and_then(|checked| ca.sign_agent(&certificate.host, checked, issued_at))
            .map_err(|e| NoCertificate::for_good(format!("the key request is no good: {e}")))?
            .to_vec(),
    };
    Ok(Enrolled {
        certificate_der,
        ca_der: ca.certificate().to_vec(),
        agent_id: agent_id.to_string(),
        server_time_ms: crate::http::now().0,
        ..Default::default()
    })
}
