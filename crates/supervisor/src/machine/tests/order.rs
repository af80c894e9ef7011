//! Starts that wait for other processes, stops that wait for dependents, restarts with a dependency.

use model::event::EventKind;
use model::spec::AutoType;
use model::{Code, Flag, Op, ProcessState};
use serde_json::{Value, json};

use super::world::World;
use super::{daemon, foreground, started, wanted, world};
use crate::machine::{DependencyRun, Dependents, Event, Phase, Role, Run, Unmet};

/// The state of the only dependency; none if it is met.
fn dependency_is(world: &mut World, state: Option<&str>) {
    let unmet = state.map(|now| Unmet {
        index: 0,
        now: now.to_owned(),
    });
    world.order.unmet = unmet.into_iter().collect();
    world.drive(Event::Tick);
}

fn after(world: &mut World, after: Value) {
    world.spec.after = serde_json::from_value(after).unwrap();
}

fn waiting() -> World {
    let mut world = world(daemon());
    after(&mut world, json!([{"process": "db/postgres"}]));
    dependency_is(&mut world, Some("stopped"));
    world.ask(1, Op::Start);
    world
}

fn is_starting(world: &World) -> bool {
    world.process.view().process_state == ProcessState::Starting
}

#[test]
fn a_start_waits_until_its_dependency_is_met() {
    let mut world = waiting();
    world.pass(20_000);
    assert!(world.executed.is_empty() && is_starting(&world));
    let message = world.process.view().message.into_owned();
    assert!(
        message.starts_with("waits for db/postgres to be ready on this host (stopped) since "),
        "{message}"
    );
    dependency_is(&mut world, None);
    world.pass(10_000);
    assert_eq!(world.executed, [Role::Start]);
    assert_eq!(world.last().code, Code::OK);
    assert_eq!(world.process.message, "");
}

#[test]
fn a_start_that_waited_has_its_whole_time() {
    let mut world = waiting();
    world.behaviour = super::Behaviour::Daemon {
        late_ms: 40_000,
        lives_ms: super::FOR_EVER,
    };
    world.pass(50_000);
    dependency_is(&mut world, None);
    world.pass(50_000);
    assert_eq!(world.last().code, Code::OK, "{:?}", world.last());
}

#[test]
fn a_start_that_waits_too_long_fails_and_starts_nothing() {
    let mut world = waiting();
    world.pass(61_000);
    assert_eq!(world.last().code, Code::COMMAND_FAILED);
    let message = &world.last().message;
    assert!(
        message.starts_with(
            "nothing was started within 60 s (op_timeout): waits for db/postgres to be ready on this host"
        ),
        "{message}"
    );
    assert!(world.executed.is_empty());
    // It was not managed before, so it does not go on.
    assert_eq!(world.process.view().process_state, ProcessState::Failed);
    dependency_is(&mut world, None);
    world.pass(100_000);
    assert!(world.executed.is_empty());
}

#[test]
fn a_managed_process_goes_on_waiting_after_its_start_has_failed() {
    let mut world = waiting();
    world.process.managed = true;
    world.pass(61_000);
    assert_eq!(world.last().code, Code::COMMAND_FAILED);
    assert_eq!(wanted(&world), (Flag::Running, true));
    assert!(is_starting(&world), "{:?}", world.process);
    world.pass(1_000_000);
    assert!(world.executed.is_empty() && is_starting(&world));
    dependency_is(&mut world, None);
    world.pass(10_000);
    assert!(world.program().is_some());
}

#[test]
fn patience_starts_it_all_the_same_and_says_so() {
    let mut world = world(daemon());
    after(
        &mut world,
        json!([{"process": "db/postgres", "patience": 30}]),
    );
    dependency_is(&mut world, Some("backoff"));
    world.ask(1, Op::Start);
    world.pass(29_000);
    assert!(world.executed.is_empty());
    world.restart_agent();
    world.pass(11_000);
    assert_eq!(world.executed, [Role::Start]);
    let said = "started without waiting any longer for db/postgres to be ready on this host: 30 s (patience) are over";
    assert_eq!(
        (world.last().code, world.last().warning.as_str()),
        (Code::OK, said)
    );
    assert_eq!(world.process.message, said);
}

#[test]
fn a_wait_survives_the_agent_and_a_reboot() {
    let mut world = waiting();
    world.restart_agent();
    assert!(is_starting(&world));
    world.pass(1_000);
    assert!(world.executed.is_empty());
    dependency_is(&mut world, None);
    world.pass(10_000);
    assert_eq!(world.last().code, Code::OK);

    world.order.unmet = vec![Unmet {
        index: 0,
        now: "unknown".into(),
    }];
    world.reboot();
    world.pass(1_000_000);
    assert_eq!(world.executed.len(), 1, "only the start before the reboot");
    assert!(is_starting(&world), "{:?}", world.process);
    dependency_is(&mut world, None);
    world.pass(10_000);
    assert!(world.program().is_some());
}

#[test]
fn an_attempt_after_a_crash_waits_as_well() {
    let mut world = waiting();
    dependency_is(&mut world, None);
    world.pass(100_000);
    dependency_is(&mut world, Some("failed"));
    world.kill_program();
    world.pass(1_000_000);
    assert_eq!(world.executed.len(), 1);
    let message = world.process.view().message.into_owned();
    assert!(
        message.contains("(failed)") && message.contains("; before: killed by signal 9"),
        "{message}"
    );
    dependency_is(&mut world, None);
    world.pass(10_000);
    assert!(world.program().is_some());
    assert!(world.process.message.starts_with("restarted by attempt 1"));
}

#[test]
fn a_stop_ends_a_start_that_waits() {
    for (op, code) in [(Op::Stop, 829), (Op::Kill, 829)] {
        let mut world = waiting();
        world.ask(2, op);
        world.pass(100);
        let codes: Vec<i32> = world.ends.iter().map(|end| end.code.0).collect();
        assert_eq!(codes, [126, code]);
        assert!(
            world.ends[0]
                .message
                .starts_with(&format!("ended by a later {op} while it waited: waits for"))
        );
        assert_eq!(wanted(&world), (Flag::Stopped, false));
    }
    let mut world = waiting();
    world.drive(Event::Forget);
    assert!(world.forgotten && world.ends.len() == 1);
}

#[test]
fn a_restart_waits_before_it_stops_anything_and_again_before_it_starts() {
    let mut world = started(daemon());
    after(&mut world, json!([{"process": "db/postgres"}]));
    dependency_is(&mut world, Some("starting"));
    world.ask(2, Op::Restart);
    world.pass(10_000);
    assert!(world.program().is_some() && world.signals == 0);
    dependency_is(&mut world, None);
    world.pass(10_000);
    assert_eq!(world.last().code, Code::OK);
    assert_eq!(world.executed.len(), 2);

    dependency_is(&mut world, Some("starting"));
    world.ask(3, Op::Restart);
    world.pass(61_000);
    assert_eq!(world.last().code, Code::COMMAND_FAILED);
    assert!(
        world
            .last()
            .message
            .starts_with("it was not restarted within 60 s")
    );
    assert!(world.program().is_some(), "it runs on");
}

#[test]
fn a_scheduled_run_waits() {
    let mut world = started(daemon());
    world.spec.monitor_policy.auto_type = AutoType::Periodic;
    world.kill_program();
    world.pass(1_000);
    after(&mut world, json!([{"process": "db/postgres"}]));
    dependency_is(&mut world, Some("stopped"));
    world.drive(Event::Scheduled("12:00".into()));
    world.pass(100_000);
    assert_eq!(world.executed.len(), 1);
    dependency_is(&mut world, None);
    world.pass(10_000);
    assert_eq!(world.executed.len(), 2);
}

#[test]
fn what_was_started_by_hand_meanwhile_is_adopted() {
    let mut world = waiting();
    world.process.managed = true;
    world.pass(61_000);
    world.start_by_hand();
    dependency_is(&mut world, None);
    world.pass(1_000);
    assert!(world.executed.is_empty() && world.most_programs == 1);
    assert!(matches!(world.process.phase, Phase::Up { .. }));
}

#[test]
fn a_stop_waits_for_dependents_that_are_being_stopped() {
    let mut world = started(daemon());
    world.order.dependents = Dependents::Running;
    world.ask(2, Op::Stop);
    world.pass(300);
    assert_eq!(world.signals, 0, "their stops may still arrive");
    world.order.dependents = Dependents::Stopping("shop/web".into());
    world.pass(20_000);
    assert_eq!(world.signals, 0);
    assert_eq!(world.process.message, "waits for shop/web to stop first");
    world.order.dependents = Dependents::None;
    world.drive(Event::Tick);
    world.pass(1_000);
    assert_eq!((world.signals, world.last().code), (1, Code::OK));
    assert_eq!(world.process.message, "");
}

#[test]
fn a_stop_waits_for_dependents_no_longer_than_its_time() {
    for dependents in [Dependents::Running, Dependents::Stopping("shop/web".into())] {
        let wait_ms = match dependents {
            Dependents::Stopping(_) => 60_000,
            _ => 500,
        };
        let mut world = started(daemon());
        world.order.dependents = dependents;
        world.ask(2, Op::Stop);
        world.pass(wait_ms - 100);
        assert_eq!(world.signals, 0);
        world.pass(1_000);
        assert_eq!((world.signals, world.last().code), (1, Code::OK));
    }
    // A kill waits for nothing, and ends the waiting of a stop.
    let mut world = started(daemon());
    world.order.dependents = Dependents::Stopping("shop/web".into());
    world.ask(2, Op::Stop);
    world.ask(3, Op::Kill);
    world.pass(1_000);
    assert!(world.program().is_none());
}

fn dependency_run(pid: i32) -> DependencyRun {
    DependencyRun {
        process: "db/postgres".parse().unwrap(),
        run: Run { pid, start: 1 },
    }
}

#[test]
fn a_dependency_that_was_restarted_restarts_a_managed_dependent() {
    for behaviour in [daemon(), foreground()] {
        let mut world = started(behaviour);
        after(
            &mut world,
            json!([{"process": "db/postgres", "restart": true}]),
        );
        let before = world.program();
        world.drive(Event::DependencyRestarted(dependency_run(7)));
        world.restart_agent();
        world.pass(10_000);
        assert_ne!(world.program(), before);
        assert!(world.program().is_some() && world.most_programs == 1);
        let said = "restarted because db/postgres was restarted";
        assert_eq!(world.process.message, said);
        let last = world.emitted.last().unwrap();
        assert_eq!(
            (last.kind, last.reason.as_str()),
            (EventKind::ProcessRestartSuccess, said)
        );
        assert_eq!(world.process.restarts, 1);

        world.ask(2, Op::Unmanage);
        let before = world.program();
        world.drive(Event::DependencyRestarted(dependency_run(8)));
        world.pass(10_000);
        assert_eq!(world.program(), before, "it is not managed");
    }
}

#[test]
fn a_dependent_that_does_not_stop_is_killed_and_restarted() {
    let mut world = world(daemon());
    world.ignores_term = true;
    world.ask(1, Op::Start);
    world.pass(10_000);
    world.drive(Event::DependencyRestarted(dependency_run(7)));
    world.pass(200_000);
    assert!(world.program().is_some() && world.most_programs == 1);
    assert!(!world.killed.is_empty());
}
