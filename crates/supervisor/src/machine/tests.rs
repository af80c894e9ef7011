//! The machine on a fake host.

mod backoff;
mod faults;
mod golden;
mod history;
mod managed;
mod order;
mod readiness;
mod schedule;
mod shortage;
mod status;
mod stopping;
mod world;

use model::event::EventKind;
use model::spec::AutoType;
use model::{Code, Flag, Op, State};
use world::{Behaviour, World};

pub(super) use world::spec;

use super::{Event, Phase, Step};

const FOR_EVER: u64 = u64::MAX;

fn daemon() -> Behaviour {
    Behaviour::Daemon {
        late_ms: 0,
        lives_ms: FOR_EVER,
    }
}

fn foreground() -> Behaviour {
    Behaviour::Stays {
        lives_ms: FOR_EVER,
        code: 0,
    }
}

fn world(behaviour: Behaviour) -> World {
    let mut world = World::new();
    world.behaviour = behaviour;
    world.drive(Event::Held);
    world
}

fn started(behaviour: Behaviour) -> World {
    let mut world = world(behaviour);
    world.ask(1, Op::Start);
    world.pass(10_000);
    assert_eq!(world.last().code, Code::OK, "{:?}", world.last());
    world
}

fn wanted(world: &World) -> (Flag, bool) {
    (world.process.flag, world.process.managed)
}

/// Operation × whether it runs → code, desired state afterwards, whether it runs afterwards.
#[test]
fn every_operation_ends_as_in_the_table() {
    use Flag::{Running, Stopped};
    let rows = [
        (Op::Start, false, 0, (Running, true), true),
        (Op::Start, true, 828, (Running, true), true),
        (Op::Stop, true, 0, (Stopped, false), false),
        (Op::Stop, false, 829, (Stopped, false), false),
        (Op::Kill, true, 0, (Stopped, false), false),
        (Op::Kill, false, 829, (Stopped, false), false),
        (Op::Restart, true, 0, (Running, true), true),
        (Op::Restart, false, 0, (Running, true), true),
        (Op::Reload, false, 836, (Stopped, false), false),
        (Op::Manage, true, 0, (Running, true), true),
        (Op::Manage, false, 0, (Running, true), true),
        (Op::Unmanage, true, 0, (Running, false), true),
        (Op::Unmanage, false, 0, (Stopped, false), false),
        (Op::Query, true, 0, (Running, true), true),
        (Op::Query, false, 0, (Stopped, false), false),
    ];
    for behaviour in [daemon(), foreground()] {
        for (op, runs, code, afterwards, runs_then) in rows {
            let mut world = started(behaviour);
            if !runs {
                world.ask(2, Op::Stop);
                world.pass(1_000);
            }
            let executed = world.executed.len();
            world.ask(3, op);
            world.pass(20_000);
            let context = format!("{op} of a {behaviour:?} that runs: {runs}");
            assert_eq!(world.last().id.ordinal, 3, "{context}");
            assert_eq!(
                world.last().code,
                Code(code),
                "{context}: {:?}",
                world.last()
            );
            assert_eq!(wanted(&world), afterwards, "{context}");
            assert_eq!(world.program().is_some(), runs_then, "{context}");
            assert_eq!(
                world.process.view().state == State::Running,
                runs_then,
                "{context}"
            );
            if matches!(code, 828 | 829) {
                assert_eq!(
                    world.executed.len(),
                    executed,
                    "{context}: nothing is executed"
                );
            }
        }
    }
}

#[test]
fn a_failed_start_command_keeps_managed_as_it_was() {
    let mut world = world(Behaviour::Fails { code: 3 });
    world.ask(1, Op::Start);
    world.pass(200);
    assert_eq!(world.last().code, Code::COMMAND_FAILED);
    assert!(world.last().prefers_output);
    assert_eq!(wanted(&world), (Flag::Running, false));
    assert_eq!(world.process.phase, Phase::Down);
}

#[test]
fn a_start_that_leaves_no_process_ends_at_once_with_836() {
    let mut world = world(Behaviour::Fails { code: 0 });
    world.ask(1, Op::Start);
    world.pass(60);
    let end = world.last();
    assert_eq!(end.code, Code::CHECK_FAILED);
    let expected = "start process (p) failed, for post-check status not alive, ";
    assert!(end.message.starts_with(expected), "{}", end.message);
}

#[test]
fn a_start_waits_for_a_late_pid_file() {
    let mut world = world(Behaviour::Daemon {
        late_ms: 20_000,
        lives_ms: FOR_EVER,
    });
    world.ask(1, Op::Start);
    world.pass(19_000);
    assert!(world.ends.is_empty(), "still starting");
    world.pass(7_000);
    assert_eq!(world.last().code, Code::OK);
}

#[test]
fn a_daemon_that_dies_before_its_check_fails_the_start() {
    let mut world = world(Behaviour::Daemon {
        late_ms: 0,
        lives_ms: 2_000,
    });
    world.ask(1, Op::Start);
    world.pass(3_000);
    assert_eq!(world.last().code, Code::CHECK_FAILED);
    assert!(
        world.last().message.contains("exited with code 3"),
        "{:?}",
        world.last()
    );
}

#[test]
fn a_daemon_without_a_pid_file_is_killed_at_the_timeout() {
    let mut world = world(Behaviour::Daemon {
        late_ms: 1_000_000,
        lives_ms: FOR_EVER,
    });
    world.ask(1, Op::Start);
    world.pass(61_000);
    assert_eq!(world.last().code, Code::CHECK_FAILED);
    world.pass(2_000_000);
    assert_eq!(world.most_programs, 0, "what was left behind is gone");
}

#[test]
fn a_command_that_outlives_op_timeout_is_killed() {
    let mut world = world(foreground());
    world.spec.monitor_policy.start_check_secs = 100;
    world.ask(1, Op::Start);
    world.pass(61_000);
    assert_eq!(world.last().code, Code::COMMAND_FAILED);
    assert!(
        world.last().message.contains("op_timeout"),
        "{:?}",
        world.last()
    );
    assert_eq!(world.program(), None);
}

#[test]
fn a_program_that_ignores_sigterm_fails_the_stop() {
    let mut world = world(daemon());
    world.ignores_term = true;
    world.ask(1, Op::Start);
    world.pass(10_000);
    world.ask(2, Op::Stop);
    world.pass(61_000);
    assert_eq!(world.last().code, Code::CHECK_FAILED);
    assert!(
        world
            .last()
            .message
            .starts_with("stop process (p) failed, ")
    );
    assert_eq!(wanted(&world), (Flag::Running, true), "as before");
    assert_eq!(
        world.process.view().state,
        State::Running,
        "it is still there"
    );
    world.ask(3, Op::Kill);
    assert_eq!(world.last().code, Code::OK);
}

#[test]
fn a_spec_that_cannot_run_is_refused_by_start_and_manage_without_a_restart_loop() {
    for op in [Op::Start, Op::Manage, Op::Restart] {
        let mut world = world(daemon());
        world.check = Err("no such program".into());
        world.ask(1, op);
        world.pass(1_000_000);
        assert_eq!(world.last().code, Code::COMMAND_FAILED, "{op}");
        assert_eq!(world.last().message, "no such program");
        assert!(!world.process.managed && world.executed.is_empty(), "{op}");
    }
}

#[test]
fn operations_run_in_order_of_arrival() {
    let mut world = world(daemon());
    for (number, op) in [
        (1, Op::Start),
        (2, Op::Query),
        (3, Op::Stop),
        (4, Op::Start),
    ] {
        world.ask(number, op);
    }
    assert!(world.ends.is_empty(), "nothing overtakes");
    world.pass(30_000);
    let ends: Vec<_> = world
        .ends
        .iter()
        .map(|end| (end.id.ordinal, end.code.0))
        .collect();
    assert_eq!(ends, [(1, 0), (2, 0), (3, 0), (4, 0)]);
}

#[test]
fn a_crash_after_a_long_run_is_restarted_at_once_and_after_a_short_one_later() {
    let mut world = started(foreground());
    world.pass(30_000);
    world.kill_program();
    assert!(world.program().is_some(), "at once: {:?}", world.process);
    world.pass(1_000);
    world.kill_program();
    assert_eq!(world.program(), None);
    assert_eq!(
        world.process.message,
        "killed by signal 9 after 1 s; attempt 2 of 4, next in 10 s"
    );
    world.pass(10_100);
    assert!(world.program().is_some());
    let kinds: Vec<_> = world.emitted.iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        [EventKind::ProcessExit, EventKind::ProcessRestartFailed]
    );
}

#[test]
fn the_agent_gives_up_after_start_retries_failed_attempts() {
    let mut world = started(foreground());
    world.behaviour = Behaviour::Fails { code: 1 };
    world.kill_program();
    world.pass(1_000_000);
    assert_eq!(world.process.phase, Phase::Down);
    let message = world.process.message.clone();
    assert!(
        message.starts_with("gave up after 4 attempts in 30 s"),
        "{message}"
    );
    assert_eq!(world.executed.len(), 5);
    let last = world.emitted.last().unwrap();
    assert_eq!(last.kind, EventKind::ProcessCancelRestart);
    // A start operation clears the count.
    world.behaviour = foreground();
    world.ask(2, Op::Start);
    world.pass(10_000);
    assert_eq!(
        (world.last().code, world.process.attempts.count),
        (Code::OK, 0)
    );
}

#[test]
fn a_run_of_a_minute_clears_the_count() {
    let mut world = started(Behaviour::Stays {
        lives_ms: 61_000,
        code: 1,
    });
    world.pass(20 * 61_000);
    assert!(world.executed.len() >= 19, "{}", world.executed.len());
    assert!(world.process.managed && world.process.attempts.count <= 1);
}

#[test]
fn a_stop_during_backoff_cancels_the_restart() {
    let mut world = started(foreground());
    world.behaviour = Behaviour::Fails { code: 1 };
    world.kill_program();
    world.pass(1_000);
    assert!(matches!(world.process.phase, Phase::Backoff { .. }));
    world.ask(2, Op::Stop);
    assert_eq!(world.last().code, Code::NOT_RUNNING);
    let executed = world.executed.len();
    world.pass(1_000_000);
    assert_eq!(world.executed.len(), executed);
}

#[test]
fn a_stop_during_an_attempt_stops_what_the_attempt_began() {
    for behaviour in [foreground(), daemon()] {
        let mut world = started(behaviour);
        world.pass(30_000);
        world.kill_program();
        world.pass(20);
        assert!(matches!(&world.process.phase, Phase::Working(w) if w.ticket().is_none()));
        world.ask(2, Op::Stop);
        world.pass(100_000);
        assert_eq!(
            world.last().code,
            Code::OK,
            "{behaviour:?} {:?}",
            world.last()
        );
        assert_eq!(world.program(), None);
    }
}

#[test]
fn unmanaging_ends_attempts_and_touches_nothing() {
    let mut world = started(foreground());
    let pid = world.program();
    world.ask(2, Op::Unmanage);
    assert_eq!((world.program(), world.signals), (pid, 0));
    world.kill_program();
    world.pass(1_000_000);
    assert_eq!(world.executed.len(), 1, "it is not restarted");
    assert_eq!(world.emitted.len(), 1);
}

#[test]
fn managing_a_stopped_process_starts_it() {
    let mut world = world(daemon());
    world.ask(1, Op::Manage);
    assert_eq!(world.last().code, Code::OK, "at once");
    world.pass(10_000);
    assert!(world.program().is_some());
}

#[test]
fn a_one_shot_runs_once() {
    for (lives_ms, check) in [(10, "short"), (60_000, "long")] {
        let mut world = world(Behaviour::Stays { lives_ms, code: 0 });
        world.spec.monitor_policy.auto_type = AutoType::OneShot;
        world.ask(1, Op::Start);
        world.pass(1_000_000);
        assert_eq!(world.last().code, Code::OK, "{check}");
        assert_eq!(wanted(&world), (Flag::Stopped, true), "{check}");
        assert_eq!(world.executed.len(), 1, "{check}");
        assert!(world.process.message.starts_with("exited with code 0"));
        assert!(world.emitted.is_empty(), "success is no event");
    }
}

#[test]
fn neither_one_shot_nor_periodic_is_restarted_when_it_fails() {
    for auto_type in [AutoType::OneShot, AutoType::Periodic] {
        let mut world = world(Behaviour::Stays {
            lives_ms: 30_000,
            code: 1,
        });
        world.spec.monitor_policy.auto_type = auto_type;
        world.ask(1, Op::Start);
        world.pass(1_000_000);
        assert_eq!(world.executed.len(), 1);
        assert_eq!(world.emitted.len(), 1);
    }
}

#[test]
fn a_launcher_taken_for_the_program_is_replaced_by_it() {
    // The command runs longer than its check, then exits and leaves a daemon.
    let mut world = world(foreground());
    world.spec.monitor_policy.start_check_secs = 1;
    world.ask(1, Op::Start);
    world.pass(1_100);
    assert_eq!(world.last().code, Code::OK);
    let Some(alive) = world.process.alive() else {
        panic!("{:?}", world.process.phase)
    };
    let observation = super::Observation {
        alive: Some(super::LiveRun {
            run: super::Run { pid: 999, start: 5 },
            form: super::Form::Daemon,
            ..alive
        }),
        ..Default::default()
    };
    let spec = world.spec.clone();
    let context = super::Context {
        now: super::Moment {
            boot_ms: world.now,
            unix: model::UnixMillis(0),
        },
        name: "p",
        spec: &spec,
        order: &super::NO_ORDER,
    };
    let exit = model::status::Exit::Code(0);
    world
        .process
        .step(Event::Exited(alive.run, exit.into()), &context);
    let actions = world.process.step(Event::Observed(observation), &context);
    assert!(matches!(&world.process.phase, Phase::Up { current } if current.alive.run.pid == 999));
    assert!(
        !actions
            .iter()
            .any(|action| matches!(action, super::Action::Emit(_)))
    );
}

#[test]
fn a_reboot_ends_operations_and_restarts_managed_processes() {
    let mut world = started(daemon());
    world.ask(2, Op::Restart);
    world.ask(3, Op::Query);
    world.reboot();
    let codes: Vec<i32> = world.ends.iter().map(|end| end.code.0).collect();
    assert_eq!(codes, [0, 126, 126]);
    world.pass(10_000);
    assert!(world.program().is_some(), "{:?}", world.process);
}

#[test]
fn forgetting_leaves_it_running_and_waits_for_operations() {
    let mut world = started(daemon());
    world.ask(2, Op::Restart);
    world.drive(Event::Forget);
    assert!(!world.forgotten);
    world.pass(20_000);
    assert!(world.forgotten && world.program().is_some());
    assert_eq!(world.last().code, Code::OK);
}

#[test]
fn a_starting_process_is_forgotten_once_its_pid_file_exists() {
    let mut world = started(foreground());
    world.pass(30_000);
    world.kill_program();
    world.pass(10);
    assert!(matches!(&world.process.phase, Phase::Working(work) if work.ticket().is_none()));
    world.drive(Event::Forget);
    assert!(!world.forgotten);
    world.pass(20_000);
    assert!(world.forgotten && world.program().is_some());
    assert_eq!(world.pid_file, world.program());
}

#[test]
fn the_journal_keeps_the_whole_machine() {
    let mut world = world(daemon());
    world.ask(1, Op::Start);
    world.ask(2, Op::Stop);
    let back = world::through_the_journal(&world.process);
    assert_eq!(back, world.process);
    assert!(matches!(&back.phase, Phase::Working(w) if matches!(w.step, Step::Command { .. })));
}

/// The format of every version: what is true of one run stands beside the phase.
#[test]
fn facts_about_a_run_stand_beside_the_phase_in_the_journal() {
    let alive = r#"{"run":{"pid":7,"start":9},"form":{"foreground":{"main":8}},"since_boot_ms":5,"started_at":6}"#;
    let facts = r#""sink":{"path":"/s","offset":3,"spool":true},"troubles":{"log":"no log"},
        "health":{"failures":1,"sentence":"","was_well":true},"sentence":"killed: too much""#;
    let rest = r#""flag":1,"managed":true,"query":null,"queue":[],"failures":2,"failing_since":4,
        "message":"m","stays":true,"last_started_at":6,"forgetting":false"#;
    let before = format!(
        r#"{{"working":{{"cause":{{"attempt":2}},"began_boot_ms":5,"before":{alive},"old":null,"ran":null,
        "doomed":null,"last_line":"","reason":"r","step":"begin"}}}}"#
    );
    for phase in [
        format!(r#"{{"up":{{"alive":{alive}}}}}"#),
        format!(r#"{{"lost":{{"alive":{alive},"exit":"unseen","at_boot_ms":1,"last_line":""}}}}"#),
        before.clone(),
    ] {
        let text = format!(r#"{{"phase":{phase},{facts},{rest}}}"#);
        let read = super::record::deserialize(&mut serde_json::Deserializer::from_str(&text));
        let process = read.unwrap();
        assert_eq!(process.attempts.count, 2);
        assert_eq!(process.run_sink().unwrap().offset, 3, "{phase}");
        let written = super::record::serialize(&process, serde_json::value::Serializer).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(written, expected);
    }
    // Earlier versions had the reason of an attempt in the message only.
    let earlier = before.replace(r#""reason":"r","#, "");
    let text = format!(r#"{{"phase":{earlier},{rest}}}"#);
    let read = super::record::deserialize(&mut serde_json::Deserializer::from_str(&text));
    let Phase::Working(work) = read.unwrap().phase else {
        panic!("{earlier}");
    };
    assert_eq!(work.reason, "m");
}
