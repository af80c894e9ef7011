//! How a connection begins: hello, and the server's answer. Needs nothing of the hand but what the hello says, so that an
//! agent can greet its next server while it still talks to the present one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt;
use model::UnixMillis;
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};
use tokio::time::{Instant, timeout};
use tokio_util::codec::FramedRead;
use wire::{Codec, Down, DownKind, Hello, Up, Welcome, WireError, version};

use super::timed_read::TimedRead;
use super::writer::Writer;
use super::{SILENCE, Speaker, Why};
use crate::hand::Hand;
use crate::reconcile::ClockOffset;

/// The numbers of an agent's connections: each is above every earlier one, also over a restart as far as the clock goes on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers(Arc<AtomicU64>);

impl Numbers {
    fn next(&self, now: UnixMillis) -> u64 {
        let by_clock = u64::try_from(now.0).unwrap_or(0);
        let above = |last: u64| by_clock.max(last + 1);
        let update = |last| Some(above(last));
        let last = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
        above(last.unwrap_or_else(|last| last))
    }
}

/// What an agent says first, for as many connections as it takes.
#[derive(Debug)]
pub struct Introduction {
    hello: Hello,
    numbers: Numbers,
    clock: fn() -> UnixMillis,
}

impl Introduction {
    pub(super) fn new(speaker: &Speaker, hand: &Hand) -> Self {
        let hello = Hello {
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
            session: 0,
        };
        Self {
            hello,
            numbers: hand.numbers(),
            clock: speaker.clock,
        }
    }

    fn hello(&self) -> Hello {
        Hello {
            session: self.numbers.next((self.clock)()),
            ..self.hello.clone()
        }
    }
}

pub(super) type Reader<S> = FramedRead<TimedRead<ReadHalf<S>>, Codec<Down, Up>>;

/// A connection that has been welcomed.
#[derive(Debug)]
pub struct Greeted<S> {
    /// Which server it is, by its place in the list.
    pub(super) server: usize,
    pub(super) reader: Reader<S>,
    pub(super) writer: Writer<WriteHalf<S>>,
    pub(super) welcomed: Welcomed,
    /// What the server was told that the agent holds.
    pub(super) said_digest: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Welcomed {
    pub(super) since: Instant,
    pub(super) clock: ClockOffset,
}

/// Says hello and waits for the welcome.
pub async fn greet<S: AsyncRead + AsyncWrite>(
    stream: S,
    server: usize,
    introduction: &Introduction,
) -> Result<Greeted<S>, Why> {
    let (read, write) = tokio::io::split(stream);
    let mut reader: Reader<S> = FramedRead::new(TimedRead::new(read), Codec::new());
    let mut writer = Writer::new(write);
    let hello = introduction.hello();
    let said_digest = hello.held_digest;
    let exchange = async {
        writer.queue(hello.into())?;
        let written = flush(&mut writer).await;
        // A server that does not listen may have said why before.
        match (reader.next().await, written) {
            (Some(Ok(frame)), _) => Ok(frame),
            (Some(Err(_)) | None, Err(error)) => Err(Why::Wire(error)),
            (Some(Err(error)), Ok(())) => Err(Why::Wire(error)),
            (None, Ok(())) => Err(Why::Closed),
        }
    };
    let answer = timeout(SILENCE, exchange).await;
    let welcome = match answer.unwrap_or(Err(Why::Silent))?.kind {
        Some(DownKind::Welcome(welcome)) => welcome,
        Some(DownKind::Bye(bye)) => return Err(bye.into()),
        Some(
            DownKind::Desired(_)
            | DownKind::Command(_)
            | DownKind::Ack(_)
            | DownKind::Ask(_)
            | DownKind::Move(_),
        )
        | None => return Err(Why::NoWelcome),
    };
    let Welcome {
        version,
        server_time_ms,
        server_version,
    } = welcome;
    if !(version::OLDEST..=version::NEWEST).contains(&version) {
        return Err(Why::Version(version));
    }
    tracing::info!(server_version, "session begins");
    Ok(Greeted {
        server,
        reader,
        writer,
        welcomed: Welcomed {
            since: Instant::now(),
            clock: ClockOffset::new(UnixMillis(server_time_ms), (introduction.clock)()),
        },
        said_digest,
    })
}

async fn flush<W: AsyncWrite + Unpin>(writer: &mut Writer<W>) -> Result<(), WireError> {
    while writer.is_busy() {
        writer.progress().await?;
    }
    Ok(())
}
