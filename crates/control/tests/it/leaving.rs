//! Agents that are revoked, or asked to move to another replica.

use std::time::Duration;

use control::{Certificate, ControlError, FirstKeys, Issued, NewJoinToken};
use model::access::Caller;
use model::{Host, UnixMillis};
use testing::wait::until_async as until;
use testkit::FakeAgent;
use wire::{Bye, DownKind, Move};

use crate::replicas::is_up;
use crate::rig::{Rig, START, hello};

const HOST: &str = "0:10.0.0.1";

fn host() -> Host {
    HOST.parse().unwrap()
}

fn issued(at: i64) -> Certificate {
    Certificate {
        host: host(),
        issued: Issued::At(UnixMillis(at)),
    }
}

/// The `Bye` that an agent receives, if any.
async fn bye(agent: &FakeAgent) -> Option<Bye> {
    let heard = agent.received().await;
    heard.into_iter().find_map(|frame| match frame {
        DownKind::Bye(bye) => Some(bye),
        DownKind::Welcome(_)
        | DownKind::Desired(_)
        | DownKind::Command(_)
        | DownKind::Ack(_)
        | DownKind::Ask(_)
        | DownKind::Move(_)
        | DownKind::Dependencies(_) => None,
    })
}

async fn is_asked_to_move(agent: &FakeAgent) -> Option<String> {
    let heard = agent.received().await;
    heard.into_iter().find_map(|frame| match frame {
        DownKind::Move(Move { reason }) => Some(reason),
        _ => None,
    })
}

#[tokio::test]
async fn a_revoked_host_is_disconnected_everywhere_and_its_certificates_stay_invalid() {
    let (one, two) = Rig::pair().await;
    let agent = one.agent(HOST).await;
    agent.received().await;
    two.control.replicas().catch_up().await;
    for rig in [&one, &two] {
        rig.control
            .enrolment()
            .check_certificate(issued(START))
            .unwrap();
        let earlier = rig.control.enrolment().check_certificate(issued(START - 1));
        assert!(earlier.is_err(), "from before it was enrolled");
    }

    // Also at the other replica.
    two.control
        .enrolment()
        .revoke(&two.caller, host())
        .await
        .unwrap();
    let bye = bye(&agent).await.unwrap();
    assert!(bye.permanent && bye.rejoin, "{bye:?}");
    assert!(bye.reason.contains("revoked"), "{}", bye.reason);
    drop(agent);
    one.control.replicas().catch_up().await;
    for rig in [&one, &two] {
        let refused = rig
            .control
            .sessions()
            .attach(host(), &hello(host(), 0))
            .unwrap_err();
        assert!(refused.permanent && refused.rejoin, "{refused:?}");
        assert!(
            rig.control
                .enrolment()
                .check_certificate(issued(START))
                .is_err()
        );
        assert!(rig.control.enrolment().renewal(issued(START)).is_err());
    }
    let again = two.control.enrolment().revoke(&two.caller, host()).await;
    assert!(matches!(again, Err(ControlError::NotFound(_))), "{again:?}");

    one.advance(Duration::from_millis(1));
    one.control
        .enrolment()
        .enrol("join-me", host(), None, None)
        .await
        .unwrap();
    two.control.replicas().catch_up().await;
    for rig in [&one, &two] {
        assert!(
            rig.control
                .enrolment()
                .check_certificate(issued(START))
                .is_err()
        );
        rig.control
            .enrolment()
            .check_certificate(issued(START + 1))
            .unwrap();
        rig.control
            .sessions()
            .attach(host(), &hello(host(), 0))
            .unwrap();
    }
    assert_eq!(
        one.control.enrolment().issue_time(host()),
        UnixMillis(START + 1)
    );
}

#[tokio::test]
async fn a_certificate_without_a_time_of_issue_is_valid_until_revoked() {
    let rig = Rig::new().await;
    drop(rig.agent(HOST).await);
    let unsaid = |at: i64| Certificate {
        host: host(),
        issued: Issued::About(UnixMillis(at)),
    };
    rig.control
        .enrolment()
        .check_certificate(unsaid(START - 2_000))
        .unwrap();
    let long_before = unsaid(START - 3_600_000);
    assert!(
        rig.control
            .enrolment()
            .check_certificate(long_before)
            .is_err()
    );
    rig.control
        .enrolment()
        .revoke(&rig.caller, host())
        .await
        .unwrap();
    let revoked = rig
        .control
        .enrolment()
        .check_certificate(unsaid(START - 2_000));
    assert!(revoked.is_err());
}

#[tokio::test]
async fn a_replica_with_a_slow_clock_renews_certificates() {
    let (one, two) = Rig::pair().await;
    one.advance(Duration::from_secs(30));
    drop(one.agent(HOST).await);
    two.control.replicas().catch_up().await;
    let certificate = issued(START + 30_000);
    let (_, issued_at) = two.control.enrolment().renewal(certificate).unwrap();
    two.control
        .enrolment()
        .check_certificate(issued(issued_at.0))
        .unwrap();
}

#[tokio::test]
async fn only_an_admin_revokes_and_drains() {
    let rig = Rig::new().await;
    drop(rig.agent(HOST).await);
    let without_grants = Caller::system().with_grants(&[]);
    let refused = rig
        .control
        .enrolment()
        .revoke(&without_grants, host())
        .await;
    assert!(
        matches!(refused, Err(ControlError::Forbidden(_))),
        "{refused:?}"
    );
    assert!(
        rig.control
            .sessions()
            .start_draining(&without_grants)
            .await
            .is_err()
    );
    rig.control
        .enrolment()
        .check_certificate(issued(START))
        .unwrap();
}

#[tokio::test]
async fn a_token_is_valid_for_its_number_of_uses() {
    let rig = Rig::new().await;
    let created = rig
        .control
        .access()
        .create_join_token(
            &rig.caller,
            NewJoinToken {
                uses: Some(2),
                ..NewJoinToken::default()
            },
        )
        .await;
    let (_, secret) = created.unwrap();
    for n in 1..=3 {
        let host = format!("10.0.0.{n}").parse().unwrap();
        let joined = rig
            .control
            .enrolment()
            .enrol(&secret, host, None, None)
            .await;
        assert_eq!(joined.is_ok(), n <= 2, "{joined:?}");
    }
    let left = rig.control.access().join_tokens(&rig.caller).unwrap();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_moving_agent_ends_its_old_connection_itself() {
    let (one, two) = Rig::pair().await;
    let agent = one.agent(HOST).await;
    agent.received().await;
    two.control.replicas().catch_up().await;
    assert_eq!(one.control.sessions().move_agents(10, "for a test"), 1);
    assert_eq!(
        is_asked_to_move(&agent).await.as_deref(),
        Some("for a test")
    );
    assert_eq!(
        one.control.sessions().move_agents(10, "for a test"),
        0,
        "not asked twice"
    );
    let _moved = two.connect_as(host(), 0, 5);
    until("the first lets go", || {
        one.control.sessions().n_agents() == 0
    })
    .await;
    assert_eq!(bye(&agent).await, None, "it may still be answering");
}

#[tokio::test]
async fn an_agent_between_two_replicas_counts_as_connected_until_it_is_late() {
    let (one, two) = Rig::pair().await;
    let agent = one.agent(HOST).await;
    agent.received().await;
    until("the other knows of the agent", || is_up(&two)).await;
    assert_eq!(one.control.sessions().move_agents(10, "for a test"), 1);
    // It leaves, and a third replica has not yet accepted it, or its message is under way.
    drop(agent);
    until("it is gone", || one.control.sessions().n_agents() == 0).await;
    one.control.replicas().set_draining(true);
    until("the other has heard what was published since", || {
        let replicas = two.control.replicas().list();
        replicas.iter().any(|replica| replica.is_draining)
    })
    .await;
    assert!(is_up(&one) && is_up(&two));
    until("it is late", || !is_up(&one) && !is_up(&two)).await;
}

#[tokio::test]
async fn a_draining_replica_asks_all_agents_and_waits_for_them() {
    let (one, two) = Rig::pair().await;
    until("they know of each other", || {
        one.control.sessions().has_other_replica()
    })
    .await;
    let mut agents = Vec::new();
    for n in 1..=12 {
        let agent = one.agent(&format!("10.0.0.{n}")).await;
        agent.received().await;
        agents.push(agent);
    }
    one.control
        .sessions()
        .start_draining(&one.caller)
        .await
        .unwrap();
    for agent in &agents {
        let asked = tokio::time::timeout(Duration::from_secs(20), async {
            loop {
                if let Some(reason) = is_asked_to_move(agent).await {
                    return reason;
                }
            }
        });
        assert_eq!(asked.await.unwrap(), "the server is draining");
    }
    let drained = tokio::time::timeout(
        Duration::from_millis(300),
        one.control.sessions().wait_until_drained(),
    );
    assert!(drained.await.is_err(), "they are still there");
    drop(agents);
    let drained = tokio::time::timeout(
        Duration::from_secs(20),
        one.control.sessions().wait_until_drained(),
    );
    drained.await.unwrap();

    // The other replica knows, and has no replica left to drain to.
    until("the other hears of it", || {
        !two.control.sessions().has_other_replica()
    })
    .await;
    let refused = two.control.sessions().start_draining(&two.caller).await;
    assert!(
        matches!(refused, Err(ControlError::Conflict(_))),
        "{refused:?}"
    );
    one.control
        .sessions()
        .stop_draining(&one.caller)
        .await
        .unwrap();
    until("the other hears of that, too", || {
        two.control.sessions().has_other_replica()
    })
    .await;
}

#[tokio::test]
async fn a_replica_above_its_share_moves_agents_slowly() {
    let (one, two) = Rig::pair().await;
    until("they know of each other", || {
        one.control.sessions().has_other_replica()
    })
    .await;
    let fixed = FirstKeys {
        join_token: Some("join-me".into()),
        ..Default::default()
    };
    one.control.access().ensure_first_keys(fixed).await.unwrap();
    let mut agents = Vec::new();
    for n in 1..=30 {
        agents.push(one.agent(&format!("10.0.1.{n}")).await);
    }
    // It continues down to the average once it has started.
    let mut n_asked = 0;
    let began = tokio::time::Instant::now();
    while n_asked < 4 {
        for agent in &agents {
            let frames = tokio::time::timeout(Duration::from_millis(1), agent.session.next()).await;
            let frames = frames.unwrap_or_default();
            let is_move = |frame: &wire::Down| matches!(frame.kind, Some(DownKind::Move(_)));
            n_asked += frames.iter().filter(|frame| is_move(frame)).count();
        }
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "no replica was asked"
        );
    }
    // One of thirty per second.
    let secs = began.elapsed().as_secs() as usize;
    assert!(n_asked <= secs + 2, "{n_asked} in {secs} s");
    drop(two);
}
