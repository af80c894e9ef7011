//! Enrolment: token and key request in, certificate out.

use std::net::SocketAddr;

use control::{Control, ControlError};
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
) -> Result<(), ConnectionError> {
    let mut frames = Framed::new(stream, Codec::<Enrol, Enrolled>::with_limit(MAX_FRAME));
    let question = frames.next().await.ok_or(ConnectionError::Closed)??;
    let named = format!("{}:{}", question.cloud, question.ip);
    let answer = match enrol(control, ca, question, peer).await {
        Ok(answer) => {
            tracing::info!(host = named, %peer, agent_id = answer.agent_id, "agent enrolled");
            answer
        }
        Err(Unenrolled::Refused(refused)) => {
            tracing::warn!(host = named, %peer, refused, "agent not enrolled");
            Enrolled {
                refused,
                ..Default::default()
            }
        }
        // Without an answer the agent tries again, which is right: the trouble is ours.
        Err(Unenrolled::NotNow(error)) => {
            tracing::error!(host = named, %peer, error = &error as &dyn std::error::Error, "cannot enrol agents");
            return Err(ConnectionError::Closed);
        }
    };
    frames.send(answer).await?;
    frames.close().await?;
    Ok(())
}

/// Why there is no certificate.
enum Unenrolled {
    /// The sentence that the agent shows: somebody has to mend something first.
    Refused(String),
    NotNow(ControlError),
}

async fn enrol(
    control: &Control,
    ca: &Ca,
    question: Enrol,
    peer: SocketAddr,
) -> Result<Enrolled, Unenrolled> {
    let refused = |reason: String| Unenrolled::Refused(reason);
    let host =
        Host::parse(i64::from(question.cloud), &question.ip).map_err(|e| refused(e.to_string()))?;
    let agent_id = match question.agent_id.as_str() {
        "" => None,
        id => Some(AgentId::parse(id).map_err(|e| refused(e.to_string()))?),
    };
    // Signed first: a request that cannot be signed must not use the token up.
    let certificate = ca
        .sign_agent(&host, &question.csr_der)
        .map_err(|e| refused(format!("the key request is no good: {e}")))?;
    let enrolled = control
        .enrol(&question.token, host, agent_id, Some(peer.ip()))
        .await;
    let agent_id = enrolled.map_err(|error| match error {
        ControlError::Unavailable(_) | ControlError::Busy(_) => Unenrolled::NotNow(error),
        other => Unenrolled::Refused(other.to_string()),
    })?;
    Ok(Enrolled {
        refused: String::new(),
        certificate_der: certificate.to_vec(),
        ca_der: ca.certificate().to_vec(),
        agent_id: agent_id.to_string(),
    })
}
