//! Several servers: which one is tried when, and how an agent moves from one to the next without a gap.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use agent::hand::Hand;
use agent::sessions::sessions;
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
use crate::bench::{
    Keep, Server, command, desired, hand, op, outcome, receive, send, speaker, welcome,
};

#[derive(Debug, thiserror::Error)]
#[error("nobody listens")]
struct Unreachable;

/// Servers that are scripts. One whose door is shut cannot be reached.
struct Doors {
    knock: mpsc::Sender<(usize, DuplexStream)>,
    visitors: Mutex<mpsc::Receiver<(usize, DuplexStream)>>,
    is_shut: Vec<Cell<bool>>,
    /// Whom the agent turned to, and when.
    tried: RefCell<Vec<(usize, Instant)>>,
}

impl Doors {
    fn new(n: usize) -> Self {
        let (knock, visitors) = mpsc::channel(8);
        Self {
            knock,
            visitors: Mutex::new(visitors),
            is_shut: (0..n).map(|_| Cell::new(false)).collect(),
            tried: RefCell::default(),
        }
    }

    fn shut(&self, is_shut: impl Fn(usize) -> bool) {
        let doors = self.is_shut.iter().enumerate();
        doors.for_each(|(n, door)| door.set(is_shut(n)));
    }

    async fn connect(&self, server: usize) -> Result<DuplexStream, Unreachable> {
        self.tried.borrow_mut().push((server, Instant::now()));
        if self.is_shut[server].get() {
            return Err(Unreachable);
        }
        let (near, far) = tokio::io::duplex(64 * 1024);
        self.knock.send((server, far)).await.unwrap();
        Ok(near)
    }

    /// The next connection to any of the servers.
    async fn visitor(&self) -> (usize, Server) {
        let (server, stream) = self.visitors.lock().await.recv().await.unwrap();
        (server, Framed::new(stream, Codec::new()))
    }

    async fn welcome(&self) -> (usize, Server, Hello) {
        let (n, mut server) = self.visitor().await;
        let hello = welcome(&mut server).await;
        (n, server, hello)
    }
}

/// Runs an agent with these servers until the script has ended.
async fn agent<T>(hand: &mut Hand, doors: &Doors, script: impl Future<Output = T>) -> T {
    let stop = CancellationToken::new();
    let speaker = speaker();
    let living = sessions(
        doors.is_shut.len(),
        async |server| doors.connect(server).await,
        || 0.5,
        &speaker,
        hand,
        &stop,
    );
    let script = async {
        let value = script.await;
        stop.cancel();
        value
    };
    let both = async { tokio::join!(living, script) };
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

/// Listens until the agent has left.
async fn left(server: &mut Server) {
    while receive(server).await.is_some() {}
}

/// Answers the agent's signs of life for so long, and sees that it stays.
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
async fn an_agent_moves_to_the_next_server_before_it_leaves_the_first() {
    let (mut hand, _keep) = hand(Recovered::default(), 64);
    let connected = hand.connected();
    let doors = Doors::new(3);
    agent(&mut hand, &doors, async {
        let (from, mut old, first) = doors.welcome().await;
        ask_to_move(&mut old).await;
        let (to, mut new) = doors.visitor().await;
        assert_ne!(to, from);
        // Not welcomed yet: the old server is still its server.
        stays_for(&mut old, 5).await;
        let second = welcome(&mut new).await;
        assert!(second.session > first.session);
        let began = Instant::now();
        left(&mut old).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(matches!(receive(&mut new).await, Some(UpKind::Report(_))));
        assert!(*connected.borrow());
        stays_for(&mut new, 60).await;
    })
    .await;
    assert_eq!(doors.tried.borrow().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_agent_with_one_server_stays() {
    let (mut hand, _keep) = hand(Recovered::default(), 64);
    let doors = Doors::new(1);
    agent(&mut hand, &doors, async {
        let (_, mut only, _) = doors.welcome().await;
        ask_to_move(&mut only).await;
        stays_for(&mut only, 120).await;
    })
    .await;
    assert_eq!(doors.tried.borrow().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_no_other_server_takes_stays_until_it_is_asked_again() {
    let (mut hand, _keep) = hand(Recovered::default(), 64);
    let doors = Doors::new(3);
    agent(&mut hand, &doors, async {
        let (from, mut old, _) = doors.welcome().await;
        let dead = (from + 1) % 3;
        doors.shut(|n| n == dead);
        ask_to_move(&mut old).await;
        let (refusing, mut new) = doors.visitor().await;
        assert_eq!(refusing, 3 - from - dead);
        let bye = Bye {
            reason: "draining".into(),
            permanent: false,
            rejoin: false,
        };
        send(&mut new, bye).await;
        left(&mut new).await;
        stays_for(&mut old, 60).await;
        ask_to_move(&mut old).await;
        let (to, mut new, _) = doors.welcome().await;
        assert_eq!(to, refusing);
        left(&mut old).await;
        stays_for(&mut new, 30).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_welcomes_keeps_nobody_from_the_next() {
    let (mut hand, _keep) = hand(Recovered::default(), 64);
    let doors = Doors::new(3);
    agent(&mut hand, &doors, async {
        let (_, mut old, _) = doors.welcome().await;
        ask_to_move(&mut old).await;
        let (_, silent) = doors.visitor().await;
        let next = async { doors.welcome().await };
        let (_, (_, mut new, _)) = tokio::join!(left(&mut old), next);
        stays_for(&mut new, 30).await;
        drop(silent);
    })
    .await;
}

async fn next_request(keep: &mut Keep) -> Request {
    keep.requests.recv().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_the_old_server_has_not_acknowledged_goes_to_the_new_one_and_nothing_is_done_twice() {
    let (mut hand, mut keep) = hand(Recovered::default(), 64);
    let doors = Doors::new(2);
    agent(&mut hand, &doors, async {
        let (_, mut old, _) = doors.welcome().await;
        for n in 1..=3 {
            send(&mut old, command(op(n), 0)).await;
            assert!(matches!(next_request(&mut keep).await, Request::Operate(_)));
        }
        for n in 1..=2 {
            let ended = Notice::Ended(op(n), outcome(n));
            keep.notices.send(ended).await.unwrap();
            assert_eq!(result(&mut old).await, Some(op(n).into()));
        }
        ask_to_move(&mut old).await;
        let (_, mut new) = doors.visitor().await;
        // Acknowledged by the old server when the new one has asked already what is open.
        let ack = Ack {
            results: vec![op(1).into()],
            events_through: 0,
        };
        send(&mut old, ack).await;
        let Request::AcknowledgeResults(_) = next_request(&mut keep).await else {
            panic!("not acknowledged");
        };
        welcome(&mut new).await;
        left(&mut old).await;
        // The new server has heard of none of it.
        for n in 1..=3 {
            send(&mut new, command(op(n), 0)).await;
        }
        assert_eq!(result(&mut new).await, Some(op(2).into()));
        let ended = Notice::Ended(op(3), outcome(3));
        keep.notices.send(ended).await.unwrap();
        let mut heard = vec![result(&mut new).await, result(&mut new).await];
        heard.sort_by_key(|op| op.map(|op| op.task));
        // The second is told again because it was asked for again.
        assert_eq!(heard, [Some(op(2).into()), Some(op(3).into())]);
        assert!(
            keep.requests.try_recv().is_err(),
            "something was done twice"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_told_of_what_is_no_longer_held_is_greeted_again() {
    let (mut hand, mut keep) = hand(Recovered::default(), 64);
    let doors = Doors::new(2);
    agent(&mut hand, &doors, async {
        let (_, mut old, _) = doors.welcome().await;
        ask_to_move(&mut old).await;
        let (_, mut new) = doors.visitor().await;
        let changed = Desired {
            processes: vec![desired("n/a", 1)],
            ..Desired::default()
        };
        send(&mut old, changed).await;
        assert!(matches!(next_request(&mut keep).await, Request::Hold(_)));
        let stale = welcome(&mut new).await;
        // Never without a connection to the next one, which may have said already that the agent is there.
        let (_, mut newest) = doors.visitor().await;
        let gone = tokio::time::timeout(Duration::from_secs(3), receive(&mut new)).await;
        assert!(gone.is_err(), "{gone:?}");
        let fresh = welcome(&mut newest).await;
        left(&mut new).await;
        let mut new = newest;
        assert_ne!(stale.held_digest, fresh.held_digest);
        assert!(fresh.session > stale.session);
        left(&mut old).await;
        stays_for(&mut new, 30).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_old_server_that_lets_go_before_the_new_one_says_welcome_leaves_no_gap() {
    let (mut hand, _keep) = hand(Recovered::default(), 64);
    let connected = hand.connected();
    let doors = Doors::new(2);
    agent(&mut hand, &doors, async {
        let (_, mut old, _) = doors.welcome().await;
        ask_to_move(&mut old).await;
        let (_, mut new) = doors.visitor().await;
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
    assert_eq!(doors.tried.borrow().len(), 2, "it connected again");
}

#[tokio::test(start_paused = true)]
async fn a_question_of_the_old_server_is_answered_before_it_is_left() {
    let (mut hand, mut keep) = hand(Recovered::default(), 64);
    let doors = Doors::new(2);
    agent(&mut hand, &doors, async {
        let (_, mut old, _) = doors.welcome().await;
        send(&mut old, Ask::new(9, &Question::Held {})).await;
        let Request::Held(answer) = next_request(&mut keep).await else {
            panic!("not asked");
        };
        ask_to_move(&mut old).await;
        let (_, mut new, _) = doors.welcome().await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        answer.send(HeldReport::default()).unwrap();
        assert!(output(&mut old).await.last);
        left(&mut old).await;
        stays_for(&mut new, 30).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn another_server_is_tried_within_a_second_and_all_before_any_is_tried_again() {
    let (mut hand, _keep) = hand(Recovered::default(), 64);
    let doors = Doors::new(4);
    let first = agent(&mut hand, &doors, async {
        let (first, mut server, _) = doors.welcome().await;
        stays_for(&mut server, 60).await;
        doors.shut(|_| true);
        doors.tried.borrow_mut().clear();
        server.close().await.unwrap();
        drop(server);
        while doors.tried.borrow().len() < 12 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        first
    })
    .await;
    let tried = doors.tried.borrow();
    let mut round: Vec<usize> = tried[..4].iter().map(|(server, _)| *server).collect();
    assert_eq!(round[3], first, "the one that was lost comes last");
    round.sort_unstable();
    assert_eq!(round, [0, 1, 2, 3]);
    let waits: Vec<u128> = tried
        .windows(2)
        .map(|pair| (pair[1].1 - pair[0].1).as_millis())
        .collect();
    // With a chance of one half: half a second each in the first round, then half of a window that doubles.
    assert_eq!(waits[..3], [500, 500, 500]);
    assert_eq!(waits[3..7], [250, 500, 1000, 2000]);
    assert_eq!(waits[10], 15_000);
}
