//! One connection: hello, welcome, then both lanes until one side ends it.
//!
//! Generic over the stream, so that tests need no sockets. Nothing here waits for one thing only: reading, writing and
//! the supervisor go on beside each other, so that a slow server never holds up a process.

use std::time::Duration;

use futures_util::StreamExt;
use model::{AgentId, Host, UnixMillis};
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;
use wire::{Codec, Down, DownKind, Hello, Report, Up, Welcome, WireError, version};

mod writer;

use crate::answer::Answers;
use crate::facts::Facts;
use crate::hand::Hand;
use crate::keeper::SupervisorGone;
use crate::reconcile::ClockOffset;
use writer::Writer;

const HEARTBEAT: Duration = Duration::from_secs(wire::HEARTBEAT_SECS);
const SILENCE: Duration = Duration::from_secs(wire::SILENCE_SECS);
/// How long saying goodbye may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Who speaks.
#[derive(Debug, Clone)]
pub struct Speaker {
    pub host: Host,
    pub agent_id: AgentId,
    pub facts: Facts,
    /// The host's clock on the wall.
    pub clock: fn() -> UnixMillis,
}

/// How a session ended.
#[derive(Debug)]
pub struct Ended {
    pub why: Why,
    /// How long it lasted after the welcome; none when there was no welcome.
    pub lasted: Option<Duration>,
}

#[derive(Debug, thiserror::Error)]
pub enum Why {
    #[error("the agent is leaving")]
    Leaving,
    #[error("the server closed the connection")]
    Closed,
    #[error("the server has been silent for {} s", SILENCE.as_secs())]
    Silent,
    #[error("the server ended the session: {reason}")]
    Bye { reason: String, permanent: bool },
    #[error("the connection failed")]
    Wire(#[from] WireError),
    #[error("the server chose protocol version {0}, which this agent does not speak")]
    Version(u32),
    #[error("the server did not begin with a welcome")]
    NoWelcome,
}

/// Talks until the connection ends, one way or another.
pub async fn talk<S>(
    stream: S,
    speaker: &Speaker,
    hand: &mut Hand,
    stop: &CancellationToken,
) -> Result<Ended, SupervisorGone>
where
    S: AsyncRead + AsyncWrite,
{
    let (read, write) = tokio::io::split(stream);
    let answers = Answers::new(hand.files());
    let mut session = Session {
        hand,
        reader: FramedRead::new(read, Codec::new()),
        writer: Writer::new(write),
        answers,
        heard_at: Instant::now(),
        welcomed: None,
        clock: speaker.clock,
    };
    session.hand.rewind();
    let hello = hello(speaker, session.hand);
    let why = match session.writer.queue(hello.into()) {
        Ok(()) => session.run(stop).await?,
        Err(error) => error.into(),
    };
    session.hand.parted();
    let _gone_already = timeout(CLOSE_TIMEOUT, session.writer.close()).await;
    Ok(Ended {
        why,
        lasted: session.welcomed.map(|welcomed| welcomed.since.elapsed()),
    })
}

fn hello(speaker: &Speaker, hand: &mut Hand) -> Hello {
    Hello {
        oldest: version::OLDEST,
        newest: version::NEWEST,
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        cloud: speaker.host.cloud,
        ip: speaker.host.ip.to_string(),
        agent_id: speaker.agent_id.to_string(),
        held_digest: hand.held_digest(),
        held_ops: hand.held_ops(),
        root: speaker.facts.root,
        hostname: speaker.facts.hostname.clone(),
        kernel: speaker.facts.kernel.clone(),
        cores: speaker.facts.cores,
        memory_kib: speaker.facts.memory_kib,
        session: hand.next_session((speaker.clock)()),
    }
}

struct Session<'a, S> {
    hand: &'a mut Hand,
    reader: FramedRead<ReadHalf<S>, Codec<Down, Up>>,
    writer: Writer<WriteHalf<S>>,
    answers: Answers,
    heard_at: Instant,
    welcomed: Option<Welcomed>,
    clock: fn() -> UnixMillis,
}

#[derive(Clone, Copy)]
struct Welcomed {
    since: Instant,
    clock: ClockOffset,
}

impl<S: AsyncRead + AsyncWrite> Session<'_, S> {
    async fn run(&mut self, stop: &CancellationToken) -> Result<Why, SupervisorGone> {
        loop {
            if let Err(error) = self.fill(Instant::now()) {
                return Ok(error.into());
            }
            let wake_at = self.wake_at();
            tokio::select! {
                () = stop.cancelled() => return Ok(Why::Leaving),
                turn = self.hand.turn() => turn?,
                // A server that asks faster than the supervisor takes has to wait.
                frame = self.reader.next(), if self.hand.is_idle() => {
                    self.heard_at = Instant::now();
                    match self.take(frame) {
                        Ok(()) => {}
                        Err(why) => return Ok(why),
                    }
                }
                written = self.writer.progress(), if self.writer.is_busy() => {
                    if let Err(error) = written {
                        return Ok(self.last_words().await.unwrap_or(Why::Wire(error.into())));
                    }
                }
                () = self.answers.heard() => {}
                () = sleep_until(wake_at) => {}
            }
            if !self.hand.is_idle() {
                self.heard_at = Instant::now();
            } else if self.heard_at.elapsed() >= SILENCE {
                return Ok(Why::Silent);
            }
        }
    }

    /// A server that hears nothing any more may have said why before.
    async fn last_words(&mut self) -> Option<Why> {
        let listen = async {
            while let Some(Ok(frame)) = self.reader.next().await {
                if let Err(why) = self.take(Some(Ok(frame))) {
                    return Some(why);
                }
            }
            None
        };
        timeout(CLOSE_TIMEOUT, listen).await.ok().flatten()
    }

    /// Queues what should be sent now, as much as there is room for.
    fn fill(&mut self, now: Instant) -> Result<(), WireError> {
        if self.welcomed.is_none() {
            return Ok(());
        }
        while self.writer.has_room()
            && let Some(frame) = self.hand.next_frame(now)
        {
            self.writer.queue(frame)?;
        }
        if now >= self.writer.queued_at() + HEARTBEAT && self.writer.has_room() {
            self.writer.queue(Report::default().into())?;
        }
        while self.writer.has_room()
            && let Some(output) = self.answers.next(now, |request| self.hand.ask(request))
        {
            self.writer.queue_aside(output.into())?;
        }
        Ok(())
    }

    fn wake_at(&self) -> Instant {
        let silent_at = self.heard_at + SILENCE;
        if self.welcomed.is_none() || self.writer.is_busy() {
            return silent_at;
        }
        let heartbeat_at = self.writer.queued_at() + HEARTBEAT;
        let report_at = self.hand.due().unwrap_or(heartbeat_at);
        let look_at = self.answers.due().unwrap_or(heartbeat_at);
        silent_at.min(heartbeat_at).min(report_at).min(look_at)
    }

    fn take(&mut self, frame: Option<Result<Down, WireError>>) -> Result<(), Why> {
        let frame = frame.ok_or(Why::Closed)??;
        let Some(welcomed) = self.welcomed else {
            return match frame.kind {
                Some(DownKind::Welcome(welcome)) => self.welcome(&welcome),
                Some(DownKind::Bye(bye)) => Err(bye.into()),
                _ => Err(Why::NoWelcome),
            };
        };
        match frame.kind {
            Some(DownKind::Desired(desired)) => self.hand.desired(desired),
            Some(DownKind::Command(command)) => {
                let now = (self.clock)();
                self.hand.command(&command, welcomed.clock, now);
            }
            Some(DownKind::Ack(ack)) => self.hand.acknowledge(ack),
            Some(DownKind::Bye(bye)) => return Err(bye.into()),
            Some(DownKind::Ask(ask)) => {
                if let Some(request) = self.answers.take(&ask) {
                    self.hand.ask(request);
                }
            }
            // Of servers this connection knows but one.
            Some(DownKind::Move(_)) => {}
            // A newer server may say more than we understand.
            Some(DownKind::Welcome(_)) | None => {}
        }
        Ok(())
    }

    fn welcome(&mut self, welcome: &Welcome) -> Result<(), Why> {
        if !(version::OLDEST..=version::NEWEST).contains(&welcome.version) {
            return Err(Why::Version(welcome.version));
        }
        tracing::info!(server_version = welcome.server_version, "session begins");
        self.welcomed = Some(Welcomed {
            since: Instant::now(),
            clock: ClockOffset::new(UnixMillis(welcome.server_time_ms), (self.clock)()),
        });
        self.hand.welcomed();
        // With nothing to report the first report is empty, and says just that.
        match self.hand.due() {
            Some(_) => Ok(()),
            None => Ok(self.writer.queue(Report::default().into())?),
        }
    }
}

impl From<wire::Bye> for Why {
    fn from(bye: wire::Bye) -> Self {
        Self::Bye {
            reason: bye.reason,
            permanent: bye.permanent,
        }
    }
}

/// The host's clock.
pub(crate) fn now() -> UnixMillis {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    UnixMillis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
