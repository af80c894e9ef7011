//! Changes of a host's processes that follow each other share frames, unless something needs them now.

use std::time::{Duration, Instant};

use control::Mode;
use futures_util::future::join_all;
use model::Op;
use testkit::FakeAgent;
use wire::DownKind;

use crate::rig::Rig;

/// Each connected agent adds 100 µs to the pause after a frame.
const N_AGENTS: usize = 1_000;
const PAUSE: Duration = Duration::from_millis(100);
const N_PROCESSES: usize = 20;

/// Connects agents that do nothing but lengthen the pause, and returns the one to look at.
async fn fleet(rig: &Rig) -> (FakeAgent, Vec<FakeAgent>) {
    let hosts = (1..N_AGENTS).map(|n| format!("10.1.{}.{}", n / 250, n % 250 + 1));
    // Enrolments that wait at the same moment share a commit.
    let others = join_all(hosts.map(async |host| rig.agent(&host).await)).await;
    (rig.agent("10.0.0.1").await, others)
}

fn names(kind: DownKind) -> Option<Vec<String>> {
    match kind {
        DownKind::Desired(desired) if desired.groups.is_empty() => {
            let names = desired.processes.into_iter();
            Some(names.map(|one| one.name.unwrap().name).collect())
        }
        _ => None,
    }
}

async fn register(rig: &Rig, name: &str) {
    let name = format!("ns/{name}");
    rig.register(&name, &["10.0.0.1"], "./a", Mode::Register)
        .await;
}

#[tokio::test]
async fn registrations_that_follow_each_other_share_frames() {
    let rig = Rig::new().await;
    let (agent, _others) = fleet(&rig).await;
    register(&rig, "p0").await;
    while agent.receive(1, names).await[0].is_empty() {}
    let began = Instant::now();
    let registering = async {
        for n in 1..=N_PROCESSES {
            register(&rig, &format!("p{n}")).await;
        }
    };
    let receiving = async {
        let (mut n_frames, mut seen) = (0, Vec::new());
        while seen.len() < N_PROCESSES {
            n_frames += 1;
            seen.extend(agent.receive(1, names).await.remove(0));
        }
        (n_frames, seen)
    };
    let ((), (n_frames, mut seen)) = tokio::join!(registering, receiving);
    let pauses = began.elapsed().as_millis() / PAUSE.as_millis();
    assert!(
        n_frames <= 1 + pauses,
        "{n_frames} frames in {pauses} pauses"
    );
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), N_PROCESSES);
}

#[tokio::test]
async fn an_operation_takes_waiting_registrations_along() {
    let rig = Rig::new().await;
    let (agent, _others) = fleet(&rig).await;
    register(&rig, "p0").await;
    while agent.receive(1, names).await[0].is_empty() {}
    register(&rig, "p1").await;
    rig.operate("ns/p1", Op::Start, &["10.0.0.1"]).await;
    let kinds = agent.receive(2, |kind| match kind {
        DownKind::Command(command) => Some(command.name.unwrap().name),
        kind => names(kind).map(|names| names.join(",")),
    });
    assert_eq!(kinds.await, ["p1", "p1"], "the spec, then the command");
}
