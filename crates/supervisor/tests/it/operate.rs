//! Each operation on daemons and on foreground programs.

use model::operation::Op;
use model::status::Exit;
use model::{Code, Flag, State};

use supervisor::ControlGroups;

use crate::harness::{Home, is_alive, kill, read, until, with_and_without_groups};

with_and_without_groups!(
    a_daemon_is_started_queried_and_stopped,
    a_managed_process_that_dies_is_restarted,
    a_start_that_leaves_no_process_is_836_at_once,
    a_command_that_hangs_is_killed_with_everything_under_it,
    a_program_that_ignores_sigterm_fails_the_stop_and_dies_by_kill,
);

fn a_daemon_is_started_queried_and_stopped(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    supervisor.hold(home.daemon());
    assert_eq!(supervisor.stopped().pid, -1);

    let started = supervisor.succeed(1, Op::Start);
    assert_eq!(
        (started.flag, started.managed),
        (Some(Flag::Running), Some(true))
    );
    let ran = started.ran.unwrap();
    assert_eq!(ran.exit, Some(Exit::Code(0)));
    let status = supervisor.running();
    assert_eq!(status.pid, home.pid());
    assert!(is_alive(status.pid));

    let instance = supervisor.succeed(2, Op::Query).instance.unwrap();
    assert_eq!(instance.pid, home.pid());
    assert!(instance.cmdline.contains("--pid-file"), "{instance:?}");
    assert!(instance.managed && instance.threads >= 1 && instance.rss_kib > 0);

    let again = supervisor.operate(3, Op::Start);
    assert_eq!(again.code, Code::ALREADY_RUNNING);
    assert_eq!(again.ran, None);

    let stopped = supervisor.succeed(4, Op::Stop);
    assert_eq!(
        (stopped.flag, stopped.managed),
        (Some(Flag::Stopped), Some(false))
    );
    assert!(!is_alive(status.pid));
    assert_eq!(supervisor.stopped().pid, -1);

    let again = supervisor.operate(5, Op::Stop);
    assert_eq!(again.code, Code::NOT_RUNNING);
    assert_eq!(
        again.message,
        "no need to stop the process(odd) that is not running"
    );
    assert_eq!(
        (again.flag, again.managed),
        (Some(Flag::Stopped), Some(false))
    );
    assert!(supervisor.events.is_empty(), "{:?}", supervisor.events);
}

#[test]
fn a_foreground_program_is_the_process_and_gets_a_pid_file_and_a_log() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--print hello --complain world");
    spec.identity.log_path = format!("{}/", home.file("work"));
    supervisor.hold(spec);
    let started = supervisor.succeed(1, Op::Start);
    let ran = started.ran.unwrap();
    assert_eq!((ran.exit, ran.output.as_str()), (None, "hello\nworld\n"));
    let status = supervisor.running();
    assert_eq!(status.pid, home.pid());
    assert_eq!(read(&home.path("work/odd.log")), "hello\nworld\n");

    supervisor.succeed(2, Op::Stop);
    assert!(!is_alive(status.pid));
    assert!(
        !home.path("pid").exists(),
        "the pid file that the agent wrote is gone"
    );
}

fn a_managed_process_that_dies_is_restarted(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--count %/count");
    spec.monitor_policy.start_interval = 0;
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let first = supervisor.running().pid;
    kill(first, libc::SIGKILL);
    let second = supervisor.status_where("running again", |s| {
        s.state == State::Running && s.pid != first
    });
    assert!(is_alive(second.pid));
    until("two runs", || (home.lines("count") == 2).then_some(()));
}

#[test]
fn a_restart_gives_a_new_run() {
    let home = Home::new();
    for (number, spec) in [(1, home.daemon()), (11, home.spec("--pid-file %/pid"))] {
        let mut supervisor = home.supervisor();
        supervisor.hold(spec);
        supervisor.succeed(number, Op::Restart);
        let first = supervisor.running().pid;
        let outcome = supervisor.succeed(number + 1, Op::Restart);
        assert_eq!(
            (outcome.flag, outcome.managed),
            (Some(Flag::Running), Some(true))
        );
        let second = supervisor
            .status_where("a new run", |s| s.pid != first && s.pid > 0)
            .pid;
        assert!(!is_alive(first) && is_alive(second));
        supervisor.succeed(number + 2, Op::Kill);
        assert!(!is_alive(second));
        assert!(supervisor.events.is_empty(), "{:?}", supervisor.events);
        supervisor.ask(supervisor::Request::Forget(crate::harness::name()));
        supervisor.stop();
    }
}

#[test]
fn commands_of_the_spec_are_used_instead_of_signals() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    let pid = home.file("pid");
    let said = |what: &str| format!("echo {what} >> {}; ", home.file("said"));
    spec.control.stop_cmd = format!("{} kill $(cat {pid})", said("stop"));
    spec.control.kill_cmd = format!("{} kill -9 $(cat {pid})", said("kill"));
    spec.control.reload_cmd = format!("{} exit 0", said("reload"));
    spec.control.restart_cmd = format!(
        "{} kill $(cat {pid}); {}",
        said("restart"),
        spec.control.start_cmd
    );
    supervisor.hold(spec);
    for (number, op) in [
        (1, Op::Start),
        (2, Op::Reload),
        (3, Op::Restart),
        (4, Op::Stop),
        (5, Op::Start),
        (6, Op::Kill),
    ] {
        let outcome = supervisor.succeed(number, op);
        assert!(outcome.ran.is_some(), "{op}");
    }
    assert_eq!(read(&home.path("said")), "reload\nrestart\nstop\nkill\n");
}

#[test]
fn a_reload_without_a_command_sends_sighup() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor
        .hold(home.spec("--touch-on-hup %/hups --daemon --touch-on-hup %/hups --pid-file %/pid"));
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    supervisor.succeed(2, Op::Reload);
    until("the signal", || (home.lines("hups") == 1).then_some(()));
    assert!(is_alive(pid));
    supervisor.succeed(3, Op::Stop);
    let refused = supervisor.operate(4, Op::Reload);
    assert_eq!(refused.code, Code::CHECK_FAILED);
}

#[test]
fn the_output_of_a_failed_command_is_the_message() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--print 'no such config' --complain 'giving up' --exit 3"));
    let outcome = supervisor.operate(1, Op::Start);
    assert_eq!(outcome.code, Code::COMMAND_FAILED);
    assert_eq!(outcome.message, "no such config\ngiving up");
    assert_eq!((outcome.flag, outcome.managed), (Some(Flag::Running), None));
    let ran = outcome.ran.unwrap();
    assert_eq!(ran.exit, Some(Exit::Code(3)));
    assert!(ran.command.contains("--exit 3"));

    supervisor.hold(home.spec("--exit 4"));
    let outcome = supervisor.operate(2, Op::Start);
    assert_eq!(
        outcome.message,
        "start_cmd exited with code 4 and printed nothing"
    );
}

fn a_start_that_leaves_no_process_is_836_at_once(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--exit 0");
    spec.monitor_policy.op_timeout = 600;
    supervisor.hold(spec);
    let outcome = supervisor.operate(1, Op::Start);
    assert_eq!(outcome.code, Code::CHECK_FAILED);
    let begin = "start process (odd) failed, for post-check status not alive, ";
    assert!(outcome.message.starts_with(begin), "{}", outcome.message);
    assert!(
        outcome.message.contains("there is no pid file"),
        "{}",
        outcome.message
    );
}

fn a_command_that_hangs_is_killed_with_everything_under_it(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--count %/pids --workers 2 --leak-child");
    spec.monitor_policy.op_timeout = 1;
    spec.monitor_policy.start_check_secs = 30;
    spec.control.start_cmd = format!(
        "echo begun; {} & {}",
        spec.control.start_cmd, spec.control.start_cmd
    );
    supervisor.hold(spec);
    let outcome = supervisor.operate(1, Op::Start);
    assert_eq!(outcome.code, Code::COMMAND_FAILED);
    assert!(
        outcome.message.contains("op_timeout"),
        "{}",
        outcome.message
    );
    assert_eq!(outcome.ran.unwrap().output, "begun\n");
    for pid in read(&home.path("pids")).lines() {
        assert!(!is_alive(pid.parse().unwrap()));
    }
    assert_eq!(home.processes(), 0, "nothing is left of it");
}

fn a_program_that_ignores_sigterm_fails_the_stop_and_dies_by_kill(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--daemon --ignore-term --workers 3 --pid-file %/pid");
    supervisor.hold(spec.clone());
    supervisor.succeed(1, Op::Start);
    spec.monitor_policy.op_timeout = 1;
    supervisor.hold(spec.clone());
    let outcome = supervisor.operate(2, Op::Stop);
    assert_eq!(outcome.code, Code::CHECK_FAILED);
    assert!(
        outcome.message.starts_with("stop process (odd) failed, "),
        "{}",
        outcome.message
    );
    assert_eq!(
        supervisor.running().pid,
        home.pid(),
        "it is shown as what it is"
    );
    spec.monitor_policy.op_timeout = 60;
    supervisor.hold(spec);
    supervisor.succeed(3, Op::Kill);
    until("its workers to be gone", || {
        (home.processes() == 0).then_some(())
    });
}

#[test]
fn a_spec_that_cannot_run_is_refused_before_execution() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let good = home.daemon();
    let broken = |change: &dyn Fn(&mut model::Spec)| {
        let mut spec = good.clone();
        change(&mut spec);
        spec
    };
    let rows: [(model::Spec, &str); 6] = [
        (
            broken(&|s| s.identity.user = "no-such-user".into()),
            "spec.identity.user: there is no user no-such-user",
        ),
        (
            broken(&|s| s.identity.setup_path = "/no/such/dir".into()),
            "spec.identity.setup_path: /no/such/dir cannot be entered",
        ),
        (
            broken(&|s| s.identity.setup_path = "/etc/passwd".into()),
            "spec.identity.setup_path: /etc/passwd is not a directory",
        ),
        (
            broken(&|s| s.control.start_cmd = "./missing -d".into()),
            "spec.control.start_cmd: the program ./missing",
        ),
        (
            broken(&|s| s.control.start_cmd = "no-such-program".into()),
            "spec.control.start_cmd: the program no-such-program is not in",
        ),
        (
            broken(&|s| s.control.start_cmd.clear()),
            "spec.control.start_cmd: there is none",
        ),
    ];
    let mut number = 0;
    for (spec, message) in rows {
        supervisor.hold(spec);
        for op in [Op::Start, Op::Manage, Op::Restart] {
            number += 1;
            let outcome = supervisor.operate(number, op);
            assert_eq!(outcome.code, Code::COMMAND_FAILED, "{op} {message}");
            assert!(
                outcome.message.starts_with(message),
                "{op}: {} | {message}",
                outcome.message
            );
            assert_eq!(
                (outcome.ran, outcome.managed),
                (None, None),
                "{op} {message}"
            );
        }
    }
}

#[test]
fn operations_on_one_process_end_in_order_of_arrival() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.daemon());
    let ops = [
        Op::Start,
        Op::Query,
        Op::Restart,
        Op::Reload,
        Op::Stop,
        Op::Query,
        Op::Start,
        Op::Kill,
    ];
    let ids: Vec<_> = (1..)
        .zip(ops)
        .map(|(number, op)| supervisor.begin(number, op))
        .collect();
    supervisor.end_of(*ids.last().unwrap());
    assert_eq!(supervisor.ends, ids);
}

#[test]
fn an_operation_past_its_deadline_is_not_begun() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.daemon());
    let id = crate::harness::op_id(1);
    supervisor.ask(supervisor::Request::Operate(supervisor::Operation {
        id,
        process: crate::harness::name(),
        op: Op::Start,
        probe: None,
        deadline: model::UnixMillis(1),
    }));
    assert_eq!(supervisor.end_of(id).code, Code::TERMINATED);
    assert_eq!(home.processes(), 0);
}

#[test]
fn a_repeated_operation_is_answered_and_not_run_again() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--count %/count"));
    let first = supervisor.operate(1, Op::Restart);
    let again = supervisor.operate(1, Op::Restart);
    assert_eq!(first, again);
    supervisor.ask(supervisor::Request::AcknowledgeResults(vec![
        crate::harness::op_id(1),
    ]));
    supervisor.begin(1, Op::Restart);
    supervisor.succeed(2, Op::Query);
    assert_eq!(home.lines("count"), 1);
}

#[test]
fn a_process_that_is_not_held_can_be_queried_and_nothing_else() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let spec = home.daemon();
    supervisor.hold(spec.clone());
    supervisor.succeed(1, Op::Start);
    let stranger: model::FullName = "other/name".parse().unwrap();
    let mut probe = model::spec::Probe::from(&spec);
    probe.version_cmd = "echo odd 4.5.6".into();
    let id = supervisor.begin_on(&stranger, 2, Op::Query, Some(probe));
    let instance = supervisor.end_of(id).instance.unwrap();
    assert_eq!(
        (instance.pid, instance.version.as_str()),
        (home.pid(), "odd 4.5.6")
    );
    let id = supervisor.begin_on(&stranger, 3, Op::Query, None);
    assert_eq!(supervisor.end_of(id).instance.unwrap().pid, -1);
    let id = supervisor.begin_on(&stranger, 4, Op::Start, None);
    let outcome = supervisor.end_of(id);
    assert_eq!(
        (outcome.code, outcome.message.as_str()),
        (Code::NOT_REGISTERED, "process is not registered")
    );
    let id = supervisor.begin_on(&stranger, 5, Op::Unmanage, None);
    assert_eq!(supervisor.end_of(id).code, Code::OK);
}

#[test]
fn managing_and_unmanaging_touch_no_process_that_runs() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.daemon());
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    let outcome = supervisor.succeed(2, Op::Unmanage);
    assert_eq!((outcome.flag, outcome.managed), (None, Some(false)));
    let outcome = supervisor.succeed(3, Op::Manage);
    assert_eq!(
        (outcome.flag, outcome.managed),
        (Some(Flag::Running), Some(true))
    );
    assert_eq!(home.pid(), pid);
    supervisor.succeed(4, Op::Stop);
    supervisor.succeed(5, Op::Manage);
    assert_ne!(
        supervisor.running().pid,
        pid,
        "managing a dead one starts it"
    );
}

#[test]
fn a_process_that_is_forgotten_and_registered_again_at_once_is_held() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.daemon());
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    let anew = supervisor::Registration {
        name: crate::harness::name(),
        incarnation: 2,
        spec: std::sync::Arc::new(home.daemon()),
        labels: Default::default(),
        definition_hash: 6,
        flag: Flag::Stopped,
        managed: false,
        registered_at: model::UnixMillis(2),
    };
    for round in 0..20 {
        supervisor.ask(supervisor::Request::Forget(crate::harness::name()));
        supervisor.ask(supervisor::Request::Hold(supervisor::Registration {
            incarnation: 2 + round,
            ..anew.clone()
        }));
    }
    let instance = supervisor.succeed(2, Op::Query).instance.unwrap();
    assert_eq!((instance.pid, instance.managed), (pid, false));
    supervisor.stop();
    let (_, recovered) = home.supervisor_with(crate::harness::options());
    assert_eq!(recovered.held[0].incarnation, 21);
    assert_eq!(recovered.held[0].flag, Flag::Stopped);
}

#[test]
fn a_repeated_registration_changes_nothing() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.daemon());
    supervisor.succeed(1, Op::Start);
    let size = || std::fs::metadata(home.path("agent/journal")).unwrap().len();
    let before = size();
    for _ in 0..100 {
        supervisor.hold(home.daemon());
    }
    supervisor.stop();
    assert_eq!(size(), before);
}
