//! Two replicas on one store: what one acknowledged, the other comes to show, and neither overwrites the other.

use std::time::Duration;

use control::{Happening, LogsOf, Mode};
use model::{Flag, Host, Op, State};
use testing::wait::until_async as until;
use wire::{EventFrame, Output, ProcessStatus, Report};

use crate::rig::{Rig, full};

pub(crate) const HOST: &str = "10.0.0.1";

async fn shows(rig: &Rig, n_processes: usize) {
    let there = || rig.control.fleet().n_processes() == n_processes;
    until("the other replica follows", there).await;
}

pub(crate) fn host() -> Host {
    HOST.parse().unwrap()
}

pub(crate) fn is_up(rig: &Rig) -> bool {
    let fleet = rig.control.fleet();
    let view = fleet.host_id(&host()).and_then(|id| fleet.host(id));
    view.is_some_and(|view| view.link.is_up())
}

pub(crate) fn state(rig: &Rig, name: &str) -> (State, i32) {
    let fleet = rig.control.fleet();
    let host = fleet.host_id(&host()).unwrap();
    let row = fleet.process(host, fleet.name_id(&full(name)).unwrap());
    row.map_or((State::Unknown, -1), |row| (row.state(), row.pid()))
}

pub(crate) fn running(name: &str, pid: i32) -> ProcessStatus {
    let (namespace, name) = name.split_once('/').unwrap();
    ProcessStatus {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        state: 1,
        pid,
        flag: Some(u32::from(u8::from(Flag::Running))),
        managed: Some(true),
        ..ProcessStatus::default()
    }
}

pub(crate) fn report(statuses: Vec<ProcessStatus>) -> wire::Up {
    Report { statuses }.into()
}

/// Two replicas, and an agent of the first that the second knows of.
pub(crate) async fn pair_with_agent() -> (Rig, Rig, testkit::FakeAgent) {
    let (one, two) = Rig::pair().await;
    one.register("ns/p", &[HOST], "./a", Mode::Register).await;
    let agent = one.agent(HOST).await;
    agent.hears().await;
    until("the other knows of the agent", || is_up(&two)).await;
    two.control.settled().await;
    (one, two, agent)
}

#[tokio::test]
async fn an_operation_reaches_an_agent_that_another_replica_holds() {
    let (one, two, agent) = pair_with_agent().await;
    let task = two.operate("ns/p", Op::Start, &[HOST]).await;
    let commands = agent.hears_commands().await;
    assert_eq!(commands.len(), 1, "it was asked once");
    agent
        .session
        .take(report(vec![running("ns/p", 77)]))
        .await
        .unwrap();
    agent
        .answers_ok(&commands[0], Some(Flag::Running), Some(true))
        .await;
    assert_eq!(two.ended(task).await, [0]);
    assert_eq!(one.ended(task).await, [0]);
    assert_eq!(two.flag_and_managed("ns/p", HOST), (Flag::Running, true));
    until("its status is everywhere", || {
        state(&two, "ns/p") == (State::Running, 77)
    })
    .await;
}

#[tokio::test]
async fn statuses_come_and_go_with_their_agent() {
    let (_one, two, agent) = pair_with_agent().await;
    let mut told = two.control.watch();
    agent
        .session
        .take(report(vec![running("ns/p", 77)]))
        .await
        .unwrap();
    until("the status is there", || {
        state(&two, "ns/p") == (State::Running, 77)
    })
    .await;
    assert!(matches!(
        &*told.recv().await.unwrap(),
        Happening::Status { pid: 77, .. }
    ));
    drop(agent);
    until("the agent is gone", || !is_up(&two)).await;
    assert!(matches!(
        &*told.recv().await.unwrap(),
        Happening::Agent { up: false, .. }
    ));
}

#[tokio::test]
async fn a_replica_that_comes_later_learns_of_every_agent_and_status() {
    let (one, two, agent) = pair_with_agent().await;
    agent
        .session
        .take(report(vec![running("ns/p", 77)]))
        .await
        .unwrap();
    let three = one.another(3).await;
    until("it knows", || {
        is_up(&three) && state(&three, "ns/p") == (State::Running, 77)
    })
    .await;
    assert_eq!(three.control.replicas().len(), 3);
    assert_eq!(two.control.replicas().len(), 3);
    assert_eq!(one.control.replicas()[0].n_agents, 1);
}

#[tokio::test]
async fn an_agent_that_moves_is_never_seen_away_and_is_asked_once() {
    let (one, two, agent) = pair_with_agent().await;
    two.control.settled().await;
    let moved = two.connect_as(host(), 0, 5);
    moved.hears().await;
    until("the first lets go", || {
        one.control.replicas()[0].n_agents == 0
    })
    .await;
    assert!(is_up(&one) && is_up(&two));
    // The old connection ends late: that is no news to anybody.
    drop(agent);
    let task = one.operate("ns/p", Op::Start, &[HOST]).await;
    let commands = moved.hears_commands().await;
    assert_eq!(commands.len(), 1);
    moved.answers_ok(&commands[0], None, None).await;
    assert_eq!(one.ended(task).await, [0]);
    assert!(is_up(&one) && is_up(&two));
}

#[tokio::test]
async fn what_was_asked_of_an_agent_that_moves_is_asked_again_where_it_is() {
    let (one, two, agent) = pair_with_agent().await;
    let task = one.operate("ns/p", Op::Start, &[HOST]).await;
    let first = agent.hears_commands().await;
    two.control.settled().await;
    let moved = two.connect_as(host(), 0, 5);
    let again = moved.hears_commands().await;
    assert_eq!(first[0].op, again[0].op, "under the same id");
    moved.answers_ok(&again[0], None, None).await;
    assert_eq!(one.ended(task).await, [0]);
}

#[tokio::test]
async fn what_one_replica_acknowledged_the_other_shows_at_once() {
    let (one, two) = Rig::pair().await;
    for n in 1..30 {
        let (from, to) = match n % 2 {
            0 => (&one, &two),
            _ => (&two, &one),
        };
        let address = format!("10.0.1.{n}");
        from.register("ns/p", &[&address], "./a", Mode::Register)
            .await;
        to.control.settled().await;
        assert_eq!(to.control.fleet().n_processes(), n);
    }
}

#[tokio::test]
async fn a_question_is_answered_by_an_agent_that_another_replica_holds() {
    let (_one, two, agent) = pair_with_agent().await;
    let logs = LogsOf {
        process: full("ns/p"),
        host: None,
        tail_lines: 10,
        follow: true,
    };
    let caller = two.caller.clone();
    let answers = async {
        let (id, _) = agent.is_asked().await;
        for n in 0..20 {
            agent.says_chunk(id, format!("{n};")).await;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let last = Output {
            id,
            last: true,
            ..Output::default()
        };
        agent.says(last).await;
        // More is granted as the reader takes it, which frames of its own carry.
        agent.hears().await;
    };
    let reads = async {
        let mut stream = two.control.logs(&caller, logs).await.unwrap();
        let mut text = Vec::new();
        while let Some(chunk) = stream.next().await {
            text.extend(chunk.unwrap());
        }
        String::from_utf8(text).unwrap()
    };
    let (text, ()) = tokio::join!(reads, answers);
    let expected: String = (0..20).map(|n| format!("{n};")).collect();
    assert_eq!(text, expected);
}

#[tokio::test]
async fn watchers_hear_of_events_that_another_replica_took() {
    let (_one, two, agent) = pair_with_agent().await;
    let mut told = two.control.watch();
    let event = EventFrame {
        seq: 1,
        at_ms: 5,
        namespace: "ns".into(),
        name: "p".into(),
        kind: "process_exit".into(),
        reason: "exited with code 1".into(),
        ..EventFrame::default()
    };
    agent.session.take(event.into()).await.unwrap();
    let happening = tokio::time::timeout(Duration::from_secs(20), told.recv()).await;
    let happening = happening.expect("in time").unwrap();
    assert!(
        matches!(&*happening, Happening::Event { .. }),
        "{happening:?}"
    );
}

#[tokio::test]
async fn one_replica_does_the_background_work_and_another_takes_it_over() {
    let (one, two) = Rig::pair().await;
    until("somebody leads", || {
        one.control.leads() || two.control.leads()
    })
    .await;
    let (leader, other) = match one.control.leads() {
        true => (one, two),
        false => (two, one),
    };
    assert!(!other.control.leads());
    leader.stopped().await;
    until("the other leads", || other.control.leads()).await;
    until("and is alone", || other.control.replicas().len() == 1).await;
}

#[tokio::test]
async fn agents_of_a_replica_that_was_killed_are_away_after_a_while() {
    let (one, two, agent) = pair_with_agent().await;
    one.killed();
    assert!(is_up(&two), "not at once: it may only be slow");
    until("its agents are away", || !is_up(&two)).await;
    drop(agent);
    let task = two.operate("ns/p", Op::Start, &[HOST]).await;
    assert_eq!(two.ended(task).await, [117]);
    let back = two.connect_as(host(), 0, 9);
    back.hears().await;
    let task = two.operate("ns/p", Op::Start, &[HOST]).await;
    let commands = back.hears_commands().await;
    back.answers_ok(&commands[0], None, None).await;
    assert_eq!(two.ended(task).await, [0]);
}

#[tokio::test]
async fn what_one_replica_commits_the_other_shows() {
    let (one, two) = Rig::pair().await;
    one.register("ns/p", &["10.0.0.1", "10.0.0.2"], "./a", Mode::Register)
        .await;
    shows(&two, 2).await;
    two.register("ns/q", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    shows(&one, 3).await;
}

#[tokio::test]
async fn a_plan_against_an_old_picture_is_made_again() {
    let (one, two) = Rig::pair().await;
    // Both at once and many times: each commit of one is news to the other in the middle of its own.
    let hosts = |n: usize| [format!("10.0.1.{n}"), format!("10.0.2.{n}")];
    for n in 0..20 {
        let [ours, theirs] = hosts(n);
        let (ours, theirs) = ([ours.as_str(), "10.0.0.1"], [theirs.as_str(), "10.0.0.1"]);
        let (a, b) = tokio::join!(
            one.register("ns/p", &ours, "./one", Mode::Register),
            two.register("ns/p", &theirs, "./two", Mode::Register),
        );
        assert_eq!((a[0], b[0]), (0, 0));
        assert_ne!(
            (a[1], b[1]),
            (0, 0),
            "the shared host belongs to one spec only"
        );
    }
    shows(&one, 41).await;
    shows(&two, 41).await;
    let revision = one.control.fleet().revision();
    assert_eq!(two.control.fleet().revision(), revision);
}
