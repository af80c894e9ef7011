//! A shortage or a failed observation of the agent is no failure of the process.

use model::event::EventKind;
use model::{Code, Op, State};

use super::super::Phase;
use super::{daemon, foreground, started};

#[test]
fn a_shortage_is_no_failed_attempt() {
    for behaviour in [daemon(), foreground()] {
        let mut world = started(behaviour);
        world.spec.monitor_policy.start_retries = 1;
        world.lacks = Some("no descriptors".into());
        world.end_programs();
        world.pass(600_000);
        assert_eq!(world.process.view().state, State::Stopped);
        let message = world.process.view().message.into_owned();
        assert_eq!(message, "no descriptors; attempt 1 of 1, next in 5 s");
        let gave_up = |kind: EventKind| kind == EventKind::ProcessCancelRestart;
        assert!(!world.emitted.iter().any(|emission| gave_up(emission.kind)));
        world.lacks = None;
        world.pass(60_000);
        assert_eq!(world.process.view().state, State::Running);
    }
}

#[test]
fn an_operation_ends_with_the_shortage() {
    let mut world = started(daemon());
    world.ask(2, Op::Stop);
    world.pass(60_000);
    world.lacks = Some("no descriptors".into());
    world.ask(3, Op::Start);
    let end = world.last();
    assert_eq!(
        (end.code, end.message.as_str()),
        (Code::COMMAND_FAILED, "no descriptors")
    );
}

#[test]
fn a_failed_observation_starts_nothing() {
    for behaviour in [daemon(), foreground()] {
        let mut world = started(behaviour);
        let executed = world.executed.len();
        world.blind = Some("cannot look".into());
        world.restart_agent();
        world.pass(600_000);
        assert_eq!(world.executed.len(), executed);
        world.end_programs();
        world.pass(600_000);
        assert_eq!(world.executed.len(), executed, "it may have come back");
        world.blind = None;
        world.pass(60_000);
        assert_eq!(world.executed.len(), executed + 1);
        assert_eq!(world.process.view().state, State::Running);
        assert_eq!(world.most_programs, 1);
    }
}

#[test]
fn an_operation_whose_observation_fails_ends_and_leaves_the_run_alone() {
    for op in [Op::Start, Op::Stop, Op::Restart, Op::Kill] {
        let mut world = started(daemon());
        let pid = world.program();
        world.blind = Some("cannot look".into());
        world.ask(2, op);
        let end = world.last();
        assert_eq!(
            (end.code, end.message.as_str()),
            (Code::COMMAND_FAILED, "cannot look"),
            "{op}"
        );
        assert!(matches!(world.process.phase, Phase::Up { .. }), "{op}");
        assert_eq!(world.program(), pid, "{op}");
    }
}
