//! One connected agent: its frames go to `control`, and the frames that `control` has for it go out.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use control::{Control, Refused, Session};
use model::Host;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use wire::{
    Ack, Bye, Down, DownKind, Hello, KEEPALIVE_SECS, Received, SILENCE_SECS, UpKind, WireError,
};

mod frames;

use super::{AgentLimits, ConnectionError};
use crate::stopped;
pub(super) use frames::Frames;

/// How long an agent may take to read one batch of frames, however steadily it reads.
const MAX_WRITE: Duration = Duration::from_secs(300);
const KEEPALIVE: Duration = Duration::from_secs(KEEPALIVE_SECS);
const SILENCE: Duration = Duration::from_secs(SILENCE_SECS);
/// The longest hello: one with all operations that an agent may hold.
const MAX_HELLO: usize = 1024 * 1024;

/// Runs the session of a host's agent until either side ends it.
pub async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    control: &Control,
    stream: S,
    certified: Host,
    stop: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    let (frames, hello) = read_hello(stream, AgentLimits::default().timeout).await?;
    run(control, frames, hello, (certified, None), stop).await
}

/// Reads the first frame, which must be a short hello.
pub(super) async fn read_hello<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    within: Duration,
) -> Result<(Frames<S>, Hello), ConnectionError> {
    let mut frames = Frames::with_limit(stream, MAX_HELLO);
    let first = timeout(within, frames.next())
        .await
        .map_err(|_| ConnectionError::TooSlow)?;
    let hello = match first?.ok_or(ConnectionError::Closed)? {
        Received::Other(frame) => frame.kind,
        Received::Report(_) => None,
    };
    let Some(UpKind::Hello(hello)) = hello else {
        let refused = Refused::for_now("the first frame must be a hello");
        return Err(send_bye(&mut frames, refused).await);
    };
    frames.lift_limit();
    Ok((frames, hello))
}

/// Tells an agent why it gets no session, and ends the connection.
pub(super) async fn refuse<S: AsyncRead + AsyncWrite + Unpin>(
    mut frames: Frames<S>,
    hello: &Hello,
    refused: Refused,
) -> Result<(), ConnectionError> {
    let host = format!("{}:{}", hello.cloud, hello.ip);
    tracing::warn!(host, reason = refused.reason, "agent refused");
    Err(send_bye(&mut frames, refused).await)
}

/// Runs the session of an agent that has said hello, on the host of its certificate, through a relay or not.
pub(super) async fn run<S: AsyncRead + AsyncWrite + Unpin>(
    control: &Control,
    mut frames: Frames<S>,
    hello: Hello,
    (certified, relay): (Host, Option<SocketAddr>),
    stop: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    if control.replicas().is_draining() {
        let draining = Refused::for_now("the server is draining: go to another one");
        return refuse(frames, &hello, draining).await;
    }
    if control.replicas().is_cut_off() {
        let cut_off = Refused::for_now("the server is cut off from its store");
        return refuse(frames, &hello, cut_off).await;
    }
    let session = match control.sessions().attach_through(certified, &hello, relay) {
        Ok(session) => session,
        Err(refused) => return refuse(frames, &hello, refused).await,
    };
    match relay {
        None => tracing::info!(host = %certified, version = hello.agent_version, "agent connected"),
        Some(relay) => {
            let (relay, version) = (relay.ip(), &hello.agent_version);
            tracing::info!(host = %certified, version, %relay, "agent connected");
        }
    }
    // A session lasts for weeks: it holds only what it needs.
    drop(hello);
    let ended = exchange(&session, &mut frames, stop).await;
    session.settle_last().await;
    match &ended {
        Ok(()) => tracing::info!(host = %certified, "agent disconnected"),
        Err(error) => tracing::info!(host = %certified, %error, "agent disconnected"),
    }
    ended
}

/// Reads and writes until either side ends the session. Sends keepalives to an agent that sends frames, because most frames
/// have no response.
async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    session: &Session,
    frames: &mut Frames<S>,
    mut stop: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    let mut sent_at = Instant::now();
    let mut keepalive_at = sent_at + KEEPALIVE;
    // These outlive the frames, so that a frame costs no registration of a timer. What is larger does not: idle agents are many.
    let mut stopping = pin!(stopped(&mut stop));
    let mut tick = pin!(sleep_until(keepalive_at));
    loop {
        tokio::select! {
            frame = frames.next() => {
                let Some(frame) = frame? else { return Ok(()) };
                let began = Instant::now();
                // Boxed, because it is large and gone in a moment.
                if let Err(refused) = Box::pin(take(session, frames, frame)).await? {
                    return Err(send_bye(frames, refused).await);
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
                tick.as_mut().reset(next_tick(keepalive_at, frames.heard_at()));
            }
            () = &mut tick => {
                let now = Instant::now();
                // Parts of a frame may have come meanwhile.
                if now >= frames.heard_at() + SILENCE {
                    return Err(ConnectionError::TooSlow);
                }
                if now >= keepalive_at {
                    if frames.heard_at() > sent_at {
                        send(frames, vec![Ack::default().into()]).await?;
                        frames.excuse_since(now);
                        sent_at = Instant::now();
                    }
                    keepalive_at = Instant::now() + KEEPALIVE;
                }
                tick.as_mut().reset(next_tick(keepalive_at, frames.heard_at()));
            }
            // The outbox has a bye, but not of a session that began after the bye was sent to all.
            () = &mut stopping => {
                let stopping = Refused::for_now("the server is stopping");
                return Err(send_bye(frames, stopping).await);
            }
        }
    }
}

/// When to look whether the agent is silent, or waits for a sign of life. Mostly later than before, which costs a timer nothing.
fn next_tick(keepalive_at: Instant, heard_at: Instant) -> Instant {
    keepalive_at.min(heard_at + SILENCE)
}

/// Handles one frame, and sends keepalives while a slow store delays that.
async fn take<S: AsyncRead + AsyncWrite + Unpin>(
    session: &Session,
    frames: &mut Frames<S>,
    frame: Received,
) -> Result<Result<(), Refused>, ConnectionError> {
    let mut handling = pin!(session.take(frame));
    loop {
        match timeout(KEEPALIVE, &mut handling).await {
            Ok(handled) => return Ok(handled),
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

/// Sends the reason, and ends the connection.
async fn send_bye<S: AsyncRead + AsyncWrite + Unpin>(
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
