//! The status of a process: message, version, time of the last start.

use model::spec::AutoType;
use model::status::Exit;
use model::{Code, Op, ProcessState, State, UnixMillis};

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

fn state(world: &World) -> ProcessState {
    world.process.view().process_state
}

#[test]
fn each_phase_has_its_state() {
    for behaviour in [daemon(), foreground()] {
        let mut world = world(behaviour);
        assert_eq!(state(&world), ProcessState::Stopped);
        world.ask(1, Op::Start);
        world.pass(1_000);
        assert_eq!(state(&world), ProcessState::Starting);
        world.pass(5_000);
        assert_eq!(state(&world), ProcessState::Running);
        world.kill_program();
        assert_eq!(state(&world), ProcessState::Backoff);
        let next_at = world.process.view().next_at;
        assert_eq!(next_at, UnixMillis(world.now as i64 + 10_000));
        world.restart_agent();
        assert_eq!(world.process.view().next_at, next_at);
        world.pass(11_000);
        assert_eq!(state(&world), ProcessState::Starting);
        assert_eq!(world.process.view().next_at, UnixMillis::NEVER);
        world.pass(10_000);
        assert_eq!(state(&world), ProcessState::Running);
        world.ask(2, Op::Restart);
        world.pass(1_000);
        assert_eq!(state(&world), ProcessState::Starting);
        world.pass(20_000);
        world.ask(3, Op::Stop);
        world.pass(20_000);
        assert_eq!(state(&world), ProcessState::Stopped);
    }
}

#[test]
fn a_process_that_the_agent_gave_up_on_has_failed() {
    let mut world = world(Behaviour::Fails { code: 3 });
    world.ask(1, Op::Start);
    world.pass(1_000);
    assert_eq!(state(&world), ProcessState::Failed, "a failed start");
    world.ask(2, Op::Manage);
    world.pass(1_000);
    assert_eq!(state(&world), ProcessState::Backoff);
    world.pass(200_000);
    assert_eq!(state(&world), ProcessState::Failed);
    let last = world.process.last_exit.unwrap();
    assert_eq!((last.exit, last.oom), (Exit::Code(3), false));
    assert_ne!(last.at, UnixMillis::NEVER);
    world.restart_agent();
    assert_eq!(state(&world), ProcessState::Failed);
    world.ask(3, Op::Stop);
    world.pass(1_000);
    assert_eq!(state(&world), ProcessState::Stopped);
}

#[test]
fn a_one_shot_program_is_completed_or_failed() {
    for (lives_ms, code, shown) in [
        (10, 0, ProcessState::Completed),
        (10, 1, ProcessState::Failed),
        (60_000, 0, ProcessState::Completed),
        (60_000, 2, ProcessState::Failed),
    ] {
        let mut world = world(Behaviour::Stays { lives_ms, code });
        world.spec.monitor_policy.auto_type = AutoType::OneShot;
        world.ask(1, Op::Start);
        world.pass(100_000);
        assert_eq!(state(&world), shown, "{lives_ms} {code}");
        let exit = world.process.last_exit.unwrap().exit;
        assert_eq!(exit, Exit::Code(code), "{lives_ms}");
    }
}

#[test]
fn an_unmanaged_process_that_ends_by_itself_failed_only_if_it_ended_badly() {
    for (code, shown) in [(0, ProcessState::Stopped), (1, ProcessState::Failed)] {
        let lives_ms = 60_000;
        let mut world = world(Behaviour::Stays { lives_ms, code });
        world.ask(1, Op::Start);
        world.pass(10_000);
        world.ask(2, Op::Unmanage);
        world.pass(100_000);
        assert_eq!(state(&world), shown, "{code}");
    }
}

#[test]
fn an_unhealthy_process_is_not_shown_as_running() {
    let mut world = started(daemon());
    world.ask(2, Op::Unmanage);
    for _ in 0..3 {
        assert_eq!(state(&world), ProcessState::Running);
        world.drive(Event::HealthChecked(Err("exited with code 1".into())));
    }
    assert_eq!(state(&world), ProcessState::Unhealthy);
    assert_eq!(world.process.view().state, State::Running);
    world.drive(Event::HealthChecked(Ok(())));
    assert_eq!(state(&world), ProcessState::Running);
}

#[test]
fn restarts_are_counted_since_the_last_operated_start() {
    let mut world = started(daemon());
    assert_eq!(world.process.restarts, 0);
    for n in 1..=3 {
        world.pass(70_000);
        world.kill_program();
        world.pass(20_000);
        assert_eq!(world.process.restarts, n);
    }
    world.restart_agent();
    assert_eq!(world.process.restarts, 3);
    assert_eq!(world.process.last_exit.unwrap().exit, Exit::Signal(9));
    world.ask(2, Op::Restart);
    world.pass(20_000);
    assert_eq!(world.process.restarts, 0);
    world.ask(3, Op::Stop);
    world.pass(20_000);
    world.ask(4, Op::Manage);
    world.pass(20_000);
    assert_eq!(
        (state(&world), world.process.restarts),
        (ProcessState::Running, 0)
    );
}

#[test]
fn a_wrong_proc_name_ends_the_start_after_a_second() {
    let mut world = world(Behaviour::Daemon {
        late_ms: 40_000,
        lives_ms: u64::MAX,
    });
    world.ask(1, Op::Start);
    world.pass(500);
    assert!(world.ends.is_empty());
    world.misnamed_since_boot_ms = Some(world.now);
    world.note = "the pid file /p/pid names 7, which is q and not p".into();
    world.pass(900);
    assert!(world.ends.is_empty(), "the program may still be executed");
    world.pass(400);
    let end = world.last();
    assert_eq!(end.code, Code::CHECK_FAILED);
    assert!(
        end.message
            .ends_with("which is q and not p (proc_name), and was killed")
    );
    assert_eq!(world.killed.len(), 1);
}

#[test]
fn a_slow_daemon_is_waited_for() {
    let mut world = world(Behaviour::Daemon {
        late_ms: 40_000,
        lives_ms: u64::MAX,
    });
    world.ask(1, Op::Start);
    world.pass(50_000);
    assert_eq!(world.last().code, Code::OK);
}

#[test]
fn a_run_remembers_the_spec_that_it_was_started_with() {
    let mut world = started(daemon());
    let digest = world.spec.launch_digest();
    assert_eq!(world.process.launch_digest(), digest);
    world.spec.control.start_cmd = "start --fast".into();
    world.drive(Event::Held);
    world.restart_agent();
    assert_eq!(world.process.launch_digest(), digest);
    assert_ne!(world.spec.launch_digest(), digest);
    world.ask(2, Op::Restart);
    world.pass(20_000);
    assert_eq!(world.process.launch_digest(), world.spec.launch_digest());
}
