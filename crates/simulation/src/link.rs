//! The network between one agent and the server: connections whose frames are lost, repeated, late, and cut in two.
//!
//! Within one connection frames keep their order, as TCP has it. Numbers of events rely on that: what the server has up
//! to a number it has whole, so a single event is never lost from the middle; all that follows on a connection may be.

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

use crate::diary::Diary;
use crate::servers::Doors;

/// Bytes on their way between two ends.
const PIPE: usize = 64 * 1024;
/// Frames on their way, each direction.
const FRAMES: usize = 4096;
/// The longest that a frame is late.
const MAX_LATE_MS: usize = 8_000;
/// The longest that a server goes on with a connection that the agent knows to be dead.
const MAX_HIDDEN_MS: usize = 50_000;

/// How bad it is, in times of a thousand frames.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weather {
    pub(crate) lost: usize,
    pub(crate) repeated: usize,
    pub(crate) late: usize,
    pub(crate) cut: usize,
    /// From here on nothing of this connection arrives in this direction.
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
    weather: Weather,
    is_down: bool,
    doors: Doors,
    connections: HashMap<u64, Connection>,
    next: u64,
    diary: Diary,
}

/// The four ways that bytes take.
#[derive(Debug)]
struct Connection {
    from_agent: AbortHandle,
    to_server: AbortHandle,
    from_server: AbortHandle,
    to_agent: AbortHandle,
    /// How long the server is not told that it is over.
    hidden: Rc<Cell<Duration>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

enum Fate {
    Arrives(Duration),
    Twice,
    Lost,
    Swallowed,
    /// Only so many bytes of it arrive, and then nothing more.
    CutAt(usize),
}

impl Link {
    pub(crate) fn new(host: Host, random: Random, doors: Doors, diary: Diary) -> Self {
        Self(Rc::new(RefCell::new(State {
            host,
            random,
            weather: Weather::default(),
            is_down: false,
            doors,
            connections: HashMap::new(),
            next: 0,
            diary,
        })))
    }

    pub(crate) fn set_weather(&self, weather: Weather) {
        self.0.borrow_mut().weather = weather;
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
            let entered = state.doors.enter(state.host, servers, &mut state.random);
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
                Way::Up,
                number,
            ))),
            to_server: abort(spawn_local(write(going_up, server_write, hidden.clone()))),
            from_server: abort(spawn_local(read(
                server_read,
                down,
                self.clone(),
                Way::Down,
                number,
            ))),
            to_agent: abort(spawn_local(write(going_down, agent_write, never))),
            hidden,
        };
        let mut state = self.0.borrow_mut();
        state.connections.retain(|_, old| !old.is_over());
        state.connections.insert(number, connection);
    }

    /// Cuts every connection. The agent knows at once; the server perhaps later.
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
            // What is on its way to the server may still arrive, beside what the next connection brings.
            true => connection.hidden.set(hidden),
            false => {
                connection.to_server.abort();
                connection.from_server.abort();
            }
        }
    }

    fn fate(&self, way: Way, frame: &[u8]) -> Fate {
        let mut state = self.0.borrow_mut();
        let weather = state.weather;
        let random = &mut state.random;
        let fate = if random.permille(weather.cut) {
            Fate::CutAt(random.below(frame.len()))
        } else if random.permille(weather.swallowed) {
            Fate::Swallowed
        } else if random.permille(weather.lost) && !is_event(way, frame) {
            Fate::Lost
        } else if random.permille(weather.repeated) {
            Fate::Twice
        } else if random.permille(weather.late) {
            Fate::Arrives(Duration::from_millis(random.below(MAX_LATE_MS) as u64))
        } else {
            Fate::Arrives(Duration::ZERO)
        };
        let said = match &fate {
            Fate::Arrives(_) => "",
            Fate::Twice => "repeated",
            Fate::Lost => "lost",
            Fate::Swallowed => "lost, and whatever follows it",
            Fate::CutAt(_) => "cut in two",
        };
        if !said.is_empty() {
            let line = format!("{}: {} is {said}", state.host, what(way, frame));
            state.diary.note(line);
        }
        fate
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
    way: Way,
    number: u64,
) {
    let mut arrives = Instant::now();
    let mut is_swallowed = false;
    while let Some(frame) = read_frame(&mut half).await {
        if is_swallowed {
            continue;
        }
        match link.fate(way, &frame) {
            Fate::Arrives(late) => {
                arrives = arrives.max(Instant::now() + late);
                let _nobody_reads = sent.send((arrives, frame)).await;
            }
            Fate::Twice => {
                arrives = arrives.max(Instant::now());
                let _nobody_reads = sent.send((arrives, frame.clone())).await;
                let _nobody_reads = sent.send((arrives, frame)).await;
            }
            Fate::Lost => {}
            Fate::Swallowed => is_swallowed = true,
            Fate::CutAt(at) => {
                arrives = arrives.max(Instant::now());
                let _nobody_reads = sent.send((arrives, frame[..at].to_vec())).await;
                drop(sent);
                // The part must have arrived before the ways are closed.
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
    let _gone_already = half.shutdown().await;
}

fn is_event(way: Way, frame: &[u8]) -> bool {
    way == Way::Up && matches!(up(frame).and_then(|up| up.kind), Some(UpKind::Event(_)))
}

fn up(frame: &[u8]) -> Option<Up> {
    use tokio_util::codec::Decoder;
    Codec::<Up, Down>::new().decode(&mut frame.into()).ok()?
}

/// What a frame says, for the diary.
fn what(way: Way, frame: &[u8]) -> String {
    use tokio_util::codec::Decoder;
    let text = match way {
        Way::Up => format!("{:?}", up(frame).and_then(|up| up.kind)),
        Way::Down => {
            let down = Codec::<Down, Up>::new().decode(&mut frame.into());
            format!("{:?}", down.ok().flatten().and_then(|down| down.kind))
        }
    };
    text.trim_start_matches("Some(").chars().take(160).collect()
}
