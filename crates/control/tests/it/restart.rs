//! What a restart of the server keeps.

use std::time::Duration;

use control::Mode;
use model::operation::CommandRun;
use model::{Code, FullName, Op, Outcome, State, Status, UnixMillis};
use wire::{ProcessStatus, Report};

use crate::rig::{Rig, full};

#[tokio::test]
async fn a_restart_keeps_processes_statuses_and_open_tasks() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1", "10.0.0.2"], "./a", Mode::Register)
        .await;
    let agent = rig.agent("10.0.0.1").await;
    let status = Status {
        state: State::Running,
        pid: 77,
        ..Default::default()
    };
    let report = Report {
        statuses: vec![ProcessStatus::new(&full("ns/p"), &status)],
    };
    agent.session.take(report.into()).await.unwrap();
    let task = rig
        .operate("ns/p", Op::Stop, &["10.0.0.1", "10.0.0.2"])
        .await;
    assert_eq!(rig.codes(task).await, [115, 117]);
    drop(agent);

    let rig = rig.restarted().await;
    assert_eq!(rig.codes(task).await, [115, 117]);
    {
        let fleet = rig.control.inspect_fleet();
        let host = fleet.host_id(&"10.0.0.1".parse().unwrap()).unwrap();
        let row = fleet
            .process(host, fleet.name_id(&full("ns/p")).unwrap())
            .unwrap();
        assert_eq!((row.state(), row.pid()), (State::Running, 77));
        assert!(
            row.message().starts_with("agent offline since"),
            "{}",
            row.message()
        );
    }
    // The open operation reaches the reconnected agent, and ends once.
    let agent = rig.connect("10.0.0.1".parse().unwrap(), 0);
    let command = agent.received_commands().await.remove(0);
    agent.answer_ok(&command, None, None).await;
    assert_eq!(rig.ended(task).await, [0, 117]);
    let rig = rig.restarted().await;
    assert_eq!(rig.codes(task).await, [0, 117]);
}

#[tokio::test]
async fn a_deadline_that_passed_while_the_server_was_down_still_ends_its_target() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let agent = rig.agent("10.0.0.1").await;
    let task = rig.operate("ns/p", Op::Start, &["10.0.0.1"]).await;
    drop(agent);
    rig.advance(Duration::from_secs(3600));
    let rig = rig.restarted().await;
    assert_eq!(rig.ended(task).await, [126]);
}

#[tokio::test]
async fn long_outputs_and_odd_texts_survive() {
    let rig = Rig::new().await;
    let name: FullName = full("命名空间/进程");
    rig.register(
        &name.to_string(),
        &["7:fe80::1"],
        "echo '\"quoted\"' \\",
        Mode::Register,
    )
    .await;
    let agent = rig.agent("7:fe80::1").await;
    let task = rig
        .operate(&name.to_string(), Op::Start, &["7:fe80::1"])
        .await;
    let command = agent.received_commands().await.remove(0);
    let output = "输出\u{0}\n".repeat(6000);
    let outcome = Outcome {
        ran: Some(CommandRun {
            command: "./a".into(),
            exit: None,
            duration_ms: 1,
            output: output.clone(),
        }),
        ..Outcome::plain(Code::COMMAND_FAILED, "失败", UnixMillis(9))
    };
    agent.answer(command.op.unwrap().into(), outcome).await;
    assert_eq!(rig.ended(task).await, [65_535]);
    let rig = rig.restarted().await;
    let view = rig
        .control
        .operations()
        .task(&rig.caller, task)
        .await
        .unwrap();
    let outcome = view.targets[0].outcome.as_ref().unwrap();
    assert_eq!(outcome.message, "失败");
    // Lines stay; unprintable characters are escaped.
    let shown = output.replace('\0', "\\u{0}");
    assert_eq!(outcome.ran.as_ref().unwrap().output, shown);
}

#[tokio::test]
async fn the_outcome_of_an_ended_target_does_not_change() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let task = rig.operate("ns/p", Op::Start, &["10.0.0.1"]).await;
    let subject = || async {
        let view = rig
            .control
            .operations()
            .task(&rig.caller, task)
            .await
            .unwrap();
        view.targets[0]
            .outcome
            .as_ref()
            .unwrap()
            .subject
            .clone()
            .unwrap()
    };
    let before = subject().await;
    assert_eq!(
        (before.proc_name.as_str(), before.setup_path.as_str()),
        ("p", "/s")
    );
    rig.control
        .registry()
        .unregister(&rig.caller, &full("ns/p"), crate::rig::asked(&["10.0.0.1"]))
        .await
        .unwrap();
    assert_eq!(subject().await, before);
}
