//! Every result and event arrives over any history of connections, and never again after its acknowledgement.

use std::collections::BTreeSet;

use agent::report::Allowance;
use agent::state::MAX_EVENTS;
use futures_util::SinkExt;
use model::event::{Event, EventKind};
use model::{OpId, UnixMillis};
use proptest::prelude::{Just, Strategy, prop, prop_oneof, proptest};
use supervisor::{Notice, Recovered, Request};
use wire::{Ack, UpKind};

use crate::fixture::{FakeSupervisor, Server, name, op, outcome, receive, session, state, welcome};

const ROOM: usize = 256;

/// One step on one connection.
#[derive(Debug, Clone)]
enum Step {
    /// An operation ends, and an event happens.
    News,
    /// The server reads a frame.
    Read,
    /// The server acknowledges everything it has received.
    Acknowledge,
}

fn connections() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let step =
        prop_oneof![3 => Just(Step::News), 4 => Just(Step::Read), 1 => Just(Step::Acknowledge)];
    prop::collection::vec(prop::collection::vec(step, 0..25), 1..8)
}

fn event() -> Event {
    Event {
        at: UnixMillis(1),
        process: name("gse/p"),
        kind: EventKind::ProcessExit,
        reason: String::new(),
        exit: None,
        report_id: 0,
    }
}

#[derive(Default)]
struct World {
    made: u64,
    results: BTreeSet<u64>,
    events: BTreeSet<u64>,
    /// Results that the supervisor was told to forget.
    forgotten: BTreeSet<u64>,
    events_forgotten: u64,
}

impl World {
    async fn news(&mut self, supervisor: &FakeSupervisor) {
        self.made += 1;
        let ended = Notice::Ended(op(self.made), outcome(self.made));
        supervisor.notices.send(ended).await.unwrap();
        supervisor
            .notices
            .send(Notice::Event(self.made, event()))
            .await
            .unwrap();
    }

    fn read(&mut self, frame: UpKind) {
        match frame {
            UpKind::Result(result) => {
                let id = OpId::from(result.op.unwrap());
                assert!(
                    !self.forgotten.contains(&id.task.number()),
                    "{id} was acknowledged"
                );
                self.results.insert(id.task.number());
            }
            UpKind::Event(event) => {
                assert!(
                    event.seq > self.events_forgotten,
                    "{} was acknowledged",
                    event.seq
                );
                // In order, without gaps: an acknowledgement covers all before it.
                let gap = (1..event.seq).find(|seq| !self.events.contains(seq));
                assert_eq!(gap, None);
                self.events.insert(event.seq);
            }
            _ => {}
        }
    }

    async fn acknowledge(&mut self, server: &mut Server) {
        let ack = Ack {
            results: self.results.iter().map(|n| op(*n).into()).collect(),
            events_through: self.events.last().copied().unwrap_or(0),
            ..Ack::default()
        };
        // The agent may have disconnected; the next connection acknowledges again.
        let _ = server.send(ack.into()).await;
    }

    fn forget(&mut self, request: Request) {
        match request {
            Request::AcknowledgeResults(ids) => {
                self.forgotten.extend(ids.iter().map(|id| id.task.number()));
            }
            Request::AcknowledgeEvents(through) => self.events_forgotten = through,
            other => panic!("{other:?}"),
        }
    }
}

async fn play(connections: Vec<Vec<Step>>) {
    let (mut state, mut supervisor) = state(Recovered::default(), ROOM);
    let mut world = World::default();
    for steps in connections {
        session(&mut state, 512, async |mut server| {
            welcome(&mut server).await;
            for step in steps {
                match step {
                    Step::News => world.news(&supervisor).await,
                    Step::Read => {
                        let Some(frame) = receive(&mut server).await else {
                            return;
                        };
                        world.read(frame);
                    }
                    Step::Acknowledge => world.acknowledge(&mut server).await,
                }
            }
        })
        .await;
        // An acknowledgement may be lost with its connection; what the supervisor forgot must not be sent again.
        while let Ok(request) = supervisor.requests.try_recv() {
            world.forget(request);
        }
    }
    session(&mut state, 512, async |mut server| {
        welcome(&mut server).await;
        let all = world.made as usize;
        while world.results.len() < all || world.events.len() < all {
            let frame = receive(&mut server).await.unwrap();
            world.read(frame);
        }
        world.acknowledge(&mut server).await;
        while world.events_forgotten < world.made {
            let request = supervisor.requests.recv().await.unwrap();
            world.forget(request);
        }
    })
    .await;
    session(&mut state, 512, async |mut server| {
        assert!(welcome(&mut server).await.held_ops.is_empty());
    })
    .await;
}

proptest! {
    #[test]
    fn every_result_arrives_and_never_again_after_its_acknowledgement(connections in connections()) {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap()
            .block_on(play(connections));
    }
}

#[tokio::test]
async fn a_long_absence_drops_the_oldest_events_and_no_result() {
    let n_events = MAX_EVENTS as u64;
    let recovered = Recovered {
        results: (1..=100).map(|n| (op(n), outcome(n))).collect(),
        events: (1..=n_events).map(|seq| (seq, event())).collect(),
        ..Recovered::default()
    };
    let (mut state, mut supervisor) = state(recovered, ROOM);
    let one_too_many = Notice::Event(n_events + 1, event());
    supervisor.notices.send(one_too_many).await.unwrap();
    state.exchange().await.unwrap();
    // The journal drops them, too.
    state.exchange().await.unwrap();
    let asked = supervisor.requests.try_recv().unwrap();
    let Request::AcknowledgeEvents(dropped) = asked else {
        panic!("{asked:?}");
    };
    assert!(dropped > 0 && dropped < n_events / 10, "{dropped}");

    let (mut results, mut events) = (0, Vec::new());
    while let Some(frame) = state.next_frame(tokio::time::Instant::now(), &mut Allowance::Unlimited)
    {
        match frame.kind.unwrap() {
            UpKind::Result(_) => results += 1,
            UpKind::Event(event) => events.push(event.seq),
            _ => {}
        }
    }
    assert_eq!(results, 100);
    assert!(events.into_iter().eq(dropped + 1..=n_events + 1));
}
