//! `spec.after`: cycles are refused, and agents are told about other hosts.

use control::{ControlError, Mode, Operate, OperateSpec, Registration};
use model::spec::Dependency;
use model::{Labels, Op, ProcessState, Spec, State, Status, UnixMillis};
use serde_json::{Value, json};
use testkit::FakeAgent;
use wire::{DependencyState, DownKind};

use crate::rig::{Rig, asked, full, spec};

fn ordered(after: Value) -> Spec {
    let mut spec = spec("./run");
    spec.after = serde_json::from_value::<Vec<Dependency>>(after).unwrap();
    spec
}

fn after(names: &[&str]) -> Spec {
    let after: Vec<Value> = names.iter().map(|name| json!({"process": name})).collect();
    ordered(after.into())
}

async fn register(rig: &Rig, name: &str, spec: Spec, mode: Mode) -> Result<(), String> {
    let request = Registration {
        name: full(name),
        labels: Labels::default(),
        spec,
        hosts: asked(&["10.0.0.1"]),
        suppliers: Default::default(),
        mode,
        restores: None,
    };
    let registered = rig.control.registry().register(&rig.caller, request).await;
    match registered {
        Ok(_) => Ok(()),
        Err(ControlError::Invalid(invalid)) => {
            assert_eq!(invalid.field, "spec.after");
            Err(invalid.rule)
        }
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_cycle_is_refused_with_its_names_and_changes_nothing() {
    let rig = Rig::new().await;
    let refused = |cycle: &str| {
        Err(format!(
            "makes a cycle, in which no process could start: {cycle}; leave one of these dependencies out"
        ))
    };
    assert_eq!(
        register(&rig, "n/a", after(&["n/a"]), Mode::Register).await,
        refused("n/a → n/a")
    );
    for (name, needs) in [("n/a", "n/b"), ("n/b", "n/c")] {
        register(&rig, name, after(&[needs]), Mode::Register)
            .await
            .unwrap();
    }
    let head = rig.control.inspect_fleet().revision();
    assert_eq!(
        register(&rig, "n/b", after(&["n/a"]), Mode::Update).await,
        refused("n/b → n/a → n/b")
    );
    assert_eq!(
        register(&rig, "n/c", after(&["n/x", "n/a"]), Mode::Register).await,
        refused("n/c → n/a → n/b → n/c")
    );
    assert_eq!(rig.control.inspect_fleet().revision(), head);
    // An operation that brings its spec registers it.
    let operate = Operate {
        name: full("n/c"),
        op: Op::Start,
        with: OperateSpec::Spec(Box::new(after(&["n/b"])), Labels::default()),
        hosts: asked(&["10.0.0.1"]),
    };
    let operations = rig.control.operations();
    let refusal = operations.operate(&rig.caller, vec![operate]).await;
    assert!(
        matches!(refusal, Err(ControlError::Invalid(invalid)) if invalid.rule.contains("n/c → n/b → n/c"))
    );
    // Without the definition that it replaces there is no cycle any more.
    register(&rig, "n/a", after(&[]), Mode::Update)
        .await
        .unwrap();
    register(&rig, "n/c", after(&["n/a"]), Mode::Register)
        .await
        .unwrap();
}

#[tokio::test]
async fn of_two_registrations_that_make_a_cycle_together_one_is_refused() {
    let (one, two) = Rig::pair().await;
    let (spec_a, spec_b) = (after(&["n/b"]), after(&["n/a"]));
    let (a, b) = tokio::join!(
        register(&one, "n/a", spec_a, Mode::Register),
        register(&two, "n/b", spec_b, Mode::Register)
    );
    assert_eq!([a, b].iter().filter(|answer| answer.is_ok()).count(), 1);
}

async fn told(agent: &FakeAgent) -> Vec<DependencyState> {
    let states = |kind| match kind {
        DownKind::Dependencies(dependencies) => Some(dependencies.states),
        _ => None,
    };
    agent.receive(1, states).await.remove(0)
}

fn reported(process_state: ProcessState) -> Status {
    Status {
        state: match process_state {
            ProcessState::Running => State::Running,
            _ => State::Stopped,
        },
        process_state,
        reported_at: UnixMillis(1),
        ..Status::default()
    }
}

#[tokio::test]
async fn agents_are_told_what_dependencies_on_other_hosts_have_come_to() {
    let rig = Rig::new().await;
    let web = rig.agent("10.0.0.9").await;
    let (one, two) = (rig.agent("10.0.0.1").await, rig.agent("10.0.0.2").await);
    let needs = ordered(json!([
        {"process": "db/pg", "where": "any"},
        {"process": "db/other"},
        {"process": "db/sync", "when": "exited_ok", "where": "all"},
    ]));
    rig.register_spec("shop/web", &["10.0.0.9"], needs, Mode::Register)
        .await;
    let words = |states: Vec<DependencyState>| -> Vec<String> {
        let one = |state: &DependencyState| {
            let (name, when, place) = state.dependency().unwrap();
            let (when, place) = (when.as_str(), place.as_str());
            format!("{name} {when} {place}: {} {}", state.is_met, state.unmet)
        };
        states.iter().map(one).collect()
    };
    assert_eq!(
        words(told(&web).await),
        [
            "db/pg ready any: false registered on no host",
            "db/sync exited_ok all: false registered on no host"
        ]
    );
    let dbs = ["10.0.0.1", "10.0.0.2"];
    rig.register("db/pg", &dbs, "./pg", Mode::Register).await;
    rig.register("db/sync", &dbs, "./sync", Mode::Register)
        .await;
    let none = [
        "db/pg ready any: false 0 of 2 hosts",
        "db/sync exited_ok all: false 0 of 2 hosts",
    ];
    // The first registration may be told alone.
    while words(told(&web).await) != none {}
    one.reports("db/pg", reported(ProcessState::Running)).await;
    one.reports("db/sync", reported(ProcessState::Completed))
        .await;
    let some = [
        "db/pg ready any: true ",
        "db/sync exited_ok all: false 1 of 2 hosts",
    ];
    while words(told(&web).await) != some {}
    two.reports("db/sync", reported(ProcessState::Completed))
        .await;
    assert_eq!(words(told(&web).await)[1], "db/sync exited_ok all: true ");
    // A process whose agent is away does not count.
    drop(one);
    let gone = [
        "db/pg ready any: false 0 of 2 hosts",
        "db/sync exited_ok all: false 1 of 2 hosts",
    ];
    while words(told(&web).await) != gone {}
    // A new connection is told again, although nothing has changed.
    drop(web);
    let web = rig.connect("10.0.0.9".parse().unwrap(), 0);
    assert_eq!(words(told(&web).await), gone);
    let others: Vec<DownKind> = two.received().await;
    let is_told = |kind: &DownKind| matches!(kind, DownKind::Dependencies(_));
    assert!(!others.iter().any(is_told), "it has no such process");
}
