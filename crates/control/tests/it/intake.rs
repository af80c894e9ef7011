//! Statuses wait for their turn; heartbeats and results do not wait for those of other agents.

use std::time::Duration;

use control::{Clock, Control, FirstKeys, Mode};
use model::{Code, Host, Op, OpId, Outcome, State, Status, TaskId, UnixMillis};
use store::Store;
use testing::wait::until_async;
use testkit::FakeAgent;
use wire::{Ack, DownKind, Hello, ProcessStatus, Report, Up};

use crate::rig::{Rig, START, full};

/// More than one turn applies.
const MANY: usize = 5_000;

fn patient_hello(host: &str) -> Hello {
    Hello {
        waits_for_grants: true,
        ..FakeAgent::hello(host.parse().unwrap())
    }
}

fn report(pid: i32, n: usize) -> Up {
    let status = Status {
        state: State::Running,
        pid,
        ..Status::default()
    };
    let statuses = vec![ProcessStatus::new(&full("ns/p"), &status); n];
    Report { statuses }.into()
}

fn heartbeat() -> Up {
    Report::default().into()
}

fn ack(kind: DownKind) -> Option<Ack> {
    match kind {
        DownKind::Ack(ack) => Some(ack),
        _ => None,
    }
}

/// Waits for a grant.
async fn granted(agent: &FakeAgent) {
    while !agent
        .receive(1, ack)
        .await
        .iter()
        .any(|ack| ack.may_report > 0)
    {}
}

fn pid(control: &Control, host: &str) -> i32 {
    let fleet = control.inspect_fleet();
    let host = fleet.host_id(&host.parse().unwrap()).unwrap();
    let name = fleet.name_id(&full("ns/p")).unwrap();
    fleet.process(host, name).unwrap().pid()
}

/// A control of which nothing applies statuses until its background work runs.
async fn idle_control(dir: &tempfile::TempDir) -> (Control, control::Background) {
    let url = format!("sqlite:{}/muster.db", dir.path().display());
    let store = Store::open(&url).await.unwrap();
    let clock = Clock::new(|| UnixMillis(START));
    let (control, background) = Control::alone(store, clock).await.unwrap();
    let fixed = FirstKeys {
        join_token: Some("join-me".into()),
        ..Default::default()
    };
    control.access().ensure_first_keys(fixed).await.unwrap();
    (control, background)
}

async fn patient_agent(control: &Control, host: &str) -> FakeAgent {
    let parsed: Host = host.parse().unwrap();
    FakeAgent::enrol(control, "join-me", parsed, None).await;
    FakeAgent::connect(control, parsed, &patient_hello(host))
}

#[tokio::test]
async fn a_heartbeat_is_answered_while_statuses_wait() {
    let dir = tempfile::TempDir::new().unwrap();
    let (control, background) = idle_control(&dir).await;
    let agent = patient_agent(&control, "10.0.0.1").await;
    agent.send(report(7, 1)).await;
    agent.send(heartbeat()).await;
    let answer = agent.receive(1, ack).await.remove(0);
    assert_eq!(answer, Ack::default(), "its report is on the way");
    assert_eq!(control.figures().statuses, 0);

    let (stop, stopped) = tokio::sync::watch::channel(false);
    let background = tokio::spawn(background.run(stopped));
    granted(&agent).await;
    assert_eq!(control.figures().statuses, 1);
    // It may have missed the grant: with nothing on the way, a heartbeat grants again.
    agent.send(heartbeat()).await;
    granted(&agent).await;
    stop.send_replace(true);
    background.await.unwrap();
}

#[tokio::test]
async fn a_result_applies_the_few_statuses_before_it_at_once() {
    let dir = tempfile::TempDir::new().unwrap();
    // Nothing else would apply them.
    let (control, _background) = idle_control(&dir).await;
    let agent = patient_agent(&control, "10.0.0.1").await;
    agent.send(report(7, 1)).await;
    assert_eq!(control.figures().statuses, 0);
    let op = OpId {
        task: TaskId::from_number(1),
        ordinal: 0,
    };
    let outcome = Outcome::plain(Code::OK, "success", UnixMillis(START));
    agent.answer(op, outcome).await;
    assert_eq!(control.figures().statuses, 1);
}

#[tokio::test]
async fn a_heartbeat_grants_nothing_while_others_wait_for_their_turn() {
    let dir = tempfile::TempDir::new().unwrap();
    let (control, background) = idle_control(&dir).await;
    let busy = patient_agent(&control, "10.0.0.1").await;
    let idle = patient_agent(&control, "10.0.0.2").await;
    for _ in 0..4 {
        busy.send(report(7, MANY)).await;
    }
    idle.send(heartbeat()).await;
    let answer = idle.receive(1, ack).await.remove(0);
    assert_eq!(answer, Ack::default(), "enough waits");

    let (stop, stopped) = tokio::sync::watch::channel(false);
    let background = tokio::spawn(background.run(stopped));
    granted(&idle).await;
    stop.send_replace(true);
    background.await.unwrap();
}

#[tokio::test]
async fn a_result_waits_for_the_statuses_of_its_own_agent_alone() {
    let rig = Rig::new().await;
    let hosts: Vec<String> = (1..=10).map(|n| format!("10.0.0.{n}")).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    rig.register("ns/p", &hosts, "./a", Mode::Register).await;
    let mut agents = Vec::new();
    for host in &hosts {
        drop(rig.agent(host).await);
        let hello = patient_hello(host);
        agents.push(FakeAgent::connect(
            &rig.control,
            host.parse().unwrap(),
            &hello,
        ));
    }
    let task = rig.operate("ns/p", Op::Start, &hosts[9..]).await;
    let command = agents[9].next_command().await;
    let before = rig.control.figures().statuses;
    for agent in &agents[..9] {
        agent.send(report(7, MANY)).await;
    }
    agents[9].send(report(77, 1)).await;
    agents[9].answer_ok(&command, None, None).await;
    // The recorder has the result: so its agent's status is applied, and most others are not.
    assert_eq!(pid(&rig.control, "10.0.0.10"), 77);
    let applied = rig.control.figures().statuses - before;
    assert!(applied <= 2 * MANY as u64, "{applied} were applied first");
    assert_eq!(rig.ended(task).await, [0]);
    let all = before + 9 * MANY as u64 + 1;
    until_async("every status is applied", || {
        rig.control.figures().statuses == all
    })
    .await;
}

#[tokio::test]
async fn the_last_statuses_of_a_session_are_applied() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    drop(rig.agent("10.0.0.1").await);
    let host: Host = "10.0.0.1".parse().unwrap();
    let agent = FakeAgent::connect(&rig.control, host, &patient_hello("10.0.0.1"));
    agent.send(report(7, 1)).await;
    agent.session.settle_last().await;
    drop(agent);
    assert_eq!(pid(&rig.control, "10.0.0.1"), 7);
}

#[tokio::test]
async fn statuses_of_a_replaced_connection_do_not_overwrite_newer_ones() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    drop(rig.agent("10.0.0.1").await);
    let host: Host = "10.0.0.1".parse().unwrap();
    let old = FakeAgent::connect(&rig.control, host, &patient_hello("10.0.0.1"));
    granted(&old).await;
    let before = rig.control.figures().statuses;
    old.send(report(7, 1)).await;
    // No task runs in between: the old status waits still.
    let new = FakeAgent::connect(&rig.control, host, &patient_hello("10.0.0.1"));
    granted(&new).await;
    new.send(report(8, 1)).await;
    new.session.settle_last().await;
    assert_eq!(pid(&rig.control, "10.0.0.1"), 8);
    assert_eq!(rig.control.figures().statuses - before, 1);
}

#[tokio::test]
async fn an_agent_that_does_not_wait_for_grants_gets_none() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let agent = rig.agent("10.0.0.1").await;
    agent.send(report(7, 1)).await;
    assert_eq!(pid(&rig.control, "10.0.0.1"), 7, "it is applied at once");
    agent.send(heartbeat()).await;
    assert_eq!(agent.receive(1, ack).await, [Ack::default()]);
    let more = tokio::time::timeout(Duration::from_millis(50), agent.session.next()).await;
    assert!(more.is_err(), "{more:?}");
}
