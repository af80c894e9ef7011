//! Faults around a process, and what the status says about them.

use model::event::EventKind;
use model::{Code, Flag, Op, State};

use super::super::{Event, Phase};
use super::world::{Behaviour, ticket};
use super::{daemon, foreground, started, wanted, world};

#[test]
fn a_refused_signal_fails_the_operation_at_once() {
    for op in [Op::Stop, Op::Kill, Op::Reload, Op::Restart] {
        for behaviour in [daemon(), foreground()] {
            let mut world = started(behaviour);
            let pid = world.program();
            world.refuses = Some("not yours".into());
            world.ask(2, op);
            let end = world.last();
            assert_eq!(
                (end.id.ordinal, end.code),
                (2, Code::COMMAND_FAILED),
                "{op}"
            );
            assert_eq!(end.message, "not yours", "{op}");
            assert_eq!(wanted(&world), (Flag::Running, true), "{op}");
            assert!(matches!(world.process.phase, Phase::Up { .. }), "{op}");
            assert_eq!(world.process.view().message, "not yours", "{op}");
            world.pass(100_000);
            assert_eq!((world.program(), world.ends.len()), (pid, 2), "{op}");
        }
    }
}

#[test]
fn a_process_that_dies_after_a_failed_stop_is_restarted() {
    for op in [Op::Stop, Op::Kill] {
        let mut world = started(foreground());
        world.pass(60_000);
        world.refuses = Some("not yours".into());
        world.ask(2, op);
        assert_eq!(world.last().code, Code::COMMAND_FAILED, "{op}");
        assert_eq!((world.last().flag, world.last().managed), (None, None));
        world.refuses = None;
        world.kill_program();
        world.pass(10_000);
        assert!(world.program().is_some(), "{op}: {:?}", world.process);
        world.ask(3, Op::Stop);
        world.pass(10_000);
        assert_eq!(world.last().code, Code::OK, "{op}");
        assert_eq!(wanted(&world), (Flag::Stopped, false), "{op}");
        assert_eq!(world.program(), None, "{op}");
    }
}

#[test]
fn a_running_process_is_managed_only_if_its_spec_can_run() {
    for op in [Op::Start, Op::Manage] {
        let mut world = started(daemon());
        world.ask(2, Op::Unmanage);
        world.check = Err("no such program".into());
        world.ask(3, op);
        let end = world.last();
        assert_eq!(end.code, Code::COMMAND_FAILED, "{op}");
        assert_eq!(
            (end.message.as_str(), end.managed),
            ("no such program", None)
        );
        assert!(!world.process.managed, "{op}");
        assert_eq!(world.process.view().state, State::Running, "{op}");
        world.check = Ok(());
        world.ask(4, Op::Start);
        assert_eq!(world.last().code, Code::ALREADY_RUNNING);
        assert!(world.process.managed);
    }
}

#[test]
fn leftovers_of_a_crashed_foreground_run_are_killed() {
    let mut world = started(Behaviour::Stays {
        lives_ms: 20_000,
        code: 1,
    });
    world.pass(1_000_000);
    assert!(world.process.message.starts_with("gave up"));
    assert_eq!(
        world.killed.len(),
        world.executed.len(),
        "each of them once"
    );

    let mut world = started(foreground());
    world.ask(2, Op::Unmanage);
    world.kill_program();
    assert!(
        world.killed.is_empty(),
        "an unmanaged process is not cleaned up"
    );
    world.ask(3, Op::Stop);
    assert_eq!(
        (world.last().code, world.sweeps),
        (Code::NOT_RUNNING, 0),
        "nothing is executed"
    );
    world.ask(4, Op::Kill);
    assert_eq!((world.last().code, world.sweeps), (Code::NOT_RUNNING, 1));

    let mut world = started(daemon());
    world.pass(30_000);
    world.kill_program();
    assert!(
        world.killed.is_empty(),
        "a daemon's workers may be meant to go on"
    );
}

#[test]
fn leftovers_of_a_crash_are_killed_after_a_restart_of_the_agent() {
    let mut world = started(foreground());
    world.pass(30_000);
    world.dies_after = Some(0);
    world.kill_program();
    assert_eq!(world.killed.len(), 1);
    assert_eq!(world.most_programs, 1);
}

#[test]
fn kill_sweeps_the_family_and_stop_only_that_of_a_foreground_run() {
    for (behaviour, op, sweeps) in [
        (foreground(), Op::Stop, 1),
        (foreground(), Op::Kill, 1),
        (foreground(), Op::Restart, 1),
        (daemon(), Op::Stop, 0),
        (daemon(), Op::Kill, 1),
        (daemon(), Op::Restart, 0),
    ] {
        let mut world = started(behaviour);
        world.ask(2, op);
        world.pass(20_000);
        assert_eq!(
            (world.last().code, world.sweeps),
            (Code::OK, sweeps),
            "{op}"
        );
    }
}

#[test]
fn an_unusable_log_or_pid_file_is_shown_while_the_run_lasts() {
    let mut world = world(foreground());
    world.instead_of_log = "log_path: no".into();
    world.ask(1, Op::Start);
    world.pass(10_000);
    assert_eq!(world.last().code, Code::OK);
    assert_eq!(world.process.view().message, "log_path: no");
    world.drive(Event::PidFileRefused("pid_path: no".into()));
    assert_eq!(world.process.view().message, "log_path: no; pid_path: no");
    world.restart_agent();
    assert_eq!(world.process.view().message, "log_path: no; pid_path: no");
    world.instead_of_log.clear();
    world.ask(2, Op::Restart);
    world.pass(20_000);
    assert_eq!(world.last().code, Code::OK);
    assert_eq!(world.process.view().message, "");
}

#[test]
fn a_failed_command_is_named_in_the_message() {
    for (op, said) in [
        (Op::Stop, "stop_cmd exited with code 9"),
        (Op::Reload, "reload_cmd exited with code 9"),
    ] {
        for behaviour in [daemon(), foreground()] {
            let mut world = started(behaviour);
            world.spec.control.stop_cmd = "stop".into();
            world.spec.control.reload_cmd = "reload".into();
            world.commands_exit = 9;
            world.ask(2, op);
            world.pass(1_000);
            assert_eq!(world.last().code, Code::COMMAND_FAILED, "{op}");
            assert_eq!(world.process.view().message, said);
            assert!(world.program().is_some());
        }
    }
}

#[test]
fn an_exit_before_the_start_check_is_no_event() {
    for behaviour in [daemon(), foreground()] {
        let mut world = world(behaviour);
        world.ask(1, Op::Start);
        world.pass(1_000);
        world.kill_program();
        world.pass(1_000);
        let end = world.last();
        assert_ne!(end.code, Code::OK);
        assert!(end.message.contains("signal 9"), "{}", end.message);
        assert_eq!(world.emitted, [], "it was never up");

        // Once it was up, its exit is an event.
        world.ask(2, Op::Start);
        world.pass(10_000);
        assert_eq!(world.last().code, Code::OK);
        world.kill_program();
        let kinds: Vec<EventKind> = world.emitted.iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [EventKind::ProcessExit]);
    }
}

#[test]
fn setting_the_wall_clock_changes_no_delay() {
    const DAY_MS: i64 = 86_400_000;
    for set_by in [-DAY_MS, DAY_MS] {
        let mut world = world(foreground());
        world.ask(1, Op::Start);
        world.pass(6_000);
        assert_eq!(world.last().code, Code::OK);
        world.kill_program();
        let Phase::Backoff { until_boot_ms, .. } = world.process.phase else {
            panic!("{:?}", world.process.phase);
        };
        world.wall_lead_ms = set_by;
        world.pass(until_boot_ms - world.now - 1);
        assert_eq!(world.program(), None);
        world.pass(1);
        assert!(world.program().is_some());
        // In the middle of an operation, and of the run that clears the count of attempts.
        world.pass(30_000);
        world.wall_lead_ms = 0;
        assert_eq!(world.process.attempts.count, 1);
        world.pass(31_000);
        world.ask(2, Op::Restart);
        world.wall_lead_ms = set_by;
        world.pass(10_000);
        assert_eq!((world.last().code, world.ends.len()), (Code::OK, 2));
        assert_eq!(world.most_programs, 1);
    }
}

#[test]
fn a_program_restarted_by_its_wrapper_is_another_pid_of_the_same_run() {
    let mut world = started(foreground());
    let Some(alive) = world.process.alive() else {
        panic!("{:?}", world.process.phase);
    };
    for (main, is_named) in [(7001, false), (alive.run.pid, false), (7002, true)] {
        world.drive(Event::MainIs(main, is_named));
        assert_eq!(world.process.view().pid, main);
        let written = match is_named || main == alive.run.pid {
            true => Some(7001),
            false => Some(main),
        };
        assert_eq!(world.pid_file, written, "{main}");
    }
    assert_eq!(
        world.process.alive().map(|alive| alive.run),
        Some(alive.run)
    );
    assert!(world.emitted.is_empty(), "{:?}", world.emitted);

    let mut world = started(daemon());
    let pid = world.process.view().pid;
    world.drive(Event::MainIs(7001, false));
    assert_eq!(world.process.view().pid, pid, "a daemon is its own");
}

#[test]
fn an_unsent_signal_is_sent_once_after_a_restart_of_the_agent() {
    for op in [Op::Stop, Op::Restart, Op::Reload] {
        // The agent dies after this many actions.
        for after in 0..8 {
            let mut world = world(daemon());
            // The fake host does not distinguish signals.
            world.ignores_term = op == Op::Reload;
            world.ask(1, Op::Start);
            world.pass(10_000);
            world.dies_after = Some(after);
            world.ask(2, op);
            world.dies_after = None;
            world.restart_agent();
            world.pass(20_000);
            let end = world.last();
            assert_eq!(
                (end.id.ordinal, end.code),
                (2, Code::OK),
                "{op} after {after}: {}",
                end.message
            );
            assert_eq!(world.signals, 1, "{op} after {after}");
        }
    }
}

#[test]
fn a_start_that_succeeded_while_the_agent_was_away_is_not_timed_out() {
    let mut world = world(foreground());
    world.ask(1, Op::Start);
    world.pass(1_000);
    let pid = world.program();
    // The agent dies within the start check and comes back long after the time-out of the command.
    world.now += 600_000;
    world.restart_agent();
    world.pass(1_000);
    assert_eq!(world.last().code, Code::OK, "{}", world.last().message);
    assert_eq!(world.process.view().state, State::Running);
    assert_eq!((world.program(), world.executed.len()), (pid, 1));
}

#[test]
fn a_launcher_that_ended_while_the_agent_was_away_is_not_taken_for_the_program() {
    let mut world = world(Behaviour::Daemon {
        late_ms: 2_500,
        lives_ms: super::FOR_EVER,
    });
    world.spec.monitor_policy.start_check_secs = 0;
    world.ask(1, Op::Start);
    // When the agent restarts, the start check is due, the launcher has ended and its daemon is not up yet.
    world.restart_agent_after(1_000);
    world.pass(20_000);
    assert_eq!(world.last().code, Code::OK, "{}", world.last().message);
    assert_eq!(world.process.view().state, State::Running);
    assert_eq!((world.most_programs, world.executed.len()), (1, 1));
}

#[test]
fn an_operation_kills_the_command_of_a_recovered_attempt_before_its_own_start() {
    for op in [Op::Start, Op::Restart, Op::Manage] {
        let mut world = world(foreground());
        world.ask(1, Op::Manage);
        // The agent dies after it has journalled the operation; the start check is due when it restarts.
        world.process.accept(ticket(2, op));
        world.saved = world.process.clone();
        world.now += 10_000;
        world.restart_agent();
        world.pass(20_000);
        assert_eq!(
            world.last().code,
            Code::OK,
            "{op}: {}",
            world.last().message
        );
        assert_eq!(world.most_programs, 1, "{op}");
    }
}
