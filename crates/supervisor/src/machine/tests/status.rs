//! The status of a process: message, version, time of the last start.

use model::spec::AutoType;
use model::{Op, State, UnixMillis};

use super::super::Event;
use super::world::{Behaviour, World};
use super::{daemon, foreground, started, world};

fn message(world: &World) -> String {
    world.process.view().message.into_owned()
}

#[test]
fn the_message_during_the_start_check_is_about_the_attempt_under_way() {
    for behaviour in [daemon(), foreground()] {
        let mut world = started(behaviour);
        world.spec.monitor_policy.start_interval = 20;
        world.pass(1_000);
        world.kill_program();
        let waits = message(&world);
        assert!(waits.ends_with("; attempt 1 of 4, next in 20 s"), "{waits}");
        let crash = waits.split("; attempt ").next().unwrap().to_owned();
        world.pass(21_000);
        assert_eq!(world.process.view().state, State::Running);
        let checks = format!("attempt 1 of 4 is under way; before: {crash}");
        assert_eq!(message(&world), checks);
        world.pass(10_000);
        let after = format!("restarted by attempt 1; before: {crash}");
        assert_eq!(message(&world), after);
    }
}

#[test]
fn a_start_operation_clears_the_message() {
    let mut world = world(Behaviour::Fails { code: 1 });
    world.ask(1, Op::Start);
    world.pass(1_000);
    assert_ne!(message(&world), "");
    world.behaviour = daemon();
    world.ask(2, Op::Start);
    world.pass(1_000);
    assert_eq!(
        (world.process.view().state, message(&world).as_str()),
        (State::Running, "")
    );
}

#[test]
fn the_last_start_time_is_shown_while_down() {
    for behaviour in [daemon(), foreground()] {
        let mut world = started(behaviour);
        let began = world.process.view().started_at;
        assert_ne!(began, UnixMillis::NEVER);
        world.pass(30_000);
        world.ask(2, Op::Stop);
        world.pass(1_000);
        let view = world.process.view();
        assert_eq!((view.state, view.started_at), (State::Stopped, began));
        world.restart_agent();
        assert_eq!(world.process.view().started_at, began);
        world.ask(3, Op::Start);
        world.pass(10_000);
        assert!(world.process.view().started_at > began);
    }
}

#[test]
fn a_finished_one_shot_shows_its_start_time() {
    for (lives_ms, code) in [(10, 0), (10, 1), (60_000, 0)] {
        let mut world = world(Behaviour::Stays { lives_ms, code });
        world.spec.monitor_policy.auto_type = AutoType::OneShot;
        world.pass(5_000);
        world.ask(1, Op::Start);
        world.pass(100_000);
        let view = world.process.view();
        assert_eq!(view.state, State::Stopped, "{lives_ms} {code}");
        assert_ne!(view.started_at, UnixMillis::NEVER, "{lives_ms} {code}");
    }
}

#[test]
fn the_version_survives_a_restart_of_the_agent() {
    let mut world = started(daemon());
    world.drive(Event::VersionFound("1.2.3".into()));
    world.restart_agent();
    assert_eq!(world.process.version, "1.2.3");
}

#[test]
fn a_periodic_process_without_a_rule_runs_only_when_asked() {
    let mut world = world(Behaviour::Stays {
        lives_ms: 10,
        code: 0,
    });
    world.spec.monitor_policy.auto_type = AutoType::Periodic;
    world.ask(1, Op::Manage);
    world.pass(1_000_000);
    assert!(world.executed.is_empty());
    for round in 1..=2 {
        world.ask(1 + round, Op::Start);
        world.pass(1_000_000);
        assert_eq!(world.executed.len(), round as usize);
    }
}
