//! `spec.schedule` on a fake host.

use model::spec::AutoType;
use model::spec::schedule::Overlap;
use model::{Op, UnixMillis};

use super::world;
use super::world::{Behaviour, World};
use crate::machine::{Event, Phase};

/// A periodic program whose run goes on for a minute.
fn running(overlap: Overlap) -> World {
    let mut world = world(Behaviour::Stays {
        lives_ms: 60_000,
        code: 0,
    });
    world.spec.monitor_policy.auto_type = AutoType::Periodic;
    world.spec.monitor_policy.crontab_rule = "* * * * *".into();
    world.spec.schedule.overlap = overlap;
    world.ask(1, Op::Manage);
    world.drive(Event::Scheduled("noon".into()));
    world.pass(10_000);
    assert!(matches!(world.process.phase, Phase::Up { .. }));
    world
}

#[test]
fn a_run_that_is_due_while_one_goes_on_is_skipped_or_waits() {
    for (overlap, n_runs, said) in [
        (
            Overlap::Skip,
            1,
            "was skipped: the one before it still goes on",
        ),
        (Overlap::Wait, 2, "waits for the end of the one before it"),
    ] {
        let mut world = running(overlap);
        world.drive(Event::Scheduled("one".into()));
        world.drive(Event::Scheduled("two".into()));
        let message = &world.process.message;
        assert_eq!(*message, format!("the run due at two {said}"));
        assert_eq!(world.executed.len(), 1);
        world.pass(110_000);
        assert_eq!(world.executed.len(), n_runs, "{overlap:?}");
        world.pass(500_000);
        assert_eq!(world.executed.len(), n_runs, "one at most waits");
        assert_eq!(world.most_programs, 1);
    }
}

#[test]
fn a_run_that_goes_on_is_killed_for_the_next() {
    let mut world = running(Overlap::Kill);
    let first = world.program();
    world.drive(Event::Scheduled("one".into()));
    world.pass(5_000);
    assert_ne!(world.program(), first);
    assert_eq!((world.executed.len(), world.killed.len()), (2, 1));
    let reason = "killed: the next run was due at one";
    assert_eq!(world.emitted[0].reason, reason);
    assert_eq!(world.most_programs, 1);
}

#[test]
fn a_waiting_run_survives_the_agent_and_not_a_stop() {
    let mut world = running(Overlap::Wait);
    world.drive(Event::Scheduled("one".into()));
    world.restart_agent();
    world.pass(70_000);
    assert_eq!(world.executed.len(), 2);

    let mut world = running(Overlap::Wait);
    world.drive(Event::Scheduled("one".into()));
    world.ask(2, Op::Stop);
    world.pass(200_000);
    assert_eq!((world.executed.len(), world.program()), (1, None));
}

#[test]
fn the_machine_knows_until_when_its_schedule_was_followed() {
    let mut world = running(Overlap::Skip);
    let seen = world.process.schedule_seen;
    assert_ne!(seen, UnixMillis::NEVER);
    world.pass(120_000);
    assert_eq!(world.process.schedule_seen, seen);
    world.drive(Event::Scheduled("one".into()));
    assert!(world.process.schedule_seen > seen);
    world.ask(2, Op::Stop);
    world.pass(1_000);
    assert_eq!(world.process.schedule_seen, UnixMillis::NEVER);
}
