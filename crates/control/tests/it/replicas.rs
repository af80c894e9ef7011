//! Two replicas on one store: each shows what the other acknowledged, and neither overwrites the other.

use std::time::Duration;

use control::{Change, ChangeEvent, LogsOf, Mode};
use model::{Flag, Host, Op, State};
use testing::wait::until_async as until;
use wire::{EventFrame, Output, ProcessStatus, Report};

use crate::rig::{Rig, full};

pub(crate) const HOST: &str = "10.0.0.1";

async fn shows(rig: &Rig, n_processes: usize) {
    let there = || rig.control.inspect_fleet().n_processes() == n_processes;
    until("the other replica follows", there).await;
}

pub(crate) fn host() -> Host {
    HOST.parse().unwrap()
}

pub(crate) fn is_up(rig: &Rig) -> bool {
    let fleet = rig.control.inspect_fleet();
    let view = fleet.host_id(&host()).and_then(|id| fleet.host(id));
    view.is_some_and(|view| view.link.is_up())
}

pub(crate) fn state(rig: &Rig, name: &str) -> (State, i32) {
    let fleet = rig.control.inspect_fleet();
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

pub(crate) fn report(statuses: Vec<ProcessStatus>) -> wire::Received {
    Report { statuses }.into()
}

/// Two replicas, and an agent of the first that the second knows.
pub(crate) async fn pair_with_agent() -> (Rig, Rig, testkit::FakeAgent) {
    let (one, two) = Rig::pair().await;
    one.register("ns/p", &[HOST], "./a", Mode::Register).await;
    let agent = one.agent(HOST).await;
    agent.received().await;
    until("the other knows of the agent", || is_up(&two)).await;
    two.control.replicas().catch_up().await;
    (one, two, agent)
}

#[tokio::test]
async fn an_operation_reaches_an_agent_that_another_replica_holds() {
    let (one, two, agent) = pair_with_agent().await;
    let task = two.operate("ns/p", Op::Start, &[HOST]).await;
    let commands = agent.received_commands().await;
    assert_eq!(commands.len(), 1, "it was asked once");
    agent
        .session
        .take(report(vec![running("ns/p", 77)]))
        .await
        .unwrap();
    agent
        .answer_ok(&commands[0], Some(Flag::Running), Some(true))
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
async fn statuses_follow_the_connection_of_their_agent() {
    let (_one, two, agent) = pair_with_agent().await;
    let mut told = two.control.events().watch();
    agent
        .session
        .take(report(vec![running("ns/p", 77)]))
        .await
        .unwrap();
    // The server takes over what the agent says is wanted, by a commit of its own.
    until("the status and what is wanted are there", || {
        state(&two, "ns/p") == (State::Running, 77)
            && two.flag_and_managed("ns/p", HOST) == (Flag::Running, true)
    })
    .await;
    let statuses = [told.recv().await.unwrap(), told.recv().await.unwrap()];
    let is_status = |change: &Change| matches!(change.event, ChangeEvent::Status { .. });
    assert!(statuses.iter().all(|change| is_status(change)));
    assert!(matches!(
        &statuses[1].event,
        ChangeEvent::Status {
            pid: 77,
            wanted: Flag::Running,
            managed: true,
            ..
        }
    ));
    drop(agent);
    until("the agent is gone", || !is_up(&two)).await;
    assert!(matches!(
        &told.recv().await.unwrap().event,
        ChangeEvent::Agent { up: false, .. }
    ));
}

#[tokio::test]
async fn a_late_replica_receives_every_agent_and_status() {
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
    assert_eq!(three.control.replicas().list().len(), 3);
    assert_eq!(two.control.replicas().list().len(), 3);
    assert_eq!(one.control.replicas().list()[0].n_agents, 1);
}

#[tokio::test]
async fn a_moving_agent_stays_connected_and_gets_a_command_once() {
    let (one, two, agent) = pair_with_agent().await;
    two.control.replicas().catch_up().await;
    let moved = two.connect_as(host(), 0, 5);
    moved.received().await;
    until("the first lets go", || {
        one.control.replicas().list()[0].n_agents == 0
    })
    .await;
    assert!(is_up(&one) && is_up(&two));
    // The old connection ends late, which changes nothing.
    drop(agent);
    let task = one.operate("ns/p", Op::Start, &[HOST]).await;
    let commands = moved.received_commands().await;
    assert_eq!(commands.len(), 1);
    moved.answer_ok(&commands[0], None, None).await;
    assert_eq!(one.ended(task).await, [0]);
    assert!(is_up(&one) && is_up(&two));
}

#[tokio::test]
async fn an_open_operation_follows_a_moving_agent() {
    let (one, two, agent) = pair_with_agent().await;
    let task = one.operate("ns/p", Op::Start, &[HOST]).await;
    let first = agent.received_commands().await;
    two.control.replicas().catch_up().await;
    let moved = two.connect_as(host(), 0, 5);
    let again = moved.received_commands().await;
    assert_eq!(first[0].op, again[0].op, "under the same id");
    moved.answer_ok(&again[0], None, None).await;
    assert_eq!(one.ended(task).await, [0]);
}

#[tokio::test]
async fn a_read_shows_what_another_replica_acknowledged() {
    let (one, two) = Rig::pair().await;
    for n in 1..30 {
        let (from, to) = match n % 2 {
            0 => (&one, &two),
            _ => (&two, &one),
        };
        let address = format!("10.0.1.{n}");
        from.register("ns/p", &[&address], "./a", Mode::Register)
            .await;
        to.control.replicas().catch_up().await;
        assert_eq!(to.control.inspect_fleet().n_processes(), n);
    }
}

#[tokio::test]
async fn a_question_is_answered_by_an_agent_that_another_replica_holds() {
    let (_one, two, agent) = pair_with_agent().await;
    let logs = LogsOf {
        follow: true,
        ..LogsOf::last_lines(full("ns/p"), 10)
    };
    let caller = two.caller.clone();
    let answers = async {
        let (id, _) = agent.next_question().await;
        for n in 0..20 {
            agent.send_chunk(id, format!("{n};")).await;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let last = Output {
            id,
            last: true,
            ..Output::default()
        };
        agent.send(last).await;
        // Grants for more chunks arrive as frames of their own.
        agent.received().await;
    };
    let reads = async {
        let mut stream = two.control.sessions().logs(&caller, logs).await.unwrap();
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
async fn watchers_receive_events_of_another_replica() {
    let (_one, two, agent) = pair_with_agent().await;
    let mut told = two.control.events().watch();
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
        matches!(&happening.event, ChangeEvent::Event { .. }),
        "{happening:?}"
    );
}

#[tokio::test]
async fn another_replica_takes_over_the_background_work() {
    let (one, two) = Rig::pair().await;
    until("one replica leads", || {
        one.control.replicas().leads() || two.control.replicas().leads()
    })
    .await;
    let (leader, other) = match one.control.replicas().leads() {
        true => (one, two),
        false => (two, one),
    };
    assert!(!other.control.replicas().leads());
    leader.stopped().await;
    until("the other leads", || other.control.replicas().leads()).await;
    until("and is alone", || {
        other.control.replicas().list().len() == 1
    })
    .await;
}

#[tokio::test]
async fn agents_of_a_killed_replica_count_as_disconnected() {
    let (one, two, agent) = pair_with_agent().await;
    one.killed();
    assert!(is_up(&two), "not at once: it may only be slow");
    until("its agents are away", || !is_up(&two)).await;
    drop(agent);
    let task = two.operate("ns/p", Op::Start, &[HOST]).await;
    assert_eq!(two.ended(task).await, [117]);
    let back = two.connect_as(host(), 0, 9);
    back.received().await;
    let task = two.operate("ns/p", Op::Start, &[HOST]).await;
    let commands = back.received_commands().await;
    back.answer_ok(&commands[0], None, None).await;
    assert_eq!(two.ended(task).await, [0]);
}

#[tokio::test]
async fn a_commit_of_one_replica_shows_at_the_other() {
    let (one, two) = Rig::pair().await;
    one.register("ns/p", &["10.0.0.1", "10.0.0.2"], "./a", Mode::Register)
        .await;
    shows(&two, 2).await;
    two.register("ns/q", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    shows(&one, 3).await;
}

#[tokio::test]
async fn a_plan_against_an_old_revision_is_repeated() {
    let (one, two) = Rig::pair().await;
    // Both at once, many times: each commit of one moves the head under a plan of the other.
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
    let revision = one.control.inspect_fleet().revision();
    assert_eq!(two.control.inspect_fleet().revision(), revision);
}
