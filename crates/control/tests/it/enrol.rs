//! A join token does not replace a live agent, unless an operator allows it.

use std::collections::HashSet;
use std::time::Duration;

use control::{ControlError, NewJoinToken};
use model::{AgentId, Host};
use testing::wait::until_async as until;
use testkit::FakeAgent;
use tokio::task::JoinSet;
use wire::DownKind;

use crate::rig::Rig;

const HOST: &str = "10.0.0.1";
const TEN_MINUTES: Duration = Duration::from_secs(600);
const A_SECOND: Duration = Duration::from_secs(1);

fn host() -> Host {
    HOST.parse().unwrap()
}

/// Joins with the token of all agents.
async fn join(rig: &Rig) -> Result<AgentId, ControlError> {
    rig.control
        .enrolment()
        .enrol("join-me", host(), None, None)
        .await
}

fn refused(joined: Result<AgentId, ControlError>) -> String {
    match joined {
        Err(ControlError::HostInUse(message)) => message,
        other => panic!("the host was not refused: {other:?}"),
    }
}

async fn replacing_token(rig: &Rig) -> String {
    let new = NewJoinToken {
        replace: true,
        ..NewJoinToken::default()
    };
    let created = rig
        .control
        .access()
        .create_join_token(&rig.caller, new)
        .await;
    created.unwrap().1
}

/// Why the server ends the session.
async fn bye(agent: &FakeAgent) -> String {
    loop {
        for kind in agent.received().await {
            if let DownKind::Bye(bye) = kind {
                assert!(bye.permanent && bye.rejoin, "{bye:?}");
                return bye.reason;
            }
        }
    }
}

#[tokio::test]
async fn a_token_does_not_replace_a_live_agent() {
    let rig = Rig::new().await;
    rig.advance(2 * TEN_MINUTES);
    let agent = rig.agent(HOST).await;
    assert!(refused(join(&rig).await).contains("is connected"));
    drop(agent);
    let message = refused(join(&rig).await);
    assert!(message.contains("muster agent revoke"), "{message}");
    rig.advance(TEN_MINUTES - A_SECOND);
    refused(join(&rig).await);
    rig.advance(A_SECOND);
    join(&rig).await.unwrap();
}

#[tokio::test]
async fn a_replacing_token_replaces_a_connected_agent() {
    let rig = Rig::new().await;
    let old = rig.agent(HOST).await;
    let token = replacing_token(&rig).await;
    rig.advance(A_SECOND);
    let joined = rig
        .control
        .enrolment()
        .enrol(&token, host(), None, None)
        .await;
    joined.unwrap();
    assert!(bye(&old).await.contains("certificate replaced"));
    let new = rig.connect(host(), 0);
    drop(old);
    assert!(
        rig.control
            .inspect_fleet()
            .hosts()
            .all(|view| view.link.is_up())
    );
    // The token of the old agent does not get the host back.
    refused(join(&rig).await);
    drop(new);
}

#[tokio::test]
async fn a_revoked_host_is_free_at_once() {
    let rig = Rig::new().await;
    let agent = rig.agent(HOST).await;
    rig.advance(A_SECOND);
    rig.control
        .enrolment()
        .revoke(&rig.caller, host())
        .await
        .unwrap();
    bye(&agent).await;
    drop(agent);
    rig.advance(A_SECOND);
    join(&rig).await.unwrap();
    // The response was lost, and the agent retries.
    rig.advance(A_SECOND);
    join(&rig).await.unwrap();
    let agent = rig.connect(host(), 0);
    drop(agent);
    refused(join(&rig).await);
}

#[tokio::test]
async fn an_enrolment_with_a_lost_response_can_be_repeated() {
    let rig = Rig::new().await;
    let id = rig.agent("10.0.0.2").await;
    drop(id);
    let first = join(&rig).await.unwrap();
    rig.advance(A_SECOND);
    assert_eq!(join(&rig).await.unwrap(), first);
    // Also after a restart of the server.
    let rig = rig.restarted().await;
    assert_eq!(join(&rig).await.unwrap(), first);
}

#[tokio::test]
async fn a_restarted_server_still_protects_an_agent() {
    let rig = Rig::new().await;
    let agent = rig.agent(HOST).await;
    rig.advance(TEN_MINUTES / 2);
    drop(agent);
    // The server is down for a day, so the agent cannot reach it.
    rig.advance(Duration::from_secs(86_400));
    let rig = rig.restarted().await;
    let message = refused(join(&rig).await);
    assert!(message.contains("before this server started"), "{message}");
    rig.advance(TEN_MINUTES);
    join(&rig).await.unwrap();
}

#[tokio::test]
async fn an_agent_of_another_replica_is_not_replaced() {
    let (one, two) = Rig::pair().await;
    let agent = one.agent(HOST).await;
    let is_up = |rig: &Rig| {
        rig.control
            .inspect_fleet()
            .hosts()
            .any(|view| view.link.is_up())
    };
    until("the other replica knows of it", || is_up(&two)).await;
    assert!(refused(join(&two).await).contains("is connected"));
    drop(agent);
    until("the other replica knows that it left", || !is_up(&two)).await;
    refused(join(&two).await);
    // A replacing token at one replica ends the session at the other.
    let agent = one.connect_as(host(), 0, 7);
    until("the other replica knows of it", || is_up(&two)).await;
    two.advance(A_SECOND);
    let token = replacing_token(&two).await;
    let joined = two
        .control
        .enrolment()
        .enrol(&token, host(), None, None)
        .await;
    joined.unwrap();
    assert!(bye(&agent).await.contains("certificate replaced"));
}

/// Enrols hosts `NET.1` and so on at the same time.
async fn join_all(
    rig: &Rig,
    token: &str,
    (net, n): (&str, usize),
    id: Option<AgentId>,
) -> Vec<Result<AgentId, ControlError>> {
    let mut joining = JoinSet::new();
    for host in 1..=n {
        let enrolment = rig.control.enrolment().clone();
        let host: Host = format!("{net}.{host}").parse().unwrap();
        let (token, id) = (token.to_owned(), id.clone());
        joining.spawn(async move { enrolment.enrol(&token, host, id, None).await });
    }
    joining.join_all().await
}

#[tokio::test]
async fn enrolments_at_the_same_time_share_commits() {
    const N: usize = 250;
    let rig = Rig::new().await;
    rig.agent("10.0.9.9").await;
    let before = rig.control.figures().commits;
    let joined = join_all(&rig, "join-me", ("10.1.0", N), None).await;
    let ids: HashSet<AgentId> = joined.into_iter().map(Result::unwrap).collect();
    assert_eq!(ids.len(), N);
    let commits = rig.control.figures().commits - before;
    assert!(commits < N as u64 / 10, "{commits} commits");
    assert_eq!(rig.control.inspect_fleet().hosts().count(), N + 1);
}

#[tokio::test]
async fn enrolments_at_the_same_time_do_not_share_the_last_use_of_a_token_or_an_id() {
    let rig = Rig::new().await;
    rig.agent("10.0.9.9").await;
    let new = NewJoinToken {
        uses: Some(3),
        ..NewJoinToken::default()
    };
    let access = rig.control.access();
    let created = access.create_join_token(&rig.caller, new).await;
    let token = created.unwrap().1;
    let n_joined = |joined: &[Result<_, _>]| joined.iter().filter(|one| one.is_ok()).count();
    let joined = join_all(&rig, &token, ("10.2.0", 10), None).await;
    assert_eq!(n_joined(&joined), 3, "{joined:?}");

    let id = AgentId::parse("an-id-for-one-host").unwrap();
    let joined = join_all(&rig, "join-me", ("10.3.0", 10), Some(id)).await;
    assert_eq!(n_joined(&joined), 1, "{joined:?}");
}

#[tokio::test]
async fn enrolments_while_the_store_is_away_are_answered() {
    let rig = Rig::new().await;
    rig.agent("10.0.9.9").await;
    rig.loses_its_store().await;
    let joined = join_all(&rig, "join-me", ("10.4.0", 20), None).await;
    let is_for_now = |joined: &Result<_, _>| {
        matches!(
            joined,
            Err(ControlError::Unavailable(_) | ControlError::Busy(_))
        )
    };
    assert!(joined.iter().all(is_for_now), "{joined:?}");
}
