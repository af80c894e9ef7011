//! Each operation on daemons and on foreground programs.

use model::operation::Op;
use model::status::Exit;
use model::{Code, Flag, State};

use crate::keeper::{Home, is_alive, kill, read, wait_for};

#[test]
fn a_daemon_is_started_queried_and_stopped() {
    let home = Home::new();
    let mut keeper = home.keeper();
    keeper.hold(home.daemon());
    assert_eq!(keeper.stopped().pid, -1);

    let started = keeper.succeed(1, Op::Start);
    assert_eq!(
        (started.flag, started.managed),
        (Some(Flag::Running), Some(true))
    );
    let ran = started.ran.unwrap();
    assert_eq!(ran.exit, Some(Exit::Code(0)));
    let status = keeper.running();
    assert_eq!(status.pid, home.pid());
    assert!(is_alive(status.pid));

    let instance = keeper.succeed(2, Op::Query).instance.unwrap();
    assert_eq!(instance.pid, home.pid());
    assert!(instance.cmdline.contains("--pid-file"), "{instance:?}");
    assert!(instance.managed && instance.threads >= 1 && instance.rss_kib > 0);

    let again = keeper.operate(3, Op::Start);
    assert_eq!(again.code, Code::ALREADY_RUNNING);
    assert_eq!(again.ran, None);

    let stopped = keeper.succeed(4, Op::Stop);
    assert_eq!(
        (stopped.flag, stopped.managed),
        (Some(Flag::Stopped), Some(false))
    );
    assert!(!is_alive(status.pid));
    assert_eq!(keeper.stopped().pid, -1);

    let again = keeper.operate(5, Op::Stop);
    assert_eq!(again.code, Code::NOT_RUNNING);
    assert_eq!(
        again.message,
        "no need to stop the process(odd) that is not running"
    );
    assert_eq!(
        (again.flag, again.managed),
        (Some(Flag::Stopped), Some(false))
    );
    assert!(keeper.events.is_empty(), "{:?}", keeper.events);
}

#[test]
fn a_foreground_program_is_the_process_and_gets_a_pid_file_and_a_log() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--print hello --complain world");
    spec.identity.log_path = format!("{}/", home.file("work"));
    keeper.hold(spec);
    let started = keeper.succeed(1, Op::Start);
    let ran = started.ran.unwrap();
    assert_eq!((ran.exit, ran.output.as_str()), (None, "hello\nworld\n"));
    let status = keeper.running();
    assert_eq!(status.pid, home.pid());
    assert_eq!(read(&home.path("work/odd.log")), "hello\nworld\n");

    keeper.succeed(2, Op::Stop);
    assert!(!is_alive(status.pid));
    assert!(
        !home.path("pid").exists(),
        "the pid file that the agent wrote is gone"
    );
}

#[test]
fn a_managed_process_that_dies_is_restarted() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--count %/count");
    spec.monitor_policy.start_interval = 0;
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let first = keeper.running().pid;
    kill(first, libc::SIGKILL);
    let second = keeper.status_where("running again", |s| {
        s.state == State::Running && s.pid != first
    });
    assert!(is_alive(second.pid));
    wait_for("two runs", || (home.lines("count") == 2).then_some(()));
}
