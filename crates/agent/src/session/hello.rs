//! How a connection begins: hello and welcome. Borrows the agent's state only to build the hello, so that an
//! agent can connect to its next server while its session goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt;
use model::UnixMillis;
use model::spec::SpecExtensions;
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};
use tokio::time::{Instant, timeout};
use tokio_util::codec::FramedRead;
use wire::{Codec, Down, DownKind, Hello, Up, Welcome, WireError, version};

use super::timed_read::TimedRead;
use super::writer::Writer;
use super::{AgentInfo, EndReason, SILENCE};
use crate::reconcile::ClockOffset;
use crate::state::AgentState;

/// Numbers connections: each number is above all earlier ones, also after a restart unless the clock was set back.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionNumbers(Arc<AtomicU64>);

impl ConnectionNumbers {
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

/// The hello for any number of connections; each gets its own number.
#[derive(Debug)]
pub struct HelloTemplate {
    hello: Hello,
    numbers: ConnectionNumbers,
    clock: fn() -> UnixMillis,
}

impl HelloTemplate {
    pub(super) fn new(info: &AgentInfo, state: &AgentState) -> Self {
        let hello = Hello {
            oldest: version::OLDEST,
            newest: version::NEWEST,
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            cloud: info.host.cloud,
            ip: info.host.ip.to_string(),
            agent_id: info.agent_id.to_string(),
            held_digest: state.held_digest(),
            held_ops: state.held_ops(),
            root: info.facts.root,
            hostname: info.facts.hostname.clone(),
            kernel: info.facts.kernel.clone(),
            cores: info.facts.cores,
            memory_kib: info.facts.memory_kib,
            session: 0,
            missing: info.facts.missing.names().map(str::to_owned).collect(),
            arch: info.facts.arch.clone(),
            program: info.facts.program.clone(),
            extensions: SpecExtensions::all().names().map(str::to_owned).collect(),
            waits_for_grants: true,
        };
        Self {
            hello,
            numbers: state.connection_numbers(),
            clock: info.clock,
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

/// A connection after the welcome.
#[derive(Debug)]
pub struct WelcomedConnection<S> {
    /// The server's index in the configuration.
    pub(super) server: usize,
    pub(super) reader: Reader<S>,
    pub(super) writer: Writer<WriteHalf<S>>,
    pub(super) welcomed: WelcomeInfo,
    /// The digest of held processes in the hello.
    pub(super) sent_digest: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct WelcomeInfo {
    pub(super) since: Instant,
    pub(super) clock: ClockOffset,
    pub(super) grants_reports: bool,
}

/// Sends the hello and waits for the welcome.
pub async fn say_hello<S: AsyncRead + AsyncWrite>(
    stream: S,
    server: usize,
    template: &HelloTemplate,
) -> Result<WelcomedConnection<S>, EndReason> {
    let (read, write) = tokio::io::split(stream);
    let mut reader: Reader<S> = FramedRead::new(TimedRead::new(read), Codec::new());
    let mut writer = Writer::new(write);
    let hello = template.hello();
    let sent_digest = hello.held_digest;
    let exchange = async {
        writer.queue(hello.into())?;
        let written = flush(&mut writer).await;
        // A server that stopped reading may have sent a bye before.
        match (reader.next().await, written) {
            (Some(Ok(frame)), _) => Ok(frame),
            (Some(Err(_)) | None, Err(error)) => Err(EndReason::Wire(error)),
            (Some(Err(error)), Ok(())) => Err(EndReason::Wire(error)),
            (None, Ok(())) => Err(EndReason::Closed),
        }
    };
    let answer = timeout(SILENCE, exchange).await;
    let welcome = match answer.unwrap_or(Err(EndReason::Silent))?.kind {
        Some(DownKind::Welcome(welcome)) => welcome,
        Some(DownKind::Bye(bye)) => return Err(bye.into()),
        Some(
            DownKind::Desired(_)
            | DownKind::Command(_)
            | DownKind::Ack(_)
            | DownKind::Ask(_)
            | DownKind::Move(_)
            | DownKind::Dependencies(_),
        )
        | None => return Err(EndReason::NoWelcome),
    };
    let Welcome {
        version,
        server_time_ms,
        server_version,
        grants_reports,
    } = welcome;
    if !(version::OLDEST..=version::NEWEST).contains(&version) {
        return Err(EndReason::Version(version));
    }
    tracing::info!(server_version, "session begins");
    Ok(WelcomedConnection {
        server,
        reader,
        writer,
        welcomed: WelcomeInfo {
            since: Instant::now(),
            clock: ClockOffset::new(UnixMillis(server_time_ms), (template.clock)()),
            grants_reports,
        },
        sent_digest,
    })
}

async fn flush<W: AsyncWrite + Unpin>(writer: &mut Writer<W>) -> Result<(), WireError> {
    while writer.is_busy() {
        writer.progress().await?;
    }
    Ok(())
}
