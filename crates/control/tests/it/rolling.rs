//! Canaries, gates and chosen orders of jobs over registered processes.

use std::time::Duration;

use control::{ControlError, Mode, Registration};
use model::job::{Gate, JobAction, JobId, JobOptions, JobStatus, TaskOrder};
use model::status::{Exit, LastExit};
use model::{Labels, ProcessState, State, Status, UnixMillis};
use testkit::fake_agent::FakeAgent;

use crate::jobs::{over, until_ended};
use crate::plain_jobs::{filter, job};
use crate::rig::{Rig, asked, full, spec};

const HOSTS: [&str; 3] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];

async fn fleet(rig: &Rig) -> Vec<FakeAgent> {
    rig.register("web/a", &HOSTS, "run a", Mode::Register).await;
    let mut agents = Vec::new();
    for host in HOSTS {
        agents.push(rig.agent(host).await);
    }
    agents
}

fn running(pid: i32, restarts: u32) -> Status {
    Status {
        state: State::Running,
        process_state: ProcessState::Running,
        pid,
        restarts,
        ..Status::default()
    }
}

fn options(gate: &str) -> JobOptions {
    JobOptions {
        batch_size: Some(1),
        canary: Some(1),
        max_failures: 2,
        gate: Some(Gate::parse(gate).unwrap()),
        ..JobOptions::default()
    }
}

/// Executes the next command, with a process that runs afterwards.
async fn starts(agent: &FakeAgent, pid: i32) {
    let command = agent.next_command().await;
    agent.reports("web/a", running(pid, 0)).await;
    agent.answer_ok(&command, None, None).await;
}

/// Waits until a task has entered the gate, and its process was seen up.
async fn until_seen_up(rig: &Rig, id: JobId, ordinal: usize) {
    let is_seen = async || {
        let view = rig.control.jobs().get(&rig.caller, id).await.unwrap();
        view.tasks[ordinal]
            .gate
            .is_some_and(|gate| gate.seen.is_some())
    };
    for _ in 0..2_000 {
        if is_seen().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the task does not enter the gate");
}

#[tokio::test]
async fn a_batch_begins_when_the_one_before_has_passed_the_gate() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let new = job(JobAction::Restart, filter("web"), options("ready:30s"));
    let (id, _) = rig.control.jobs().create(&rig.caller, new).await.unwrap();
    for (n, agent) in agents.iter().enumerate() {
        starts(agent, 100 + n as i32).await;
        until_seen_up(&rig, id, n).await;
        let view = rig.control.jobs().get(&rig.caller, id).await.unwrap();
        let running = view
            .tasks
            .iter()
            .filter(|task| task.status == JobStatus::Running);
        assert_eq!(running.count(), 1, "one at a time");
        rig.advance(Duration::from_secs(30));
    }
    let view = over(&rig, id).await;
    assert_eq!(view.count(JobStatus::Succeeded), 3, "{:?}", view.tasks);
    for pair in view.tasks.windows(2) {
        assert_eq!(pair[0].ended_at.plus_millis(30_000), pair[1].ended_at);
        assert_eq!(pair[0].gate, None);
    }
}

#[tokio::test]
async fn a_process_that_dies_at_the_gate_stops_the_job_at_its_canary() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let new = job(JobAction::Start, filter("web"), options("up:60s"));
    let (id, _) = rig.control.jobs().create(&rig.caller, new).await.unwrap();
    starts(&agents[0], 7).await;
    // Seen up first: what comes after is no status of before the operation.
    until_seen_up(&rig, id, 0).await;
    let died = Status {
        state: State::Stopped,
        process_state: ProcessState::Backoff,
        pid: -1,
        last_exit: Some(LastExit::new(Exit::Code(3), UnixMillis(5))),
        ..Status::default()
    };
    agents[0].reports("web/a", died).await;
    let view = over(&rig, id).await;
    let reason = &view.tasks[0].reason;
    assert_eq!(
        reason,
        "it did not stay up for 60 s: it is backoff: exited with code 3"
    );
    let blocked = &view.tasks[2].reason;
    assert!(
        blocked.contains("web/a on 0:10.0.0.1: it did not stay up"),
        "{blocked}"
    );
    assert_eq!(view.count(JobStatus::Failed), 3, "although two may fail");
    for agent in &agents[1..] {
        assert_eq!(agent.received_commands().await.len(), 0);
    }
}

#[tokio::test]
async fn tasks_follow_hosts_or_the_values_of_a_label() {
    let rig = Rig::new().await;
    let mut agents = Vec::new();
    for (name, host, zone) in [
        ("web/x", "10.0.0.9", Some("10")),
        ("web/y", "10.0.0.10", Some("9")),
        ("web/z", "10.0.0.2", None),
    ] {
        let labels = zone.map(|zone| Labels::default().with("zone", zone));
        let request = Registration {
            name: full(name),
            labels: labels.unwrap_or_default(),
            spec: spec("run"),
            hosts: asked(&[host]),
            suppliers: Default::default(),
            mode: Mode::Register,
            restores: None,
        };
        let registry = rig.control.registry();
        registry.register(&rig.caller, request).await.unwrap();
        agents.push(rig.agent(host).await);
    }
    for (order, expected) in [
        (TaskOrder::Host, ["web/z", "web/x", "web/y"]),
        (
            TaskOrder::Label("zone".to_owned()),
            ["web/y", "web/x", "web/z"],
        ),
    ] {
        let options = JobOptions {
            batch_size: Some(1),
            order: Some(order.clone()),
            ..JobOptions::default()
        };
        // A stop would go through priorities from high to low.
        let new = job(JobAction::Stop, filter("web"), options);
        let (id, _) = rig.control.jobs().create(&rig.caller, new).await.unwrap();
        for (n, name) in expected.into_iter().enumerate() {
            let agent = &agents["xyz".find(&name[4..]).unwrap()];
            let command = agent.next_command().await;
            agent.answer_ok(&command, None, None).await;
            until_ended(&rig, id, n + 1).await;
        }
        let view = over(&rig, id).await;
        let names: Vec<&str> = view
            .tasks
            .iter()
            .map(|task| task.label.bk_process_name.as_str())
            .collect();
        assert_eq!(names, expected, "{order}");
    }
}

#[tokio::test]
async fn a_gate_needs_an_action_after_which_processes_run() {
    let rig = Rig::new().await;
    fleet(&rig).await;
    for action in [JobAction::Stop, JobAction::ForceStop, JobAction::UnsetAuto] {
        let new = job(action, filter("web"), options("up:1s"));
        match rig.control.jobs().create(&rig.caller, new).await {
            Err(ControlError::Invalid(invalid)) => assert_eq!(invalid.field, "options.gate"),
            other => panic!("{other:?}"),
        }
    }
}
