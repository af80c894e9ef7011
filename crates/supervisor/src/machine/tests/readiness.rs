//! Probes on a fake host.

use model::event::EventKind;
use model::spec::ProbeAction;
use model::spec::ProbeKind::{Live, Ready};
use model::spec::probes::{ProbeRule, ProbeTarget};
use model::{Code, Flag, Op, ProcessState, UnixMillis};

use super::world::{Behaviour, World, through_the_journal};
use super::{FOR_EVER, daemon, foreground, wanted, world};
use crate::machine::{Action, Context, Event, Moment, NO_ORDER, Phase, Step};

fn rule() -> ProbeRule {
    ProbeRule {
        target: ProbeTarget::Exec("true".into()),
        interval: None,
        timeout: None,
        successes: None,
        failures: Some(2),
        delay: None,
        action: None,
    }
}

/// Up, and its start waits.
fn waiting(behaviour: Behaviour) -> World {
    let mut world = world(behaviour);
    world.spec.probes.ready = Some(rule());
    world.ask(1, Op::Start);
    world.pass(10_000);
    assert!(world.ends.is_empty(), "it waits");
    assert_eq!(state(&world), ProcessState::Starting);
    world
}

fn ready(behaviour: Behaviour) -> World {
    let mut world = waiting(behaviour);
    world.drive(Event::Probed(Ready, Ok(())));
    assert_eq!(world.last().code, Code::OK);
    assert_eq!(state(&world), ProcessState::Ready);
    world
}

fn fails(world: &mut World, times: usize) {
    for _ in 0..times {
        world.drive(Event::Probed(Ready, Err("refused".into())));
    }
}

fn state(world: &World) -> ProcessState {
    world.process.view().process_state
}

fn kinds(world: &World) -> Vec<EventKind> {
    world.emitted.iter().map(|event| event.kind).collect()
}

#[test]
fn a_start_ends_when_the_ready_probe_succeeds() {
    for behaviour in [daemon(), foreground()] {
        let mut world = waiting(behaviour);
        let pid = world.program();
        fails(&mut world, 5);
        assert_eq!(world.process.view().message, "not ready: refused");
        world.drive(Event::Probed(Ready, Ok(())));
        assert_eq!((world.last().code, world.ends.len()), (Code::OK, 1));
        assert_eq!(wanted(&world), (Flag::Running, true));
        assert_eq!((state(&world), world.program()), (ProcessState::Ready, pid));
        assert_eq!(
            (world.process.view().message, kinds(&world)),
            ("".into(), vec![])
        );
    }
}

#[test]
fn a_start_that_is_never_ready_fails_and_leaves_its_process() {
    for behaviour in [daemon(), foreground()] {
        let mut world = waiting(behaviour);
        let pid = world.program();
        fails(&mut world, 3);
        world.pass(60_000);
        let last = world.last();
        assert_eq!(last.code, Code::CHECK_FAILED);
        let expected = format!(
            "start process (p) failed: it runs as pid {}, but was not ready after 60 s (op_timeout): refused",
            pid.unwrap()
        );
        assert_eq!(last.message, expected);
        assert_eq!((last.flag, last.managed), (Some(Flag::Running), None));
        assert_eq!(
            (state(&world), world.program()),
            (ProcessState::Running, pid)
        );
        assert_eq!(world.process.view().message, "not ready: refused");
        world.drive(Event::Probed(Ready, Ok(())));
        assert_eq!(state(&world), ProcessState::Ready);
        assert_eq!(kinds(&world), [EventKind::ProcessReady]);
        assert_eq!(world.signals, 0);
    }
}

#[test]
fn a_process_that_ends_while_its_start_waits_fails_it() {
    for (behaviour, expected) in [
        (daemon(), "it ended before it was ready: killed by signal 9"),
        (
            Behaviour::Stays {
                lives_ms: 20_000,
                code: 3,
            },
            "it ended before it was ready: exited with code 3",
        ),
        (
            Behaviour::Stays {
                lives_ms: 20_000,
                code: 0,
            },
            "nothing that it started is left",
        ),
    ] {
        let mut world = waiting(behaviour);
        if behaviour == daemon() {
            world.kill_program();
        }
        world.pass(15_000);
        assert_eq!(world.ends.len(), 1);
        let last = world.last();
        assert_eq!(last.code, Code::CHECK_FAILED);
        assert!(last.message.contains(expected), "{}", last.message);
        assert!(world.most_programs <= 1);
    }
}

const KILLED: &str = "killed: memory 12.4 % over its limit 10 % for 15 s";

fn over_limit() -> Event {
    Event::OverLimit(EventKind::ProcessResourceLimitExceed, KILLED.into())
}

#[test]
fn a_process_over_a_limit_while_its_start_waits_is_killed_and_fails_it() {
    for behaviour in [daemon(), foreground()] {
        for agent_dies in [false, true] {
            for op in [Op::Start, Op::Restart] {
                let mut world = ready(behaviour);
                world.pass(70_000);
                let is_managed = op == Op::Restart;
                if !is_managed {
                    world.ask(2, Op::Stop);
                    world.pass(10_000);
                }
                world.ask(3, op);
                world.pass(10_000);
                let n_before = world.ends.len();
                assert!(world.process.is_limited(), "{:?}", world.process.phase);
                world.dies_after = agent_dies.then_some(0);
                world.drive(over_limit());
                assert_eq!(world.ends.len(), n_before + 1);
                let last = world.last();
                let expected =
                    format!("start process (p) failed, for post-check status not alive, {KILLED}");
                assert_eq!(
                    (last.code, &*last.message),
                    (Code::CHECK_FAILED, &*expected)
                );
                assert_eq!(world.program(), None);
                assert_eq!(kinds(&world), [EventKind::ProcessResourceLimitExceed]);
                world.pass(30_000);
                // As after any start that failed.
                assert_eq!(world.program().is_some(), is_managed, "{op}");
                assert_eq!(world.most_programs, 1);
            }
        }
    }
}

#[test]
fn a_start_whose_process_is_being_killed_does_not_succeed() {
    let mut without_probe = waiting(daemon()).spec;
    without_probe.probes.ready = None;
    for (event, spec) in [
        (Event::Probed(Ready, Ok(())), waiting(daemon()).spec),
        (Event::Held, without_probe),
        (Event::Tick, waiting(daemon()).spec),
    ] {
        let mut process = waiting(daemon()).process;
        let mut step = |event: Event, boot_ms: u64| {
            let unix = UnixMillis(boot_ms as i64);
            let cx = Context {
                now: Moment { boot_ms, unix },
                name: "p",
                spec: &spec,
                order: &NO_ORDER,
            };
            process.step(event, &cx)
        };
        let killed = step(over_limit(), 1_020_000);
        assert!(matches!(killed[1], Action::Kill(_)), "{killed:?}");
        // Its time is over.
        let then = step(event, 9_000_000);
        for action in then {
            match action {
                Action::End(end) => assert!(end.message.ends_with(KILLED), "{end:?}"),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_start_whose_process_may_not_be_killed_goes_on() {
    let mut world = waiting(daemon());
    world.refuses = Some("no right".into());
    world.drive(over_limit());
    world.drive(over_limit());
    assert_eq!(kinds(&world), [EventKind::ProcessResourceLimitExceed]);
    assert!(world.ends.is_empty());
    world.refuses = None;
    world.restart_agent();
    assert!(world.killed.is_empty(), "it was refused");
    world.drive(Event::Probed(Ready, Ok(())));
    assert_eq!(world.last().code, Code::OK);
    let said = "over its limit, and not killed: no right";
    assert_eq!(world.process.view().message, said);
}

#[test]
fn an_attempt_of_the_agent_does_not_wait() {
    let mut world = ready(daemon());
    world.pass(70_000);
    world.kill_program();
    world.pass(20_000);
    assert_eq!(
        state(&world),
        ProcessState::Running,
        "up, and not ready yet"
    );
    let up = matches!(world.process.phase, Phase::Up { .. });
    assert!(up, "{:?}", world.process.phase);
    let told = [EventKind::ProcessExit, EventKind::ProcessRestartSuccess];
    assert_eq!(kinds(&world), told);
    world.drive(Event::Probed(Ready, Ok(())));
    assert_eq!(state(&world), ProcessState::Ready);
    assert_eq!(kinds(&world), told, "that is as expected");
}

#[test]
fn turns_are_told_once_unless_the_rule_says_none() {
    for (action, told) in [
        (None, 2),
        (Some(ProbeAction::Event), 2),
        (Some(ProbeAction::None), 0),
    ] {
        let mut world = ready(daemon());
        world.spec.probes.ready.as_mut().unwrap().action = action;
        let pid = world.program();
        fails(&mut world, 1);
        assert_eq!(state(&world), ProcessState::Ready, "one of two");
        fails(&mut world, 4);
        assert_eq!(state(&world), ProcessState::Running);
        world.drive(Event::Probed(Ready, Ok(())));
        assert_eq!(state(&world), ProcessState::Ready);
        world.pass(100_000);
        assert_eq!(
            (kinds(&world).len(), world.program()),
            (told, pid),
            "{action:?}"
        );
    }
}

#[test]
fn a_process_that_is_not_ready_any_more_is_restarted_by_its_rule() {
    let mut world = ready(daemon());
    world.spec.probes.ready.as_mut().unwrap().action = Some(ProbeAction::Restart);
    world.pass(70_000);
    let pid = world.program();
    fails(&mut world, 2);
    assert_eq!(state(&world), ProcessState::Unhealthy, "being stopped");
    world.pass(20_000);
    assert_ne!(world.program(), pid);
    // The next run was never ready: it is left alone.
    let pid = world.program();
    fails(&mut world, 9);
    world.pass(20_000);
    assert_eq!(world.program(), pid);
    let told = [
        EventKind::ProcessNotReady,
        EventKind::ProcessRestartSuccess,
        EventKind::ProcessNotReady,
    ];
    assert_eq!(kinds(&world), told);
    assert_eq!(world.most_programs, 1);
}

#[test]
fn the_live_probe_restarts_by_its_own_figures() {
    let mut world = ready(daemon());
    world.spec.probes.live = Some(rule());
    world.pass(70_000);
    let pid = world.program();
    world.drive(Event::Probed(Live, Err("silent".into())));
    assert_eq!((state(&world), world.program()), (ProcessState::Ready, pid));
    world.drive(Event::Probed(Live, Err("silent".into())));
    world.pass(20_000);
    assert_ne!(world.program(), pid);
    let reason = "unhealthy: probes.live failed 2 times in a row: silent";
    assert_eq!(world.emitted[0].reason, reason);
    assert_eq!(
        kinds(&world),
        [
            EventKind::ProcessUnhealthy,
            EventKind::ProcessRestartSuccess
        ]
    );
}

#[test]
fn an_operation_that_ends_the_run_does_not_wait_for_its_start() {
    for op in [Op::Stop, Op::Kill, Op::Restart] {
        let mut world = waiting(daemon());
        world.ask(2, op);
        world.pass(20_000);
        let first = &world.ends[0];
        assert_eq!((first.id.ordinal, first.code), (1, Code::CHECK_FAILED));
        let said = format!("was not ready after 10 s, when the operation {op} came: ");
        assert!(first.message.contains(&said), "{}", first.message);
        match op {
            Op::Restart => assert_eq!(state(&world), ProcessState::Starting),
            _ => assert_eq!((world.last().id.ordinal, world.program()), (2, None)),
        }
        assert!(world.most_programs <= 1);
    }
    let mut world = waiting(daemon());
    world.ask(2, Op::Unmanage);
    assert!(world.ends.is_empty(), "it changes no run");
}

#[test]
fn readiness_survives_the_agent() {
    let mut world = ready(daemon());
    world.restart_agent();
    assert_eq!(state(&world), ProcessState::Ready);
    assert_eq!(through_the_journal(&world.process), world.process);
    world.reboot();
    world.pass(20_000);
    assert_eq!(state(&world), ProcessState::Running, "another run");

    let mut world = waiting(daemon());
    world.restart_agent();
    assert_eq!(state(&world), ProcessState::Starting);
    // Its time is over while no agent is there: the next probe counts all the same.
    world.restart_agent_after(120_000);
    assert!(world.ends.is_empty());
    world.drive(Event::Probed(Ready, Ok(())));
    assert_eq!(world.last().code, Code::OK);
    let mut world = waiting(daemon());
    world.restart_agent_after(120_000);
    world.pass(10_000);
    assert_eq!(world.last().code, Code::CHECK_FAILED);
}

#[test]
fn a_start_whose_probe_is_taken_out_of_the_spec_has_succeeded() {
    let mut world = waiting(daemon());
    world.spec.probes.ready = None;
    world.drive(Event::Held);
    assert_eq!(world.last().code, Code::OK);
    assert_eq!(state(&world), ProcessState::Running);
    world.drive(Event::Probed(Ready, Ok(())));
    assert_eq!(
        state(&world),
        ProcessState::Running,
        "a result that came late"
    );
}

const LACKS: &str = "the agent has reached its own limit of 3 open files";

#[test]
fn a_probe_that_could_not_be_made_counts_as_nothing_and_is_shown() {
    let mut world = ready(daemon());
    world.spec.probes.live = Some(rule());
    world.pass(70_000);
    let pid = world.program();
    // One failure short of a restart, and of not being ready.
    world.drive(Event::Probed(Live, Err("silent".into())));
    fails(&mut world, 1);
    for kind in [Live, Ready] {
        for _ in 0..9 {
            world.drive(Event::NotProbed(kind, LACKS.into()));
        }
    }
    let said = format!(
        "probes.live could not be tried: {LACKS}; probes.ready could not be tried: {LACKS}"
    );
    assert_eq!(world.process.view().message, said);
    assert_eq!((state(&world), world.program()), (ProcessState::Ready, pid));
    world.restart_agent();
    assert_eq!(world.process.view().message, said);
    for kind in [Live, Ready] {
        world.drive(Event::Probed(kind, Ok(())));
    }
    assert_eq!(world.process.view().message, "");
    assert_eq!((kinds(&world), world.signals), (vec![], 0));

    world.drive(Event::NotProbed(Live, LACKS.into()));
    world.spec.probes.live = None;
    world.drive(Event::Held);
    assert_eq!(world.process.view().message, "");
}

#[test]
fn a_start_that_could_not_be_probed_says_so() {
    let mut world = waiting(daemon());
    fails(&mut world, 1);
    world.drive(Event::NotProbed(Ready, LACKS.into()));
    world.pass(60_000);
    let last = world.last();
    assert_eq!(last.code, Code::CHECK_FAILED);
    let said = format!("(op_timeout): probes.ready could not be tried: {LACKS}");
    assert!(last.message.ends_with(&said), "{}", last.message);
}

#[test]
fn results_in_other_phases_change_nothing() {
    let mut world = world(daemon());
    world.spec.probes.ready = Some(rule());
    world.spec.probes.live = Some(rule());
    for result in [Ok(()), Err("no".to_owned())] {
        for kind in [Ready, Live] {
            let before = world.process.clone();
            world.drive(Event::Probed(kind, result.clone()));
            world.drive(Event::NotProbed(kind, LACKS.into()));
            assert_eq!(world.process, before);
        }
    }
    world.behaviour = Behaviour::Stays {
        lives_ms: FOR_EVER,
        code: 0,
    };
    world.ask(1, Op::Start);
    world.drive(Event::Probed(Ready, Ok(())));
    let Phase::Working(work) = &world.process.phase else {
        panic!("{:?}", world.process.phase);
    };
    assert!(matches!(work.step, Step::Command { .. }));
}
