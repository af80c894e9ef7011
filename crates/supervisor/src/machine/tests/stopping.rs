//! `spec.stop` on a fake host.

use model::spec::stop::StopSignal;
use model::{Code, Flag, Op};

use super::world::World;
use super::{daemon, foreground, wanted, world};
use crate::machine::tests::world::Behaviour;

/// A running program that ignores signals.
fn stubborn(behaviour: Behaviour, grace: u32) -> World {
    let mut world = world(behaviour);
    world.ignores_term = true;
    world.spec.stop.signals = vec![StopSignal::Quit, StopSignal::Term];
    world.spec.stop.grace = Some(grace);
    world.ask(1, Op::Start);
    world.pass(10_000);
    assert!(world.program().is_some());
    world
}

#[test]
fn signals_come_one_after_the_other_and_then_sigkill() {
    for behaviour in [daemon(), foreground()] {
        let mut world = stubborn(behaviour, 3);
        world.ask(2, Op::Stop);
        assert_eq!(world.signals, 1);
        world.pass(2_999);
        assert_eq!(world.signals, 1);
        world.pass(1);
        assert_eq!(world.signals, 2);
        world.pass(2_999);
        assert!(world.killed.is_empty());
        world.pass(100);
        assert_eq!(world.program(), None);
        let end = world.last();
        assert_eq!((end.id.ordinal, end.code), (2, Code::OK));
        let said = "it did not stop within 3 s of SIGQUIT, SIGTERM and was killed (SIGKILL)";
        assert_eq!(end.warning, said);
        assert_eq!(wanted(&world), (Flag::Stopped, false));
    }
}

#[test]
fn a_program_that_ends_in_time_is_not_killed() {
    let mut world = stubborn(daemon(), 3);
    world.ignores_term = false;
    world.ask(2, Op::Restart);
    world.pass(20_000);
    assert_eq!((world.last().id.ordinal, world.last().code), (2, Code::OK));
    world.killed.clear();
    world.ask(3, Op::Stop);
    world.pass(1_000);
    assert_eq!((world.last().id.ordinal, world.last().code), (3, Code::OK));
    assert_eq!(world.last().warning, "");
    assert!(world.killed.is_empty());
}

#[test]
fn signals_follow_a_stop_command_that_did_not_help() {
    let mut world = stubborn(daemon(), 2);
    world.spec.control.stop_cmd = "stop".into();
    world.commands_exit = 1;
    world.ask(2, Op::Stop);
    world.pass(1_000);
    assert_eq!(world.signals, 0);
    world.pass(10_000);
    assert_eq!((world.signals, world.program()), (2, None));
    assert_eq!(world.last().code, Code::OK);
}

#[test]
fn a_stop_goes_on_where_it_was_after_a_restart_of_the_agent() {
    let mut world = stubborn(daemon(), 5);
    world.ask(2, Op::Stop);
    world.pass(6_000);
    assert_eq!(world.signals, 2);
    world.restart_agent();
    world.pass(3_900);
    assert_eq!(world.signals, 2, "no signal is sent twice");
    world.pass(200);
    assert_eq!(world.program(), None);
    assert_eq!(world.last().code, Code::OK);
}

#[test]
fn the_time_out_of_the_operation_ends_the_grace() {
    let mut world = stubborn(daemon(), 50);
    world.spec.monitor_policy.op_timeout = 20;
    world.ask(2, Op::Stop);
    world.pass(19_999);
    assert!(world.program().is_some());
    world.pass(100);
    assert_eq!((world.signals, world.program()), (1, None));
    assert_eq!(world.last().code, Code::OK);
}
