//! `spec.restart` on a fake host.

use model::Op;
use model::event::EventKind;
use model::spec::Restart;
use model::spec::restart::GiveUp;

use super::world;
use super::world::{Behaviour, World};
use crate::machine::Phase;

/// A program that crashes soon after each start.
fn crashing(restart: Restart) -> World {
    let mut world = world(Behaviour::Stays {
        lives_ms: 6_000,
        code: 1,
    });
    world.spec.restart = restart.into();
    world.ask(1, Op::Start);
    world
}

/// The length of the next waits, in milliseconds.
fn next_waits(world: &mut World, n_waits: usize) -> Vec<u64> {
    let mut waits = Vec::new();
    let mut last = None;
    while waits.len() < n_waits {
        if let Phase::Backoff { until_boot_ms, .. } = world.process.phase
            && last != Some(until_boot_ms)
        {
            waits.push(until_boot_ms - world.now);
            last = Some(until_boot_ms);
        }
        if waits.len() < n_waits {
            world.pass(1);
        }
    }
    waits
}

#[test]
fn waits_grow_between_attempts_and_the_agent_never_gives_up() {
    let mut world = crashing(Restart {
        delay: Some(1),
        factor: Some(2.0),
        delay_max: Some(20),
        jitter: Some(0),
        give_up: Some(GiveUp::Never),
        ..Restart::default()
    });
    let waits = next_waits(&mut world, 8);
    let expected = [1000, 2000, 4000, 8000, 16_000, 20_000, 20_000, 20_000];
    assert_eq!(waits, expected);
    let said = &world.process.message;
    assert_eq!(
        said,
        "exited with code 1 after 6 s; attempt 8, next in 20 s"
    );
    let gave_up = |kind| kind == EventKind::ProcessCancelRestart;
    assert!(!world.emitted.iter().any(|event| gave_up(event.kind)));
    assert_eq!(world.most_programs, 1);
}

#[test]
fn the_agent_gives_up_after_the_named_number_of_attempts() {
    let mut world = crashing(Restart {
        delay: Some(1),
        jitter: Some(0),
        give_up: Some(GiveUp::After(2)),
        ..Restart::default()
    });
    world.pass(100_000);
    let said = &world.process.message;
    assert!(said.starts_with("gave up after 2 attempts in "), "{said}");
    assert_eq!(world.executed.len(), 3);
}

#[test]
fn a_run_that_lasts_begins_the_waits_anew_and_is_followed_at_once() {
    let mut world = crashing(Restart {
        delay: Some(1),
        jitter: Some(0),
        reset: Some(30),
        ..Restart::default()
    });
    assert_eq!(next_waits(&mut world, 2), [1000, 2000]);
    world.behaviour = Behaviour::Stays {
        lives_ms: 30_000,
        code: 1,
    };
    world.pass(2_000 + 30_000);
    assert!(matches!(world.process.phase, Phase::Working(_)), "at once");
    assert_eq!(world.process.attempts.count, 1);
}
