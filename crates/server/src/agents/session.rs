//! One connected agent: its frames go to `control`, and what `control` has for it goes out.

use std::time::Duration;

use control::{Control, Session};
use futures_util::{SinkExt, StreamExt};
use model::Host;
use rustls_pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::codec::Framed;
use wire::{Bye, Codec, Down, DownKind, SILENCE_SECS, Up, UpKind};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{ConnectionError, GREETING};
use crate::stopped;

/// How long an agent may take to read what it is sent.
const MAX_WRITE: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_secs(SILENCE_SECS);

type Frames<S> = Framed<S, Codec<Up, Down>>;

/// The host that a certificate was issued for.
pub(super) fn host_of(certificate: &CertificateDer<'_>) -> Option<Host> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    wire::host::of_certificate(&certificate)
}

/// Talks to the agent of the host that its certificate names, until either side ends it.
pub async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    control: &Control,
    stream: S,
    certified: Host,
    stop: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    let mut frames: Frames<S> = Framed::new(stream, Codec::new());
    let first = timeout(GREETING, frames.next())
        .await
        .map_err(|_| ConnectionError::TooSlow)?;
    let Some(UpKind::Hello(hello)) = first.ok_or(ConnectionError::Closed)??.kind else {
        return refuse(
            &mut frames,
            "the first frame must be a hello".to_owned(),
            false,
        )
        .await;
    };
    let session = match control.attach(certified, &hello) {
        Ok(session) => session,
        Err(refused) => {
            tracing::warn!(host = %certified, reason = refused.reason, "agent refused");
            return refuse(&mut frames, refused.reason, refused.permanent).await;
        }
    };
    tracing::info!(host = %certified, version = hello.agent_version, "agent connected");
    let ended = converse(&session, &mut frames, stop).await;
    match &ended {
        Ok(()) => tracing::info!(host = %certified, "agent disconnected"),
        Err(error) => tracing::info!(host = %certified, %error, "agent disconnected"),
    }
    ended
}

/// Reads and writes until either side is done.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    session: &Session,
    frames: &mut Frames<S>,
    mut stop: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    let mut heard = Instant::now();
    loop {
        tokio::select! {
            frame = frames.next() => {
                heard = Instant::now();
                let Some(frame) = frame else { return Ok(()) };
                if let Err(refused) = session.take(frame?).await {
                    return refuse(frames, refused.reason, refused.permanent).await;
                }
            }
            outgoing = session.next() => {
                let is_last = outgoing.iter().any(|frame| matches!(frame.kind, Some(DownKind::Bye(_))));
                send(frames, outgoing).await?;
                if is_last {
                    return Ok(());
                }
            }
            () = tokio::time::sleep_until(heard + SILENCE) => return Err(ConnectionError::TooSlow),
            // A bye is on its way through the outbox; this is for a session that was made after it was said.
            () = stopped(&mut stop) => {
                return refuse(frames, "the server is stopping".to_owned(), false).await;
            }
        }
    }
}

async fn send<S: AsyncRead + AsyncWrite + Unpin>(
    frames: &mut Frames<S>,
    outgoing: Vec<Down>,
) -> Result<(), ConnectionError> {
    let writing = async {
        for frame in outgoing {
            frames.feed(frame).await?;
        }
        frames.flush().await
    };
    timeout(MAX_WRITE, writing)
        .await
        .map_err(|_| ConnectionError::TooSlow)??;
    Ok(())
}

async fn refuse<S: AsyncRead + AsyncWrite + Unpin>(
    frames: &mut Frames<S>,
    reason: String,
    permanent: bool,
) -> Result<(), ConnectionError> {
    send(
        frames,
        vec![
            Bye {
                reason: reason.clone(),
                permanent,
            }
            .into(),
        ],
    )
    .await?;
    timeout(MAX_WRITE, frames.close())
        .await
        .map_err(|_| ConnectionError::TooSlow)??;
    Err(ConnectionError::Refused(reason))
}
