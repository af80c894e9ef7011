//! Several servers: the order of attempts, and moves from one server to another without a gap.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use agent::sessions::run_sessions;
use agent::state::AgentState;
use futures_util::SinkExt;
use model::held::HeldReport;
use supervisor::{Notice, Recovered, Request};
use tokio::io::DuplexStream;
use tokio::sync::{Mutex, mpsc};
use tokio::time::Instant;
use tokio_util::codec::Framed;
use tokio_util::sync::CancellationToken;
use wire::ask::{Ask, Question};
use wire::{Ack, Bye, Codec, Desired, Hello, Move, UpKind};

use crate::answer::output;
use crate::fixture::{
    FakeSupervisor, Server, command, desired, info, op, outcome, receive, send, state, welcome,
};

#[derive(Debug, thiserror::Error)]
#[error("unreachable")]
struct Unreachable;

/// Scripted servers, some of which may be down.
struct FakeServers {
    connects: mpsc::Sender<(usize, DuplexStream)>,
    connections: Mutex<mpsc::Receiver<(usize, DuplexStream)>>,
    is_down: Vec<Cell<bool>>,
    /// Each attempt to connect: the server, and when.
    tried: RefCell<Vec<(usize, Instant)>>,
}

impl FakeServers {
    fn new(n: usize) -> Self {
        let (connects, connections) = mpsc::channel(8);
        Self {
            connects,
            connections: Mutex::new(connections),
            is_down: (0..n).map(|_| Cell::new(false)).collect(),
            tried: RefCell::default(),
        }
    }

    fn set_down(&self, is_down: impl Fn(usize) -> bool) {
        let servers = self.is_down.iter().enumerate();
        servers.for_each(|(n, server)| server.set(is_down(n)));
    }

    async fn connect(&self, server: usize) -> Result<DuplexStream, Unreachable> {
        self.tried.borrow_mut().push((server, Instant::now()));
        if self.is_down[server].get() {
            return Err(Unreachable);
        }
        let (near, far) = tokio::io::duplex(64 * 1024);
        self.connects.send((server, far)).await.unwrap();
        Ok(near)
    }

    /// The next connection to any of the servers.
    async fn next_connection(&self) -> (usize, Server) {
        let (server, stream) = self.connections.lock().await.recv().await.unwrap();
        (server, Framed::new(stream, Codec::new()))
    }

    async fn welcome(&self) -> (usize, Server, Hello) {
        let (n, mut server) = self.next_connection().await;
        let hello = welcome(&mut server).await;
        (n, server, hello)
    }
}

/// Runs an agent with these servers until the script ends.
async fn agent<T>(
    state: &mut AgentState,
    servers: &FakeServers,
    script: impl Future<Output = T>,
) -> T {
    let stop = CancellationToken::new();
    let info = info();
    let running = run_sessions(
        servers.is_down.len(),
        async |server| servers.connect(server).await,
        || 0.5,
        &info,
        state,
        &stop,
    );
    let script = async {
        let value = script.await;
        stop.cancel();
        value
    };
    let both = async { tokio::join!(running, script) };
    let (ended, value) = tokio::time::timeout(Duration::from_secs(3600), both)
        .await
        .unwrap();
    ended.unwrap();
    value
}

async fn ask_to_move(server: &mut Server) {
    let reason = "the server is draining".into();
    send(server, Move { reason }).await;
}

/// Receives until the agent has disconnected.
async fn disconnects(server: &mut Server) {
    while receive(server).await.is_some() {}
}

/// Answers heartbeats for so long, and checks that the agent stays connected.
async fn stays_for(server: &mut Server, secs: u64) {
    let until = Instant::now() + Duration::from_secs(secs);
    while let Ok(heard) = tokio::time::timeout_at(until, receive(server)).await {
        assert!(heard.is_some(), "the agent left");
        send(server, Ack::default()).await;
    }
}

async fn result(server: &mut Server) -> Option<wire::up::OpRef> {
    loop {
        match receive(server).await {
            Some(UpKind::Result(result)) => return result.op,
            Some(UpKind::Report(_)) => {}
            other => panic!("no result: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_connects_to_the_next_server_before_it_disconnects() {
    let (mut state, _supervisor) = state(Recovered::default(), 64);
    let connected = state.connected();
    let servers = FakeServers::new(3);
    agent(&mut state, &servers, async {
        let (from, mut old, first) = servers.welcome().await;
        ask_to_move(&mut old).await;
        let (to, mut new) = servers.next_connection().await;
        assert_ne!(to, from);
        // Not welcomed yet: the session goes on.
        stays_for(&mut old, 5).await;
        let second = welcome(&mut new).await;
        assert!(second.session > first.session);
        let began = Instant::now();
        disconnects(&mut old).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(matches!(receive(&mut new).await, Some(UpKind::Report(_))));
        assert!(*connected.borrow());
        stays_for(&mut new, 60).await;
    })
    .await;
    assert_eq!(servers.tried.borrow().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_agent_with_one_server_stays() {
    let (mut state, _supervisor) = state(Recovered::default(), 64);
    let servers = FakeServers::new(1);
    agent(&mut state, &servers, async {
        let (_, mut only, _) = servers.welcome().await;
        ask_to_move(&mut only).await;
        stays_for(&mut only, 120).await;
    })
    .await;
    assert_eq!(servers.tried.borrow().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_no_other_server_accepts_stays_until_it_is_asked_again() {
    let (mut state, _supervisor) = state(Recovered::default(), 64);
    let servers = FakeServers::new(3);
    agent(&mut state, &servers, async {
        let (from, mut old, _) = servers.welcome().await;
        let dead = (from + 1) % 3;
        servers.set_down(|n| n == dead);
        ask_to_move(&mut old).await;
        let (refusing, mut new) = servers.next_connection().await;
        assert_eq!(refusing, 3 - from - dead);
        let bye = Bye {
            reason: "draining".into(),
            permanent: false,
            rejoin: false,
        };
        send(&mut new, bye).await;
        disconnects(&mut new).await;
        stays_for(&mut old, 60).await;
        ask_to_move(&mut old).await;
        let (to, mut new, _) = servers.welcome().await;
        assert_eq!(to, refusing);
        disconnects(&mut old).await;
        stays_for(&mut new, 30).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_welcomes_does_not_stop_a_move() {
    let (mut state, _supervisor) = state(Recovered::default(), 64);
    let servers = FakeServers::new(3);
    agent(&mut state, &servers, async {
        let (_, mut old, _) = servers.welcome().await;
        ask_to_move(&mut old).await;
        let (_, silent) = servers.next_connection().await;
        let next = async { servers.welcome().await };
        let (_, (_, mut new, _)) = tokio::join!(disconnects(&mut old), next);
        stays_for(&mut new, 30).await;
        drop(silent);
    })
    .await;
}

async fn next_request(supervisor: &mut FakeSupervisor) -> Request {
    supervisor.requests.recv().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn unacknowledged_results_go_to_the_new_server_and_nothing_runs_twice() {
    let (mut state, mut supervisor) = state(Recovered::default(), 64);
    let servers = FakeServers::new(2);
    agent(&mut state, &servers, async {
        let (_, mut old, _) = servers.welcome().await;
        for n in 1..=3 {
            send(&mut old, command(op(n), 0)).await;
            assert!(matches!(
                next_request(&mut supervisor).await,
                Request::Operate(_)
            ));
        }
        for n in 1..=2 {
            let ended = Notice::Ended(op(n), outcome(n));
            supervisor.notices.send(ended).await.unwrap();
            assert_eq!(result(&mut old).await, Some(op(n).into()));
        }
        ask_to_move(&mut old).await;
        let (_, mut new) = servers.next_connection().await;
        // Acknowledged by the old server after the new one got the hello.
        let ack = Ack {
            results: vec![op(1).into()],
            ..Ack::default()
        };
        send(&mut old, ack).await;
        let Request::AcknowledgeResults(_) = next_request(&mut supervisor).await else {
            panic!("not acknowledged");
        };
        welcome(&mut new).await;
        disconnects(&mut old).await;
        // The new server knows none of it.
        for n in 1..=3 {
            send(&mut new, command(op(n), 0)).await;
        }
        assert_eq!(result(&mut new).await, Some(op(2).into()));
        let ended = Notice::Ended(op(3), outcome(3));
        supervisor.notices.send(ended).await.unwrap();
        let mut heard = vec![result(&mut new).await, result(&mut new).await];
        heard.sort_by_key(|op| op.map(|op| op.task));
        // The second is sent again because the server asked again.
        assert_eq!(heard, [Some(op(2).into()), Some(op(3).into())]);
        assert!(
            supervisor.requests.try_recv().is_err(),
            "an operation ran twice"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_next_server_with_a_stale_digest_gets_another_hello() {
    let (mut state, mut supervisor) = state(Recovered::default(), 64);
    let servers = FakeServers::new(2);
    agent(&mut state, &servers, async {
        let (_, mut old, _) = servers.welcome().await;
        ask_to_move(&mut old).await;
        let (_, mut new) = servers.next_connection().await;
        let changed = Desired {
            processes: vec![desired("n/a", 1)],
            ..Desired::default()
        };
        send(&mut old, changed).await;
        assert!(matches!(
            next_request(&mut supervisor).await,
            Request::Hold(_)
        ));
        let stale = welcome(&mut new).await;
        // The stale connection stays open until the fresh one is welcomed: that server may already show the agent.
        let (_, mut newest) = servers.next_connection().await;
        let gone = tokio::time::timeout(Duration::from_secs(3), receive(&mut new)).await;
        assert!(gone.is_err(), "{gone:?}");
        let fresh = welcome(&mut newest).await;
        disconnects(&mut new).await;
        let mut new = newest;
        assert_ne!(stale.held_digest, fresh.held_digest);
        assert!(fresh.session > stale.session);
        disconnects(&mut old).await;
        stays_for(&mut new, 30).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_old_server_that_closes_before_the_welcome_leaves_no_gap() {
    let (mut state, _supervisor) = state(Recovered::default(), 64);
    let connected = state.connected();
    let servers = FakeServers::new(2);
    agent(&mut state, &servers, async {
        let (_, mut old, _) = servers.welcome().await;
        ask_to_move(&mut old).await;
        let (_, mut new) = servers.next_connection().await;
        let bye = Bye {
            reason: "another connection of the same host took its place".into(),
            permanent: false,
            rejoin: false,
        };
        send(&mut old, bye).await;
        drop(old);
        tokio::time::sleep(Duration::from_secs(2)).await;
        welcome(&mut new).await;
        assert!(*connected.borrow());
        stays_for(&mut new, 60).await;
    })
    .await;
    assert_eq!(servers.tried.borrow().len(), 2, "it connected again");
}

#[tokio::test(start_paused = true)]
async fn a_question_of_the_old_server_is_answered_before_the_move() {
    let (mut state, mut supervisor) = state(Recovered::default(), 64);
    let servers = FakeServers::new(2);
    agent(&mut state, &servers, async {
        let (_, mut old, _) = servers.welcome().await;
        send(&mut old, Ask::new(9, &Question::Held {})).await;
        let Request::Held(answer) = next_request(&mut supervisor).await else {
            panic!("not asked");
        };
        ask_to_move(&mut old).await;
        let (_, mut new, _) = servers.welcome().await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        answer.send(HeldReport::default()).unwrap();
        assert!(output(&mut old).await.last);
        disconnects(&mut old).await;
        stays_for(&mut new, 30).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn another_server_is_tried_within_a_second_and_all_before_any_is_tried_again() {
    let (mut state, _supervisor) = state(Recovered::default(), 64);
    let servers = FakeServers::new(4);
    let first = agent(&mut state, &servers, async {
        let (first, mut server, _) = servers.welcome().await;
        stays_for(&mut server, 60).await;
        servers.set_down(|_| true);
        servers.tried.borrow_mut().clear();
        server.close().await.unwrap();
        drop(server);
        while servers.tried.borrow().len() < 12 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        first
    })
    .await;
    let tried = servers.tried.borrow();
    let mut round: Vec<usize> = tried[..4].iter().map(|(server, _)| *server).collect();
    assert_eq!(round[3], first, "the lost server comes last");
    round.sort_unstable();
    assert_eq!(round, [0, 1, 2, 3]);
    let waits: Vec<u128> = tried
        .windows(2)
        .map(|pair| (pair[1].1 - pair[0].1).as_millis())
        .collect();
    // With a random fraction of one half: half a second each in the first round, then half of a window that doubles.
    assert_eq!(waits[..3], [500, 500, 500]);
    assert_eq!(waits[3..7], [250, 500, 1000, 2000]);
    assert_eq!(waits[10], 15_000);
}
