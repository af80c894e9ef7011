//! Registers, updates and unregisters processes.

use control::{ControlError, Mode};
use model::{Flag, Namespace, Op, State};
use wire::Hello;

use crate::rig::{Rig, asked, full, hello};

#[tokio::test]
async fn registering_is_idempotent_and_another_spec_is_refused() {
    let rig = Rig::new().await;
    assert_eq!(
        rig.register("ns/p", &["10.0.0.1", "10.0.0.2"], "./a", Mode::Register)
            .await,
        [0, 0]
    );
    assert_eq!(
        rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
            .await,
        [0]
    );
    assert_eq!(
        rig.register("ns/p", &["10.0.0.1", "10.0.0.3"], "./b", Mode::Register)
            .await,
        [850, 0]
    );
    let fleet = rig.control.inspect_fleet();
    let row = |host: &str| {
        let host = fleet.host_id(&host.parse().unwrap()).unwrap();
        fleet
            .process(host, fleet.name_id(&full("ns/p")).unwrap())
            .unwrap()
    };
    assert_eq!(row("10.0.0.1").definition().spec.control.start_cmd, "./a");
    assert_eq!(row("10.0.0.3").definition().spec.control.start_cmd, "./b");
    assert_eq!(
        (row("10.0.0.3").flag(), row("10.0.0.3").state()),
        (Flag::Stopped, State::Unknown)
    );
}

#[tokio::test]
async fn an_update_creates_or_replaces_and_drops_unused_definitions() {
    let rig = Rig::new().await;
    assert_eq!(
        rig.register("ns/p", &["10.0.0.1", "10.0.0.2"], "./a", Mode::Update)
            .await,
        [0, 0]
    );
    let first = rig.control.inspect_fleet().fresh_ids().definition();
    assert_eq!(
        rig.register("ns/p", &["10.0.0.1"], "./b", Mode::Update)
            .await,
        [0]
    );
    assert_eq!(
        rig.register("ns/p", &["10.0.0.2"], "./b", Mode::Update)
            .await,
        [0]
    );
    // No process uses ./a any more, so its id is free again.
    assert!(rig.control.inspect_fleet().fresh_ids().definition() < first);
    assert_eq!(rig.control.inspect_fleet().n_processes(), 2);
}

#[tokio::test]
async fn a_key_named_twice_is_one_key_and_a_bad_host_fails_alone() {
    let rig = Rig::new().await;
    let hosts = ["10.0.0.1", "10.0.0.1", "nonsense", "10.0.0.2"];
    assert_eq!(
        rig.register("ns/p", &hosts, "./a", Mode::Register).await,
        [0, 1_000_400, 0]
    );
}

#[tokio::test]
async fn a_host_with_two_keys_is_one_process() {
    let rig = Rig::new().await;
    let hosts = ["10.0.0.1", "0:10.0.0.1"];
    assert_eq!(
        rig.register("ns/p", &hosts, "./a", Mode::Register).await,
        [0, 0]
    );
    assert_eq!(rig.control.inspect_fleet().n_processes(), 1);
    let agent = rig.agent("10.0.0.1").await;
    let task = rig.operate("ns/p", Op::Start, &hosts).await;
    assert_eq!(agent.received_commands().await.len(), 1, "executed once");
    let rig = rig.restarted().await;
    let view = rig
        .control
        .operations()
        .task(&rig.caller, task)
        .await
        .unwrap();
    assert_eq!(
        view.targets[0]
            .key_prefixes
            .iter()
            .map(|p| &**p)
            .collect::<Vec<_>>(),
        hosts
    );
}

#[tokio::test]
async fn unregistering_is_idempotent() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1", "10.0.0.2"], "./a", Mode::Register)
        .await;
    for left in [1, 1] {
        let answers = rig
            .control
            .registry()
            .unregister(&rig.caller, &full("ns/p"), asked(&["10.0.0.1"]))
            .await
            .unwrap();
        assert_eq!(answers[0].code.0, 0);
        assert_eq!(rig.control.inspect_fleet().n_processes(), left);
    }
    let answers = rig
        .control
        .registry()
        .unregister(&rig.caller, &full("ns/unknown"), asked(&["10.9.9.9"]))
        .await
        .unwrap();
    assert_eq!(answers[0].code.0, 0);
    assert_eq!(
        rig.register("ns/p", &["10.0.0.1"], "./other", Mode::Register)
            .await,
        [0]
    );
}

#[tokio::test]
async fn a_namespace_without_permission_is_refused() {
    let rig = Rig::new().await;
    let caller = crate::access::operator_of("mine");
    let error = rig
        .control
        .registry()
        .unregister(&caller, &full("ns/p"), asked(&["10.0.0.1"]))
        .await
        .unwrap_err();
    assert!(matches!(error, ControlError::Forbidden(_)), "{error}");
    assert!(
        rig.control
            .registry()
            .unregister(&caller, &full("mine/p"), asked(&["10.0.0.1"]))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn an_outdated_agent_gets_everything_and_a_current_one_nothing() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let agent = rig.agent("10.0.0.1").await;
    let desired = agent.received_processes().await;
    assert_eq!(desired.len(), 1);
    assert!(desired[0].full && desired[0].last);
    let process = &desired[0].processes[0];
    assert_eq!(process.full_name().unwrap(), full("ns/p"));
    assert_eq!(process.spec().unwrap().control.start_cmd, "./a");

    let held = model::digest::held_digest(
        [(
            &full("ns/p"),
            process.incarnation,
            model::digest::definition_hash(&process.spec_json, &process.labels_json),
        )]
        .into_iter(),
    );
    let again = rig.connect("10.0.0.1".parse().unwrap(), held);
    assert!(again.received_processes().await.is_empty());
    // The older connection of the same host is ended.
    assert!(format!("{:?}", agent.received().await).contains("took its place"));
}

#[tokio::test]
async fn a_connected_agent_receives_single_changes() {
    let rig = Rig::new().await;
    let agent = rig.agent("10.0.0.1").await;
    agent.received().await;
    rig.register("ns/p", &["10.0.0.1", "10.0.0.2"], "./a", Mode::Register)
        .await;
    let desired = agent.received_desired().await;
    assert_eq!(
        (desired.len(), desired[0].full, desired[0].processes.len()),
        (1, false, 1)
    );
    rig.control
        .registry()
        .unregister(&rig.caller, &full("ns/p"), asked(&["10.0.0.1"]))
        .await
        .unwrap();
    let desired = agent.received_desired().await;
    assert_eq!(desired[0].forget[0].full_name().unwrap(), full("ns/p"));
}

#[tokio::test]
async fn an_agent_may_connect_only_for_the_host_of_its_certificate() {
    let rig = Rig::new().await;
    rig.agent("10.0.0.1").await;
    let certified = "10.0.0.1".parse().unwrap();
    let refused = rig
        .control
        .sessions()
        .attach(certified, &hello("10.0.0.2".parse().unwrap(), 0))
        .unwrap_err();
    assert!(
        refused.permanent
            && refused
                .reason
                .contains("certificate is for host 0:10.0.0.1"),
        "{refused}"
    );
    let stranger = "10.0.0.9".parse().unwrap();
    let refused = rig
        .control
        .sessions()
        .attach(stranger, &hello(stranger, 0))
        .unwrap_err();
    assert!(refused.reason.contains("not enrolled"), "{refused}");
    let future = Hello {
        oldest: 99,
        newest: 99,
        ..hello(certified, 0)
    };
    let past = Hello {
        oldest: 0,
        newest: 0,
        agent_version: "0.0.9".into(),
        ..hello(certified, 0)
    };
    for (hello, who, remedy) in [
        (future, "speaks 99 to 99, server ", "; upgrade the server"),
        (
            past,
            "agent 0.0.9 speaks 0 to 0, server ",
            "; upgrade the agent on its host, ",
        ),
    ] {
        let refused = rig
            .control
            .sessions()
            .attach(certified, &hello)
            .unwrap_err();
        let expected = ["no common protocol version: ", who, remedy];
        let says_all = expected.iter().all(|part| refused.reason.contains(part));
        assert!(says_all, "{refused}");
    }
}

#[tokio::test]
async fn process_groups_reach_the_agent_at_once_and_on_reconnect() {
    let rig = Rig::new().await;
    let agent = rig.agent("10.0.0.1").await;
    agent.received().await;
    let group = model::group::ProcessGroup {
        id: "pool".into(),
        resource: Default::default(),
    };
    let namespace = Namespace::parse("ns").unwrap();
    let hosts = asked(&["10.0.0.1"]);
    rig.control
        .registry()
        .set_groups(&rig.caller, &namespace, hosts, vec![group.clone()])
        .await
        .unwrap();
    let groups = |desired: Vec<wire::Desired>| desired[0].groups[0].groups().unwrap();
    assert_eq!(
        groups(agent.received_desired().await),
        (namespace.clone(), vec![group.clone()])
    );
    drop(agent);
    let again = rig.connect("10.0.0.1".parse().unwrap(), 0);
    assert_eq!(
        groups(again.received_desired().await),
        (namespace, vec![group])
    );
}

#[tokio::test]
async fn flags_that_an_agent_changed_are_recorded() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let agent = rig.agent("10.0.0.1").await;
    let status = model::Status {
        flag: Some(Flag::Running),
        managed: Some(true),
        ..Default::default()
    };
    let report = wire::Report {
        statuses: vec![wire::ProcessStatus::new(&full("ns/p"), &status)],
    };
    agent.session.take(report.into()).await.unwrap();
    while rig.flag_and_managed("ns/p", "10.0.0.1") != (Flag::Running, true) {
        tokio::task::yield_now().await;
    }
    let rig = rig.restarted().await;
    assert_eq!(
        rig.flag_and_managed("ns/p", "10.0.0.1"),
        (Flag::Running, true)
    );
}

#[tokio::test]
async fn an_old_result_does_not_overwrite_newer_flags() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let agent = rig.agent("10.0.0.1").await;
    let task = rig.operate("ns/p", model::Op::Start, &["10.0.0.1"]).await;
    let command = agent.received_commands().await.remove(0);
    // Started and ended while the agent was disconnected: the report with the current flags comes first.
    let status = model::Status {
        flag: Some(Flag::Stopped),
        managed: Some(true),
        ..Default::default()
    };
    let report = wire::Report {
        statuses: vec![wire::ProcessStatus::new(&full("ns/p"), &status)],
    };
    agent.session.take(report.into()).await.unwrap();
    agent
        .answer_ok(&command, Some(Flag::Running), Some(true))
        .await;
    assert_eq!(rig.ended(task).await, [0]);
    assert_eq!(
        rig.flag_and_managed("ns/p", "10.0.0.1"),
        (Flag::Stopped, true)
    );
}

#[tokio::test]
async fn the_last_of_two_statuses_counts() {
    let rig = Rig::new().await;
    rig.register("ns/p", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let agent = rig.agent("10.0.0.1").await;
    let before = rig.flag_and_managed("ns/p", "10.0.0.1");
    // The first is not recorded yet when the second arrives.
    for (flag, managed) in [(Flag::Running, true), before] {
        let status = model::Status {
            flag: Some(flag),
            managed: Some(managed),
            ..Default::default()
        };
        let report = wire::Report {
            statuses: vec![wire::ProcessStatus::new(&full("ns/p"), &status)],
        };
        agent.session.take(report.into()).await.unwrap();
    }
    // A server that stops in order records everything first.
    let rig = rig.restarted().await;
    assert_eq!(rig.flag_and_managed("ns/p", "10.0.0.1"), before);
}
