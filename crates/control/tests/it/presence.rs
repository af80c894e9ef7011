//! Which replica holds an agent when connects and disconnects cross: all replicas agree in the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use control::Mode;
use model::State;
use testing::wait::until_async as until;
use wire::DownKind;

use crate::replicas::{HOST, host, is_up, pair_with_agent, report, running, state};
use crate::rig::Rig;

#[tokio::test]
async fn an_agent_whose_move_failed_is_told_to_reconnect() {
    let (one, two, agent) = pair_with_agent().await;
    assert_eq!(
        one.control.sessions().move_agents(1, "there are too many"),
        1
    );
    // Another replica accepted it, but the welcome was lost, so it stays.
    let elsewhere = two.connect_as(host(), 0, 5);
    until("the first lets go", || {
        one.control.sessions().n_agents() == 0
    })
    .await;
    agent.session.take(report(Vec::new())).await.unwrap();
    drop(elsewhere);
    until("no replica holds it", || !is_up(&one) && !is_up(&two)).await;
    let refused = agent.session.take(report(Vec::new())).await.unwrap_err();
    assert!(!refused.permanent, "{refused}");
}

#[tokio::test]
async fn the_last_report_before_a_disconnect_reaches_all_replicas() {
    let (_one, two, agent) = pair_with_agent().await;
    let said = report(vec![running("ns/p", 77)]);
    agent.session.take(said).await.unwrap();
    drop(agent);
    until("it is gone", || !is_up(&two)).await;
    assert_eq!(state(&two, "ns/p"), (State::Running, 77));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ending_connection_does_not_disturb_the_next() {
    let (one, two, mut agent) = pair_with_agent().await;
    for session in 10..400 {
        let meet = std::sync::Barrier::new(2);
        let next = std::thread::scope(|scope| {
            scope.spawn(|| {
                meet.wait();
                drop(agent);
            });
            meet.wait();
            // Sometimes at the other replica.
            match session % 4 {
                0 => two.connect_as(host(), 0, session),
                _ => one.connect_as(host(), 0, session),
            }
        });
        agent = next;
        let both = || is_up(&one) && is_up(&two);
        until("both see the new connection", both).await;
        until("one of them holds it", || {
            let [here, there] = [&one, &two].map(|rig| rig.control.sessions().n_agents());
            here + there == 1
        })
        .await;
    }
}

#[tokio::test]
async fn a_resend_to_one_replica_makes_no_other_request_one() {
    let n_said = Arc::new(AtomicUsize::new(0));
    let count = n_said.clone();
    let one = Rig::overheard(move |from| {
        // Messages of the holder do not count: statuses go to all.
        count.fetch_add(usize::from(from != 1), Ordering::SeqCst);
    })
    .await;
    let two = one.another(2).await;
    one.register("ns/p", &[HOST], "./a", Mode::Register).await;
    let agent = one.agent(HOST).await;
    until("the second knows", || is_up(&two)).await;
    let three = one.another(3).await;
    until("the third knows", || is_up(&three)).await;
    let (before, began) = (n_said.load(Ordering::SeqCst), std::time::Instant::now());
    for pid in 1..=20 {
        let said = report(vec![running("ns/p", pid)]);
        agent.session.take(said).await.unwrap();
        let both = || [&two, &three].map(|rig| state(rig, "ns/p").1) == [pid; 2];
        until("both hear of it", both).await;
    }
    let n_said = n_said.load(Ordering::SeqCst) - before;
    // Heartbeats and some digests, no more.
    let expected = 2 * (began.elapsed().as_secs() as usize + 2) + 4;
    assert!(n_said <= expected, "{n_said} messages, not {expected}");
}

#[tokio::test]
async fn two_replicas_that_claim_an_agent_do_not_flood_the_bus() {
    let n_said = Arc::new(AtomicUsize::new(0));
    let count = n_said.clone();
    let one = Rig::overheard(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    })
    .await;
    let two = one.another(2).await;
    drop(one.agent(HOST).await);
    two.control.replicas().catch_up().await;
    until("it is gone", || !is_up(&one) && !is_up(&two)).await;
    // Neither knows the other connection when it accepts its own, and both have the same session number.
    let agents = [&one, &two].map(|rig| rig.connect_as(host(), 0, 5));
    let before = n_said.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let n_said = n_said.load(Ordering::SeqCst) - before;
    assert!(n_said < 100, "{n_said} messages");
    let [first, last] = agents;
    drop(first);
    until("the other still has it", || is_up(&one) && is_up(&two)).await;
    drop(last);
    until("no replica has it", || !is_up(&one) && !is_up(&two)).await;
}

#[tokio::test]
async fn a_replica_that_is_behind_sends_no_specs() {
    let (one, two, agent) = pair_with_agent().await;
    two.loses_its_store().await;
    one.register("ns/q", &[HOST], "./a", Mode::Register).await;
    drop(agent);
    until("it is gone", || !is_up(&two)).await;
    // The agent holds both processes; the second replica knows one.
    let moved = two.connect_as(host(), 7, 5);
    let mut heard = moved.received().await;
    heard.extend(moved.received().await);
    assert!(matches!(heard[..], [DownKind::Welcome(_)]), "{heard:?}");
    until("but it is there", || is_up(&one) && is_up(&two)).await;
    // A replica that is up to date knows both.
    let back = one.connect_as(host(), 7, 6);
    let processes = back.received_processes().await;
    assert_eq!(processes[0].processes.len(), 2);
    tokio::time::timeout(Duration::from_secs(5), moved.session.next())
        .await
        .expect("the other connection is told to go");
}

/// More than fits into one message, so that one is sent while the next is built.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_replicas_that_publish_much_do_not_deadlock() {
    const NAMES: usize = 120;
    const ROUNDS: i32 = 60;
    let (one, two) = Rig::pair().await;
    let hosts = ["10.0.3.1", "10.0.3.2"];
    for n in 0..NAMES {
        one.register(&format!("ns/n{n}"), &hosts, "./a", Mode::Register)
            .await;
    }
    let first = one.agent(hosts[0]).await;
    two.control.replicas().catch_up().await;
    let second = two.agent(hosts[1]).await;
    let reports = |round: i32| {
        let status = |n: usize| wire::ProcessStatus {
            message: "x".repeat(8 * 1024),
            ..running(&format!("ns/n{n}"), round)
        };
        report((0..NAMES).map(status).collect())
    };
    let telling = async {
        for round in 1..=ROUNDS {
            let (a, b) = tokio::join!(
                first.session.take(reports(round)),
                second.session.take(reports(round)),
            );
            a.unwrap();
            b.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(60), telling).await;
    assert!(told.is_ok(), "the replicas wait for each other");
    for (rig, host) in [(&two, hosts[0]), (&one, hosts[1])] {
        let shown = || {
            let fleet = rig.control.inspect_fleet();
            let host = fleet.host_id(&host.parse().unwrap()).unwrap();
            fleet.processes_of(host).all(|row| row.pid() == ROUNDS)
        };
        until("the last status is on both replicas", shown).await;
    }
}
