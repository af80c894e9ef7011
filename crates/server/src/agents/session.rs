//! One connected agent: its frames go to `control`, and what `control` has for it goes out.

use std::io;
use std::pin::pin;
use std::time::Duration;

use control::{Control, Refused, Session};
use model::Host;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use wire::{Ack, Bye, Down, DownKind, Hello, KEEPALIVE_SECS, SILENCE_SECS, Up, UpKind, WireError};

mod frames;

use super::{ConnectionError, Limits};
use crate::stopped;
pub(super) use frames::Frames;

/// How long an agent may take to read all of what it is sent at a time, however steadily it reads.
const MAX_WRITE: Duration = Duration::from_secs(300);
const KEEPALIVE: Duration = Duration::from_secs(KEEPALIVE_SECS);
const SILENCE: Duration = Duration::from_secs(SILENCE_SECS);
/// The longest hello: with all the operations that an agent may hold.
const MAX_HELLO: usize = 1024 * 1024;

/// Talks to the agent of a host, until either side ends it.
pub async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    control: &Control,
    stream: S,
    certified: Host,
    stop: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    let (frames, hello) = greeted(stream, Limits::default().patience).await?;
    attend(control, frames, hello, certified, stop).await
}

/// Waits for the first frame, which must not be long.
pub(super) async fn greeted<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    patience: Duration,
) -> Result<(Frames<S>, Hello), ConnectionError> {
    let mut frames = Frames::with_limit(stream, MAX_HELLO);
    let first = timeout(patience, frames.next())
        .await
        .map_err(|_| ConnectionError::TooSlow)?;
    let Some(UpKind::Hello(hello)) = first?.ok_or(ConnectionError::Closed)?.kind else {
        let refused = Refused::for_now("the first frame must be a hello");
        return Err(refuse(&mut frames, refused).await);
    };
    frames.lift_limit();
    Ok((frames, hello))
}

/// Tells an agent why it may not come in.
pub(super) async fn turn_away<S: AsyncRead + AsyncWrite + Unpin>(
    mut frames: Frames<S>,
    hello: &Hello,
    refused: Refused,
) -> Result<(), ConnectionError> {
    let host = format!("{}:{}", hello.cloud, hello.ip);
    tracing::warn!(host, reason = refused.reason, "agent refused");
    Err(refuse(&mut frames, refused).await)
}

/// The session of an agent that has said hello.
pub(super) async fn attend<S: AsyncRead + AsyncWrite + Unpin>(
    control: &Control,
    mut frames: Frames<S>,
    hello: Hello,
    certified: Host,
    stop: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    if control.is_draining() {
        let draining = Refused::for_now("the server is draining: go to another one");
        return turn_away(frames, &hello, draining).await;
    }
    if control.is_cut_off() {
        let cut_off = Refused::for_now("the server is cut off from its store");
        return turn_away(frames, &hello, cut_off).await;
    }
    let session = match control.attach(certified, &hello) {
        Ok(session) => session,
        Err(refused) => return turn_away(frames, &hello, refused).await,
    };
    tracing::info!(host = %certified, version = hello.agent_version, "agent connected");
    // A session lasts for weeks: it keeps only what it needs.
    drop(hello);
    let ended = converse(&session, &mut frames, stop).await;
    match &ended {
        Ok(()) => tracing::info!(host = %certified, "agent disconnected"),
        Err(error) => tracing::info!(host = %certified, %error, "agent disconnected"),
    }
    ended
}

/// Reads and writes until either side is done. An agent that the server hears is told from time to time that the server
/// hears it, because most frames want no answer.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    session: &Session,
    frames: &mut Frames<S>,
    mut stop: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    let mut sent_at = Instant::now();
    let mut keepalive_at = sent_at + KEEPALIVE;
    loop {
        let silent_at = frames.heard_at() + SILENCE;
        tokio::select! {
            frame = frames.next() => {
                let Some(frame) = frame? else { return Ok(()) };
                let began = Instant::now();
                if let Err(refused) = take(session, frames, frame).await? {
                    return Err(refuse(frames, refused).await);
                }
                frames.excuse_since(began);
            }
            outgoing = session.next() => {
                let is_last = outgoing.iter().any(|frame| matches!(frame.kind, Some(DownKind::Bye(_))));
                let began = Instant::now();
                send(frames, outgoing).await?;
                if is_last {
                    return Ok(());
                }
                frames.excuse_since(began);
                sent_at = Instant::now();
                keepalive_at = sent_at + KEEPALIVE;
            }
            () = sleep_until(silent_at) => {
                // Parts of a frame may have come meanwhile.
                if frames.heard_at().elapsed() >= SILENCE {
                    return Err(ConnectionError::TooSlow);
                }
            }
            () = sleep_until(keepalive_at) => {
                if frames.heard_at() > sent_at {
                    let began = Instant::now();
                    send(frames, vec![Ack::default().into()]).await?;
                    frames.excuse_since(began);
                    sent_at = Instant::now();
                }
                keepalive_at = Instant::now() + KEEPALIVE;
            }
            // A bye is on its way through the outbox; this is for a session that was made after it was said.
            () = stopped(&mut stop) => {
                let stopping = Refused::for_now("the server is stopping");
                return Err(refuse(frames, stopping).await);
            }
        }
    }
}

/// Takes in one frame, and tells the agent that the server lives while a slow store delays that.
async fn take<S: AsyncRead + AsyncWrite + Unpin>(
    session: &Session,
    frames: &mut Frames<S>,
    frame: Up,
) -> Result<Result<(), Refused>, ConnectionError> {
    let mut taking = pin!(session.take(frame));
    loop {
        match timeout(KEEPALIVE, &mut taking).await {
            Ok(taken) => return Ok(taken),
            Err(_) => send(frames, vec![Ack::default().into()]).await?,
        }
    }
}

async fn send<S: AsyncRead + AsyncWrite + Unpin>(
    frames: &mut Frames<S>,
    outgoing: Vec<Down>,
) -> Result<(), ConnectionError> {
    match timeout(MAX_WRITE, frames.send(outgoing)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(WireError::Io(error))) if error.kind() == io::ErrorKind::TimedOut => {
            Err(ConnectionError::TooSlow)
        }
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(ConnectionError::TooSlow),
    }
}

/// Says why, and ends the connection.
async fn refuse<S: AsyncRead + AsyncWrite + Unpin>(
    frames: &mut Frames<S>,
    refused: Refused,
) -> ConnectionError {
    let bye = Bye {
        reason: refused.reason.clone(),
        permanent: refused.permanent,
        rejoin: refused.rejoin,
    };
    if let Err(error) = send(frames, vec![bye.into()]).await {
        return error;
    }
    match frames.close().await {
        Ok(()) => ConnectionError::Refused(refused.reason),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => ConnectionError::TooSlow,
        Err(error) => error.into(),
    }
}
