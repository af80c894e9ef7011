//! Pid files that name another held process, or a thread.

use model::operation::Op;
use model::{Code, Flag, FullName};

use crate::harness::{Home, TestSupervisor, is_alive, kill, name, until};

fn sibling() -> FullName {
    "test/sibling".parse().unwrap()
}

/// Two processes of one program, each with its pid file; the pid of the second, which runs.
fn with_sibling(home: &Home, supervisor: &mut TestSupervisor) -> i32 {
    let mut spec = home.spec("--daemon --pid-file %/sibling.pid");
    spec.identity.pid_path = home.file("sibling.pid");
    supervisor.hold_as(&sibling(), spec, Flag::Unregistered, false);
    let start = supervisor.begin_on(&sibling(), 900, Op::Start, None);
    assert_eq!(supervisor.end_of(start).code, Code::OK);
    supervisor.statuses[&sibling()].pid
}

#[test]
fn a_pid_of_another_held_process_is_not_adopted() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let other = with_sibling(&home, &mut supervisor);
    // A stale pid file whose pid is in use again.
    std::fs::write(home.path("pid"), format!("{other}\n")).unwrap();
    supervisor.hold(home.daemon());
    assert_eq!(supervisor.stopped().pid, -1);
    assert_eq!(supervisor.operate(1, Op::Query).instance.unwrap().pid, -1);
    for (number, op) in [(2, Op::Stop), (3, Op::Kill)] {
        assert_eq!(supervisor.operate(number, op).code, Code::NOT_RUNNING);
    }
    assert!(is_alive(other));
    supervisor.succeed(4, Op::Start);
    let pid = supervisor.running().pid;
    assert_eq!(pid, home.pid());
    assert_ne!(pid, other);
    // The same while the process is managed.
    std::fs::write(home.path("pid"), format!("{other}\n")).unwrap();
    kill(pid, libc::SIGKILL);
    let again = supervisor.next_run(&home, pid);
    assert_ne!(again, other);
    supervisor.succeed(5, Op::Kill);
    assert!(is_alive(other));
    // The same for the next agent.
    std::fs::write(home.path("pid"), format!("{other}\n")).unwrap();
    supervisor.stop();
    let mut supervisor = home.supervisor();
    assert_eq!(supervisor.stopped().pid, -1);
    assert_eq!(supervisor.operate(6, Op::Kill).code, Code::NOT_RUNNING);
    assert!(is_alive(other));
}

#[test]
fn a_process_that_is_registered_twice_is_shown_twice() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let pid = with_sibling(&home, &mut supervisor);
    let mut spec = home.daemon();
    spec.identity.pid_path = home.file("sibling.pid");
    supervisor.hold(spec);
    assert_eq!(supervisor.running().pid, pid);
}

#[test]
fn a_thread_id_is_not_a_pid() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut other = std::process::Command::new(env!("CARGO_BIN_EXE_odd-child"))
        .args(["--thread", &home.file("pid")])
        .spawn()
        .unwrap();
    until("a thread", || home.path("pid").exists().then_some(()));
    let thread = until("its number", || {
        let text = std::fs::read_to_string(home.path("pid")).ok()?;
        text.parse::<i32>().ok()
    });
    assert_ne!(thread, other.id() as i32);
    let mut spec = home.daemon();
    spec.monitor_policy.start_interval = 0;
    supervisor.hold_as(&name(), spec, Flag::Running, true);
    supervisor.next_run(&home, thread);
    supervisor.succeed(1, Op::Stop);
    assert!(is_alive(other.id() as i32));
    other.kill().unwrap();
    other.wait().unwrap();
}
