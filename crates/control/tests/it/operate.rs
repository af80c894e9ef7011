//! Operations: every target ends exactly once.

use std::time::Duration;

use control::{ControlError, Mode, Operate, OperateSpec};
use model::spec::Probe;
use model::{Code, Flag, Labels, Op, Outcome, UnixMillis};
use testkit::FakeAgent;
use testkit::fake_agent::op_of;

use crate::rig::{Rig, START, asked, full, hello, spec};

#[tokio::test]
async fn a_target_that_cannot_start_ends_at_once() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let task = rig
        .operate("ns/p", Op::Start, &["10.0.0.1", "10.0.0.2", "nonsense"])
        .await;
    assert_eq!(rig.codes(task).await, [117, 851, 1_000_400]);
    // Operations do not wait for a disconnected agent.
    let agent = rig.agent("10.0.0.1").await;
    assert!(agent.received_commands().await.is_empty());
}

#[tokio::test]
async fn an_operation_goes_out_and_its_result_comes_back() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let agent = rig.agent("10.0.0.1").await;
    let task = rig.operate("ns/p", Op::Start, &["10.0.0.1"]).await;
    assert_eq!(rig.codes(task).await, [115]);
    let commands = agent.received_commands().await;
    assert_eq!((commands.len(), commands[0].op_type), (1, 0));
    // op_timeout 60, start_check_secs 5, and 30 s of grace.
    assert_eq!(commands[0].deadline_ms, START + 95_000);
    agent
        .answer_ok(&commands[0], Some(Flag::Running), Some(true))
        .await;
    assert_eq!(rig.ended(task).await, [0]);
    assert_eq!(
        rig.flag_and_managed("ns/p", "10.0.0.1"),
        (Flag::Running, true)
    );
    let acked = agent.received().await;
    assert!(format!("{acked:?}").contains("Ack"), "{acked:?}");
}

#[tokio::test]
async fn an_agent_that_does_not_know_a_section_of_the_spec_gets_no_such_process() {
    let rig = Rig::new().await;
    let mut with_restart = spec("./a");
    with_restart.restart.delay = Some(1);
    let register = async |name: &str| {
        let spec = with_restart.clone();
        let answers = rig.register_spec(name, &["10.0.0.1"], spec, Mode::Update);
        answers.await.remove(0)
    };
    // Nothing is known about the agent yet.
    assert_eq!(register("ns/p").await.code, Code::OK);
    drop(rig.agent("10.0.0.1").await);
    let host = "10.0.0.1".parse().unwrap();
    let agent_with = |extensions: &[&str]| {
        let hello = wire::Hello {
            extensions: extensions.iter().map(|name| name.to_string()).collect(),
            ..hello(host, 0)
        };
        FakeAgent::connect(&rig.control, host, &hello)
    };
    let old = agent_with(&[]);
    let lacking = "the agent of 0:10.0.0.1 (1.2.3) does not know spec.restart: upgrade the agent, or remove spec.restart";
    for (op, code) in [(Op::Start, 65_535), (Op::Manage, 65_535), (Op::Stop, 115)] {
        let task = rig.operate("ns/p", op, &["10.0.0.1"]).await;
        assert_eq!(rig.codes(task).await, [code], "{op}");
    }
    let refused = register("ns/q").await;
    assert_eq!(refused.code, Code::COMMAND_FAILED);
    assert_eq!(refused.message, lacking);
    drop(old);
    let _new = agent_with(&["restart", "of a later version"]);
    assert_eq!(register("ns/q").await.code, Code::OK);
    let task = rig.operate("ns/p", Op::Start, &["10.0.0.1"]).await;
    assert_eq!(rig.codes(task).await, [115]);
}

#[tokio::test]
async fn an_open_operation_is_sent_again_and_a_repeated_result_counts_once() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let agent = rig.agent("10.0.0.1").await;
    let task = rig.operate("ns/p", Op::Start, &["10.0.0.1"]).await;
    let first = agent.received_commands().await.remove(0);
    drop(agent);
    let agent = rig.connect("10.0.0.1".parse().unwrap(), 0);
    let again = agent.received_commands().await.remove(0);
    assert_eq!(op_of(&first), op_of(&again));
    agent
        .answer_ok(&again, Some(Flag::Running), Some(true))
        .await;
    assert_eq!(rig.ended(task).await, [0]);
    agent
        .answer(
            op_of(&again),
            Outcome::plain(Code::COMMAND_FAILED, "late and other", UnixMillis(2)),
        )
        .await;
    // The second result is acknowledged and changes nothing.
    while !format!("{:?}", agent.received().await).contains("Ack") {}
    assert_eq!(rig.codes(task).await, [0]);
}

#[tokio::test]
async fn an_agent_cannot_end_targets_of_another_host() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1", "10.0.0.2"], "./a", Mode::Register)
        .await;
    let (one, two) = (rig.agent("10.0.0.1").await, rig.agent("10.0.0.2").await);
    let task = rig.operate("ns/p", Op::Start, &["10.0.0.1"]).await;
    let command = one.received_commands().await.remove(0);
    two.answer_ok(&command, None, None).await;
    while !format!("{:?}", two.received().await).contains("Ack") {}
    assert_eq!(rig.codes(task).await, [115]);
}

#[tokio::test]
async fn a_passed_deadline_is_126_and_a_late_result_replaces_it() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let agent = rig.agent("10.0.0.1").await;
    let task = rig.operate("ns/p", Op::Start, &["10.0.0.1"]).await;
    let command = agent.received_commands().await.remove(0);
    rig.advance(Duration::from_secs(96));
    assert_eq!(rig.ended(task).await, [126]);
    agent
        .answer_ok(&command, Some(Flag::Running), Some(true))
        .await;
    while !format!("{:?}", agent.received().await).contains("Ack") {}
    assert_eq!(rig.codes(task).await, [0]);
    assert_eq!(
        rig.flag_and_managed("ns/p", "10.0.0.1"),
        (Flag::Running, true)
    );
}

#[tokio::test]
async fn a_queued_operation_has_the_time_of_both() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let agent = rig.agent("10.0.0.1").await;
    rig.operate("ns/p", Op::Start, &["10.0.0.1"]).await;
    rig.operate("ns/p", Op::Stop, &["10.0.0.1"]).await;
    let commands = agent.received_commands().await;
    assert_eq!(
        commands.iter().map(|c| c.op_type).collect::<Vec<_>>(),
        [0, 1]
    );
    assert_eq!(commands[1].deadline_ms, START + 95_000 + 90_000);
}

#[tokio::test]
async fn an_inline_spec_is_stored_and_travels_before_its_command() {
    let rig = Rig::new().await;
    let agent = rig.agent("10.0.0.1").await;
    agent.received().await;
    let with = OperateSpec::Spec(Box::new(spec("./inline")), Labels::default());
    let task = rig
        .operate_with("ns/new", Op::Start, &["10.0.0.1", "10.0.0.2"], with)
        .await;
    assert_eq!(rig.codes(task).await, [115, 117]);
    let heard = format!("{:?}", agent.received().await);
    assert!(
        heard.find("Desired").unwrap() < heard.find("Command").unwrap(),
        "{heard}"
    );
    assert_eq!(rig.control.inspect_fleet().n_processes(), 2);
}

#[tokio::test]
async fn a_query_of_an_unregistered_process_stores_nothing() {
    let rig = Rig::new().await;
    let agent = rig.agent("10.0.0.1").await;
    let probe = Probe {
        proc_name: "sshd".into(),
        ..Default::default()
    };
    let task = rig
        .operate_with(
            "ns/x",
            Op::Query,
            &["10.0.0.1"],
            OperateSpec::Probe(probe.clone()),
        )
        .await;
    let command = agent.received_commands().await.remove(0);
    assert_eq!(
        serde_json::from_str::<Probe>(&command.probe_json).unwrap(),
        probe
    );
    assert_eq!(rig.codes(task).await, [115]);
    assert_eq!(rig.control.inspect_fleet().n_processes(), 0);
    let task = rig
        .operate_with(
            "ns/x",
            Op::Unmanage,
            &["10.0.0.1", "10.0.0.2"],
            OperateSpec::Probe(probe),
        )
        .await;
    assert_eq!(rig.codes(task).await, [0, 117]);
}

#[tokio::test]
async fn one_request_may_not_contain_two_operations_on_one_process() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let line = |op| Operate {
        name: full("ns/p"),
        op,
        with: OperateSpec::Registered,
        hosts: asked(&["10.0.0.1"]),
    };
    let error = rig
        .control
        .operations()
        .operate(&rig.caller, vec![line(Op::Stop), line(Op::Start)])
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ControlError::Invalid(e) if e.field == "proc_operate_req[1]"),
        "{error}"
    );
    let task = rig
        .control
        .operations()
        .operate(&rig.caller, vec![line(Op::Stop), line(Op::Stop)])
        .await
        .unwrap();
    assert_eq!(rig.codes(task).await.len(), 1);
    let error = rig
        .control
        .operations()
        .operate(&rig.caller, Vec::new())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("hosts"), "{error}");
}

#[tokio::test]
async fn thirty_thousand_targets_fit_one_request() {
    let rig = Rig::new().await;
    let hosts: Vec<String> = (0..30_000)
        .map(|n| format!("10.{}.{}.{}", n / 62_500, n / 250 % 250, n % 250))
        .collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    assert!(
        rig.register("ns/p", &hosts, "./a", Mode::Register)
            .await
            .iter()
            .all(|code| *code == 0)
    );
    let task = rig.operate("ns/p", Op::Start, &hosts).await;
    let codes = rig.codes(task).await;
    assert_eq!(
        (codes.len(), codes.iter().all(|code| *code == 117)),
        (30_000, true)
    );
}
