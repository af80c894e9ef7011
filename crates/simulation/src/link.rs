//! The network between one agent and the servers: loses, repeats, delays and cuts frames.
//!
//! Within one connection frames keep their order, as in TCP. Event numbers rely on that: a server that has an event has all
//! before it. So a single event is never lost from the middle, only with all that follows on the connection.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use model::Host;
use testing::Random;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::{Instant, sleep, sleep_until};
use wire::{Codec, Down, Up, UpKind};

use crate::history_log::HistoryLog;
use crate::servers::Listeners;

/// Bytes in flight.
const PIPE: usize = 64 * 1024;
/// Frames in flight, each direction.
const FRAMES: usize = 4096;
/// The longest delay of a frame.
const MAX_LATE_MS: usize = 8_000;
/// The longest time that a server keeps a connection that the agent knows to be dead.
const MAX_HIDDEN_MS: usize = 50_000;

/// Fault rates, per thousand frames.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NetworkFaults {
    pub(crate) lost: usize,
    pub(crate) repeated: usize,
    pub(crate) late: usize,
    pub(crate) cut: usize,
    /// This and all later frames of the connection are lost in this direction.
    pub(crate) swallowed: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("nobody answers")]
pub(crate) struct NoAnswer;

#[derive(Debug, Clone)]
pub(crate) struct Link(Rc<RefCell<State>>);

#[derive(Debug)]
struct State {
    host: Host,
    random: Random,
    network_faults: NetworkFaults,
    is_down: bool,
    listeners: Listeners,
    connections: HashMap<u64, Connection>,
    next: u64,
    log: HistoryLog,
}

/// The four tasks of a connection.
#[derive(Debug)]
struct Connection {
    from_agent: AbortHandle,
    to_server: AbortHandle,
    from_server: AbortHandle,
    to_agent: AbortHandle,
    /// How long the server does not notice the end.
    hidden: Rc<Cell<Duration>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

enum FrameOutcome {
    Arrives(Duration),
    Twice,
    Lost,
    Swallowed,
    /// Only this many bytes of it arrive, and then the connection ends.
    CutAt(usize),
}

impl Link {
    pub(crate) fn new(host: Host, random: Random, listeners: Listeners, log: HistoryLog) -> Self {
        Self(Rc::new(RefCell::new(State {
            host,
            random,
            network_faults: NetworkFaults::default(),
            is_down: false,
            listeners,
            connections: HashMap::new(),
            next: 0,
            log,
        })))
    }

    pub(crate) fn set_faults(&self, network_faults: NetworkFaults) {
        self.0.borrow_mut().network_faults = network_faults;
    }

    pub(crate) fn set_down(&self, is_down: bool) {
        self.0.borrow_mut().is_down = is_down;
        if is_down {
            self.cut();
        }
    }

    /// How many connections the agent has made so far.
    pub(crate) fn n_connections(&self) -> u64 {
        self.0.borrow().next
    }

    pub(crate) fn chance(&self) -> f64 {
        self.0.borrow_mut().random.fraction()
    }

    /// A new connection of the agent to the server.
    pub(crate) async fn connect(&self) -> Result<DuplexStream, NoAnswer> {
        let (agents, agents_far) = tokio::io::duplex(PIPE);
        let (servers, servers_far) = tokio::io::duplex(PIPE);
        {
            let mut state = self.0.borrow_mut();
            let state = &mut *state;
            if state.is_down {
                return Err(NoAnswer);
            }
            let entered = state
                .listeners
                .enter(state.host, servers, &mut state.random);
            entered.ok_or(NoAnswer)?;
        }
        self.carry(agents_far, servers_far);
        Ok(agents)
    }

    fn carry(&self, agent: DuplexStream, server: DuplexStream) {
        let (agent_read, agent_write) = tokio::io::split(agent);
        let (server_read, server_write) = tokio::io::split(server);
        let (up, going_up) = mpsc::channel(FRAMES);
        let (down, going_down) = mpsc::channel(FRAMES);
        let number = {
            let mut state = self.0.borrow_mut();
            state.next += 1;
            state.next
        };
        let hidden = Rc::new(Cell::new(Duration::ZERO));
        let never = Rc::new(Cell::new(Duration::ZERO));
        let abort = |task: tokio::task::JoinHandle<()>| task.abort_handle();
        let connection = Connection {
            from_agent: abort(spawn_local(read(
                agent_read,
                up,
                self.clone(),
                Direction::Up,
                number,
            ))),
            to_server: abort(spawn_local(write(going_up, server_write, hidden.clone()))),
            from_server: abort(spawn_local(read(
                server_read,
                down,
                self.clone(),
                Direction::Down,
                number,
            ))),
            to_agent: abort(spawn_local(write(going_down, agent_write, never))),
            hidden,
        };
        let mut state = self.0.borrow_mut();
        state.connections.retain(|_, old| !old.is_over());
        state.connections.insert(number, connection);
    }

    /// Cuts every connection. The agent notices at once; the server maybe later.
    pub(crate) fn cut(&self) {
        let numbers: Vec<u64> = self.0.borrow().connections.keys().copied().collect();
        for number in numbers {
            self.cut_one(number);
        }
    }

    fn cut_one(&self, number: u64) {
        let mut state = self.0.borrow_mut();
        let Some(connection) = state.connections.remove(&number) else {
            return;
        };
        let is_hidden = state.random.permille(300);
        let hidden = Duration::from_millis(state.random.below(MAX_HIDDEN_MS) as u64);
        connection.from_agent.abort();
        connection.to_agent.abort();
        match is_hidden {
            // Frames in flight to the server may still arrive, beside those of the next connection.
            true => connection.hidden.set(hidden),
            false => {
                connection.to_server.abort();
                connection.from_server.abort();
            }
        }
    }

    fn outcome(&self, direction: Direction, frame: &[u8]) -> FrameOutcome {
        let mut state = self.0.borrow_mut();
        let network_faults = state.network_faults;
        let random = &mut state.random;
        let outcome = if random.permille(network_faults.cut) {
            FrameOutcome::CutAt(random.below(frame.len()))
        } else if random.permille(network_faults.swallowed) {
            FrameOutcome::Swallowed
        } else if random.permille(network_faults.lost) && !is_event(direction, frame) {
            FrameOutcome::Lost
        } else if random.permille(network_faults.repeated) {
            FrameOutcome::Twice
        } else if random.permille(network_faults.late) {
            FrameOutcome::Arrives(Duration::from_millis(random.below(MAX_LATE_MS) as u64))
        } else {
            FrameOutcome::Arrives(Duration::ZERO)
        };
        let said = match &outcome {
            FrameOutcome::Arrives(_) => "",
            FrameOutcome::Twice => "repeated",
            FrameOutcome::Lost => "lost",
            FrameOutcome::Swallowed => "lost, and whatever follows it",
            FrameOutcome::CutAt(_) => "cut in two",
        };
        if !said.is_empty() {
            let line = format!("{}: {} is {said}", state.host, what(direction, frame));
            state.log.note(line);
        }
        outcome
    }
}

impl Connection {
    fn is_over(&self) -> bool {
        self.from_agent.is_finished() && self.to_server.is_finished()
    }
}

/// A frame and when it arrives.
type Sent = (Instant, Vec<u8>);

async fn read(
    mut half: ReadHalf<DuplexStream>,
    sent: mpsc::Sender<Sent>,
    link: Link,
    direction: Direction,
    number: u64,
) {
    let mut arrives = Instant::now();
    let mut is_swallowed = false;
    while let Some(frame) = read_frame(&mut half).await {
        if is_swallowed {
            continue;
        }
        match link.outcome(direction, &frame) {
            FrameOutcome::Arrives(late) => {
                arrives = arrives.max(Instant::now() + late);
                let _ = sent.send((arrives, frame)).await;
            }
            FrameOutcome::Twice => {
                arrives = arrives.max(Instant::now());
                let _ = sent.send((arrives, frame.clone())).await;
                let _ = sent.send((arrives, frame)).await;
            }
            FrameOutcome::Lost => {}
            FrameOutcome::Swallowed => is_swallowed = true,
            FrameOutcome::CutAt(at) => {
                arrives = arrives.max(Instant::now());
                let _ = sent.send((arrives, frame[..at].to_vec())).await;
                drop(sent);
                // The part must arrive before the connection is closed.
                sleep(Duration::from_millis(1)).await;
                link.cut_one(number);
                return;
            }
        }
    }
}

async fn read_frame(half: &mut ReadHalf<DuplexStream>) -> Option<Vec<u8>> {
    let length = half.read_u32().await.ok()?;
    let mut frame = length.to_be_bytes().to_vec();
    frame.resize(4 + length as usize, 0);
    half.read_exact(&mut frame[4..]).await.ok()?;
    Some(frame)
}

async fn write(
    mut sent: mpsc::Receiver<Sent>,
    mut half: WriteHalf<DuplexStream>,
    hidden: Rc<Cell<Duration>>,
) {
    while let Some((arrives, frame)) = sent.recv().await {
        sleep_until(arrives).await;
        if half.write_all(&frame).await.is_err() {
            return;
        }
    }
    sleep(hidden.get()).await;
    let _ = half.shutdown().await;
}

fn is_event(direction: Direction, frame: &[u8]) -> bool {
    direction == Direction::Up && matches!(up(frame).and_then(|up| up.kind), Some(UpKind::Event(_)))
}

fn up(frame: &[u8]) -> Option<Up> {
    use tokio_util::codec::Decoder;
    Codec::<Up, Down>::new().decode(&mut frame.into()).ok()?
}

/// The content of a frame, for the log.
fn what(direction: Direction, frame: &[u8]) -> String {
    use tokio_util::codec::Decoder;
    let text = match direction {
        Direction::Up => format!("{:?}", up(frame).and_then(|up| up.kind)),
        Direction::Down => {
            let down = Codec::<Down, Up>::new().decode(&mut frame.into());
            format!("{:?}", down.ok().flatten().and_then(|down| down.kind))
        }
    };
    text.trim_start_matches("Some(").chars().take(160).collect()
}
