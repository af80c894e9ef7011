//! Health, limits, schedules and drift on a fake host.

use model::event::EventKind;
use model::spec::{AutoType, ConfigFile};
use model::{Flag, Op, State};

use super::world::{Behaviour, World};
use super::{daemon, foreground, started, wanted, world};
use crate::machine::{ConfigFileDigest, Event, Phase, Role};

fn kinds(world: &World) -> Vec<EventKind> {
    world.emitted.iter().map(|event| event.kind).collect()
}

fn fails(world: &mut World, times: usize) {
    for _ in 0..times {
        let why = "exited with code 1: no answer".to_owned();
        world.drive(Event::HealthChecked(Err(why)));
    }
}

const UNHEALTHY: &str =
    "unhealthy: health_cmd failed 3 times in a row: exited with code 1: no answer";

#[test]
fn an_unhealthy_process_that_is_managed_is_stopped_and_started_again() {
    for behaviour in [daemon(), foreground()] {
        let mut world = started(behaviour);
        world.pass(30_000);
        let pid = world.program();
        fails(&mut world, 2);
        assert_eq!(world.program(), pid);
        fails(&mut world, 1);
        assert_eq!((world.signals, world.emitted.len()), (1, 1), "told to go");
        world.pass(10_000);
        assert_ne!(world.program(), pid);
        assert_eq!(world.process.view().state, State::Running);
        let message = format!("restarted by attempt 1; before: {UNHEALTHY}");
        assert_eq!(world.process.message, message);
        let expected = [
            EventKind::ProcessUnhealthy,
            EventKind::ProcessRestartSuccess,
        ];
        assert_eq!(kinds(&world), expected);
        assert_eq!(world.most_programs, 1);
    }
}

#[test]
fn an_unmanaged_process_is_only_shown_as_unhealthy() {
    let mut world = started(daemon());
    world.ask(2, Op::Unmanage);
    let pid = world.program();
    fails(&mut world, 5);
    world.pass(10_000);
    assert_eq!((world.program(), world.signals), (pid, 0));
    let said = world.process.view().message.into_owned();
    assert!(
        said.starts_with("unhealthy: health_cmd failed 3 times"),
        "{said}"
    );
    assert_eq!(kinds(&world), [EventKind::ProcessUnhealthy], "told once");
    world.drive(Event::HealthChecked(Ok(())));
    assert_eq!(world.process.view().message, "");
    assert_eq!(world.process.health(), "healthy");
}

#[test]
fn an_unhealthy_process_that_does_not_stop_is_killed() {
    let mut world = world(daemon());
    world.ignores_term = true;
    world.ask(1, Op::Start);
    world.pass(70_000);
    let pid = world.program();
    fails(&mut world, 3);
    world.pass(59_000);
    assert_eq!(world.program(), pid);
    world.pass(10_000);
    assert_ne!(world.program(), pid);
    assert_eq!(world.process.view().state, State::Running);
}

#[test]
fn a_process_that_never_becomes_healthy_is_given_up() {
    let mut world = started(daemon());
    for _ in 0..5 {
        world.pass(90_000);
        fails(&mut world, 3);
        world.pass(20_000);
    }
    assert_eq!(world.process.phase, Phase::Down);
    let last = world.emitted.last().unwrap();
    assert_eq!(last.kind, EventKind::ProcessCancelRestart);
    assert!(last.reason.contains(UNHEALTHY), "{}", last.reason);
}

#[test]
fn an_operation_takes_over_the_stop_of_an_unhealthy_process() {
    for stop_cmd in ["", "stop"] {
        let mut world = started(daemon());
        world.spec.control.stop_cmd = stop_cmd.into();
        fails(&mut world, 3);
        world.ask(2, Op::Stop);
        world.pass(100_000);
        assert_eq!(world.last().id.ordinal, 2, "{stop_cmd:?}");
        assert_eq!(wanted(&world), (Flag::Stopped, false), "{stop_cmd:?}");
        assert_eq!(world.program(), None, "{stop_cmd:?}");
    }
}

fn sentence(world: &mut World) {
    let sentence = "killed: memory 12.4 % over its limit 10 % for 15 s".to_owned();
    let kind = EventKind::ProcessResourceLimitExceed;
    world.drive(Event::OverLimit(kind, sentence));
}

#[test]
fn a_kill_for_a_limit_counts_as_a_crash() {
    let mut world = started(foreground());
    world.pass(30_000);
    let pid = world.program();
    sentence(&mut world);
    world.pass(2_000);
    assert!(world.program().is_some() && world.program() != pid);
    assert_eq!(kinds(&world)[0], EventKind::ProcessResourceLimitExceed);
    let killed_by = "killed: memory 12.4 % over its limit 10 % for 15 s";
    let message = &world.process.message;
    assert!(message.ends_with(killed_by), "{message}");
    assert!(
        !kinds(&world).contains(&EventKind::ProcessExit),
        "told once"
    );
    // Repeated kills: the agent gives up as for any process that does not stay up.
    for _ in 0..4 {
        world.pass(11_000);
        sentence(&mut world);
    }
    world.pass(100_000);
    assert_eq!(world.process.phase, Phase::Down);
}

#[test]
fn an_unmanaged_process_is_not_killed_for_a_limit() {
    let mut world = started(daemon());
    world.ask(2, Op::Unmanage);
    sentence(&mut world);
    assert!(world.program().is_some() && world.emitted.is_empty());
}

#[test]
fn a_refused_kill_is_one_event_and_shown() {
    let mut world = started(daemon());
    world.refuses = Some("no right".into());
    let pid = world.program();
    sentence(&mut world);
    sentence(&mut world);
    assert_eq!((world.program(), world.emitted.len()), (pid, 1));
    let said = "over its limit, and not killed: no right";
    assert_eq!(world.process.view().message, said);
}

#[test]
fn a_kill_for_a_limit_survives_a_restart_of_the_agent() {
    let mut world = started(daemon());
    world.pass(30_000);
    let pid = world.program();
    world.dies_after = Some(0);
    sentence(&mut world);
    world.pass(10_000);
    assert_ne!(world.program(), pid);
    assert_eq!(kinds(&world)[0], EventKind::ProcessResourceLimitExceed);
}

fn periodic(behaviour: Behaviour) -> World {
    let mut world = world(behaviour);
    world.spec.monitor_policy.auto_type = AutoType::Periodic;
    world.spec.monitor_policy.crontab_rule = "* * * * *".into();
    world.ask(1, Op::Manage);
    assert!(world.executed.is_empty(), "its time has not come");
    world
}

fn rings(world: &mut World) {
    world.drive(Event::Scheduled("noon".into()));
}

#[test]
fn a_periodic_process_runs_on_schedule_and_shows_its_last_exit() {
    for (lives_ms, code, message, n_events) in [
        (10, 0, "last run exited with code 0 after 0.0 s", 0),
        (30_000, 0, "last run exited with code 0 after 30 s", 0),
        (30_000, 7, "last run exited with code 7 after 30 s", 1),
        (10, 7, "last run exited with code 7 after 0.0 s", 1),
    ] {
        let mut world = periodic(Behaviour::Stays { lives_ms, code });
        for round in 1..=3 {
            rings(&mut world);
            world.pass(50_000);
            assert_eq!(world.executed, vec![Role::Start; round], "{message}");
            assert_eq!(wanted(&world), (Flag::Running, true));
        }
        assert_eq!(world.process.phase, Phase::Down);
        assert_eq!(world.process.message, message);
        assert_eq!(world.emitted.len(), n_events * 3, "{message}");
    }
}

#[test]
fn a_run_that_is_due_during_another_is_skipped() {
    let mut world = periodic(Behaviour::Stays {
        lives_ms: 90_000,
        code: 0,
    });
    rings(&mut world);
    world.pass(60_000);
    rings(&mut world);
    assert_eq!(world.executed.len(), 1);
    let skipped = "the run due at noon was skipped: the one before it still goes on";
    assert_eq!(world.process.view().message, skipped);
    world.pass(60_000);
    assert_eq!(world.most_programs, 1);
    assert_eq!(
        world.process.message,
        "last run exited with code 0 after 90 s"
    );
}

#[test]
fn a_schedule_applies_only_to_desired_periodic_processes() {
    for op in [Op::Stop, Op::Unmanage] {
        let mut world = periodic(foreground());
        world.ask(2, op);
        rings(&mut world);
        assert!(world.executed.is_empty(), "{op}");
    }
    let mut world = world(foreground());
    world.ask(1, Op::Unmanage);
    rings(&mut world);
    assert!(world.executed.is_empty());
}

#[test]
fn config_drift_is_an_event_and_changes_no_process() {
    let mut world = started(daemon());
    world.spec.configmap = vec![ConfigFile {
        path: "/a".into(),
        md5: "aa".into(),
    }];
    let found = |md5: &str| {
        Event::ConfigRead(vec![ConfigFileDigest {
            path: "/a".into(),
            md5: Ok(md5.into()),
        }])
    };
    world.drive(found("bb"));
    world.drive(found("bb"));
    assert_eq!(kinds(&world), [EventKind::ConfigDrift]);
    let drift = "config drift: /a has md5 bb and not aa";
    assert_eq!(world.process.view().message, drift);
    world.restart_agent();
    world.drive(found("bb"));
    assert_eq!(
        world.emitted.len(),
        1,
        "known through a restart of the agent"
    );
    world.ask(2, Op::Stop);
    world.pass(1_000);
    assert_eq!(world.process.view().message, drift, "also while it is down");
    world.spec.configmap.clear();
    world.drive(Event::Held);
    assert_eq!(world.process.view().message, "");
    assert_eq!((world.signals, world.executed.len()), (1, 1));
}
