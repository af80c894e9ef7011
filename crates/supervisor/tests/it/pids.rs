//! Pid files that name somebody else: another process that is held, or something that is no process at all.

use model::operation::Op;
use model::{Code, Flag, FullName};

use crate::keeper::{Home, Keeper, is_alive, kill, name, wait_for};

fn sibling() -> FullName {
    "test/sibling".parse().unwrap()
}

/// Two of one program, each with its pid file; the pid of the second, which runs.
fn with_sibling(home: &Home, keeper: &mut Keeper) -> i32 {
    let mut spec = home.spec("--daemon --pid-file %/sibling.pid");
    spec.identity.pid_path = home.file("sibling.pid");
    keeper.hold_as(&sibling(), spec, Flag::Unregistered, false);
    let start = keeper.begin_on(&sibling(), 900, Op::Start, None);
    assert_eq!(keeper.end_of(start).code, Code::OK);
    keeper.statuses[&sibling()].pid
}

#[test]
fn a_pid_that_is_another_held_process_is_not_this_one() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let other = with_sibling(&home, &mut keeper);
    // What a run of long ago has left, with its number in use again.
    std::fs::write(home.path("pid"), format!("{other}\n")).unwrap();
    keeper.hold(home.daemon());
    assert_eq!(keeper.stopped().pid, -1);
    assert_eq!(keeper.operate(1, Op::Query).instance.unwrap().pid, -1);
    for (number, op) in [(2, Op::Stop), (3, Op::Kill)] {
        assert_eq!(keeper.operate(number, op).code, Code::NOT_RUNNING);
    }
    assert!(is_alive(other));
    keeper.succeed(4, Op::Start);
    let pid = keeper.running().pid;
    assert_eq!(pid, home.pid());
    assert_ne!(pid, other);
    // The same when it happens while it is managed.
    std::fs::write(home.path("pid"), format!("{other}\n")).unwrap();
    kill(pid, libc::SIGKILL);
    let again = keeper.next_run(&home, pid);
    assert_ne!(again, other);
    keeper.succeed(5, Op::Kill);
    assert!(is_alive(other));
    // And for the next agent.
    std::fs::write(home.path("pid"), format!("{other}\n")).unwrap();
    keeper.stop();
    let mut keeper = home.keeper();
    assert_eq!(keeper.stopped().pid, -1);
    assert_eq!(keeper.operate(6, Op::Kill).code, Code::NOT_RUNNING);
    assert!(is_alive(other));
}

#[test]
fn a_process_that_is_registered_twice_is_shown_twice() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let pid = with_sibling(&home, &mut keeper);
    let mut spec = home.daemon();
    spec.identity.pid_path = home.file("sibling.pid");
    keeper.hold(spec);
    assert_eq!(keeper.running().pid, pid);
}

#[test]
fn the_number_of_a_thread_is_no_pid() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut other = std::process::Command::new(env!("CARGO_BIN_EXE_odd-child"))
        .args(["--thread", &home.file("pid")])
        .spawn()
        .unwrap();
    wait_for("a thread", || home.path("pid").exists().then_some(()));
    let thread = wait_for("its number", || {
        let text = std::fs::read_to_string(home.path("pid")).ok()?;
        text.parse::<i32>().ok()
    });
    assert_ne!(thread, other.id() as i32);
    let mut spec = home.daemon();
    spec.monitor_policy.start_interval = 0;
    keeper.hold_as(&name(), spec, Flag::Running, true);
    keeper.next_run(&home, thread);
    keeper.succeed(1, Op::Stop);
    assert!(is_alive(other.id() as i32));
    other.kill().unwrap();
    other.wait().unwrap();
}
