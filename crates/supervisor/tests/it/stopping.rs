//! `spec.stop` with real processes.

use model::operation::Op;
use model::spec::stop::StopSignal;
use model::status::Exit;
use supervisor::ControlGroups;

use crate::harness::{Home, is_alive, until, with_and_without_groups};

with_and_without_groups!(a_program_that_ignores_its_signals_is_killed_with_its_descendants,);

#[test]
fn signals_are_sent_in_their_order_until_it_ends() {
    for options in ["--daemon --pid-file %/pid ", ""] {
        let home = Home::new();
        let mut supervisor = home.supervisor();
        let mut spec = home.spec(&format!("{options}--touch-on-hup %/hup"));
        spec.stop.signals = vec![StopSignal::Hup, StopSignal::Int];
        spec.stop.grace = Some(1);
        supervisor.hold(spec);
        supervisor.succeed(1, Op::Start);
        let pid = supervisor.running().pid;
        let stopped = supervisor.succeed(2, Op::Stop);
        assert_eq!(stopped.warning, None);
        assert!(!is_alive(pid));
        assert_eq!(home.lines("hup"), 1, "{options}");
        if options.is_empty() {
            let last = supervisor.stopped().last_exit.unwrap();
            assert_eq!(last.exit, Exit::Signal(libc::SIGINT));
        }
    }
}

fn a_program_that_ignores_its_signals_is_killed_with_its_descendants(groups: ControlGroups) {
    for (options, stop_cmd) in [
        ("--ignore-term --workers 2", ""),
        ("--ignore-term --workers 2", "false"),
        ("--daemon --pid-file %/pid --ignore-term", ""),
    ] {
        let home = Home::with(groups);
        let mut supervisor = home.supervisor();
        let mut spec = home.spec(options);
        spec.control.stop_cmd = stop_cmd.into();
        spec.stop.grace = Some(1);
        supervisor.hold(spec);
        supervisor.succeed(1, Op::Start);
        let pid = supervisor.running().pid;
        let stopped = supervisor.succeed(2, Op::Stop);
        let said = "it did not stop within 1 s of SIGTERM and was killed (SIGKILL)";
        assert_eq!(stopped.warning.as_deref(), Some(said), "{options}");
        assert!(!is_alive(pid));
        until("nothing is left", || (home.processes() == 0).then_some(()));
    }
}

#[test]
fn a_stop_command_that_hangs_is_killed_and_then_the_process() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    spec.control.stop_cmd = "sleep 1000".into();
    spec.monitor_policy.op_timeout = 1;
    spec.stop.grace = Some(1);
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let stopped = supervisor.succeed(2, Op::Stop);
    let said = "it did not stop and was killed (SIGKILL)";
    assert_eq!(stopped.warning.as_deref(), Some(said));
    until("nothing is left", || (home.processes() == 0).then_some(()));
}
