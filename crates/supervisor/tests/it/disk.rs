//! A full disk under the agent: processes are still restarted, operations are refused until there is space.

use model::Code;
use model::event::EventKind;
use model::operation::Op;

use crate::harness::{Home, SmallDisk, TestSupervisor, is_alive, kill, options, until};

/// Kills the process, and waits for its next run.
fn kill_and_await_another(home: &Home, supervisor: &mut TestSupervisor) {
    let before = supervisor.running().pid;
    kill(before, libc::SIGKILL);
    until("another run", || {
        supervisor.listen();
        let pid = std::fs::read_to_string(home.path("pid")).ok()?;
        let pid = pid.trim().parse().ok()?;
        (pid != before && is_alive(pid)).then_some(())
    });
}

/// Waits for this many exit events and restart events.
fn await_told(supervisor: &mut TestSupervisor, n: usize) {
    for kind in [EventKind::ProcessExit, EventKind::ProcessRestartSuccess] {
        until(kind.as_str(), || {
            supervisor.listen();
            let told = supervisor.events.iter();
            (told.filter(|(_, event)| event.kind == kind).count() == n).then_some(())
        });
    }
}

#[test]
fn a_full_disk_refuses_operations_but_not_restarts() {
    let home = Home::new();
    let Some(disk) = SmallDisk::mount(home.path("agent"), "size=1m") else {
        return;
    };
    let mut supervisor = home.supervisor();
    supervisor.hold(home.daemon());
    supervisor.succeed(1, Op::Start);

    // The reserved space is enough for accepted operations, and for nothing new.
    disk.fill();
    let refused = (2..100).map(|number| supervisor.operate(number, Op::Query));
    let refused = refused.into_iter().find(|outcome| outcome.code != Code::OK);
    let refused = refused.expect("an operation that is not taken");
    assert_eq!(refused.code, Code::COMMAND_FAILED);
    assert!(
        refused.message.ends_with("is the disk full?"),
        "{}",
        refused.message
    );
    kill_and_await_another(&home, &mut supervisor);
    await_told(&mut supervisor, 1);

    // Without even that the process is restarted all the same; the events are reported once they can be journalled.
    disk.fill();
    kill_and_await_another(&home, &mut supervisor);
    disk.make_room();
    await_told(&mut supervisor, 2);
    let pid = supervisor.running().pid;
    supervisor.succeed(100, Op::Query);
    supervisor.stop();

    let (mut supervisor, recovered) = home.supervisor_with(options());
    assert_eq!(recovered.under_way, []);
    assert_eq!(supervisor.running().pid, pid);
    supervisor.succeed(101, Op::Stop);
    assert_eq!(home.processes(), 0);
}
