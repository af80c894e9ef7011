//! Faults around real processes: missing rights, unusable files, leftovers.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::time::Duration;

use model::operation::Op;
use model::{Code, FullName, Spec, State};

use supervisor::ControlGroups;

use crate::harness::{
    Home, is_alive, kill, name, options, runs_as_root, until, with_and_without_groups,
};

with_and_without_groups!(
    workers_of_a_crashed_run_do_not_pile_up,
    a_kill_reaches_leftovers_of_earlier_runs_only,
);

/// Starts a program by hand, as an operator does.
fn by_hand(spec: &Spec) {
    let status = std::process::Command::new("sh")
        .args(["-c", &spec.control.start_cmd])
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn a_refused_signal_fails_the_operation_at_once() {
    if !runs_as_root() {
        return;
    }
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    for (op, signal) in [("reload", 1), ("stop", 15), ("kill", 9), ("restart", 15)] {
        let home = Home::new();
        home.open_to_all();
        for dir in [home.root().to_owned(), home.path("agent")] {
            std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        let mut spec = home.daemon();
        spec.identity.user = "nobody".into();
        spec.monitor_policy.op_timeout = 600;
        by_hand(&spec);
        until("its pid file", || home.path("pid").exists().then_some(()));
        std::fs::write(home.path("spec.json"), spec.to_json()).unwrap();
        std::fs::write(home.path("ops.json"), format!("[[1, \"{op}\"]]")).unwrap();
        let mut agent = crate::crash::driver_of(&home)
            .uid(nobody.uid.as_raw())
            .gid(nobody.gid.as_raw())
            .spawn()
            .unwrap();
        let outcome = until("an end", || {
            let text = std::fs::read_to_string(home.path("messages")).ok()?;
            (!text.is_empty()).then_some(text)
        });
        agent.kill().unwrap();
        agent.wait().unwrap();
        let pid = home.pid();
        let expected = format!(
            "the agent runs as nobody and cannot send signal {signal} to pid {pid} of root; only an agent that runs as root can"
        );
        assert!(outcome.contains(&expected), "{op}: {outcome}");
        assert!(outcome.contains("65535"), "{op}: {outcome}");
        assert!(is_alive(pid));
    }
}

#[test]
fn a_running_process_is_not_managed_if_its_spec_cannot_run() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    by_hand(&spec);
    spec.identity.setup_path = "/no/such/dir".into();
    supervisor.hold(spec);
    supervisor.running();
    for (number, op) in [(1, Op::Start), (2, Op::Manage)] {
        let outcome = supervisor.operate(number, op);
        assert_eq!(outcome.code, Code::COMMAND_FAILED, "{op}");
        let expected = "spec.identity.setup_path: /no/such/dir cannot be entered";
        assert!(outcome.message.starts_with(expected), "{}", outcome.message);
        assert_eq!(outcome.managed, None, "{op}");
    }
    let instance = supervisor.succeed(3, Op::Query).instance.unwrap();
    assert!(!instance.managed && instance.pid == home.pid());
}

fn workers_of_a_crashed_run_do_not_pile_up(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--workers 2 --leak-child --count %/count");
    spec.monitor_policy.start_interval = 0;
    spec.monitor_policy.start_retries = 2;
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let mut pid = supervisor.running().pid;
    for _ in 0..2 {
        until("all of it", || (home.processes() == 4).then_some(()));
        kill(pid, libc::SIGKILL);
        let next =
            supervisor.status_where("the next", |s| s.state == State::Running && s.pid != pid);
        pid = next.pid;
        until("up for good", || {
            supervisor.listen();
            let restarted = |message: &str| message.starts_with("restarted");
            let status = supervisor.statuses.get(&name())?;
            restarted(&status.message).then_some(())
        });
    }
    until("one family only", || (home.processes() == 4).then_some(()));
    kill(pid, libc::SIGKILL);
    supervisor.status_where("given up", |s| s.message.starts_with("gave up"));
    assert_eq!(home.processes(), 0, "nothing is left of it");
}

fn a_kill_reaches_leftovers_of_earlier_runs_only(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    let mut other = home.spec("--daemon --pid-file %/other");
    other.identity.pid_path = home.file("other");
    let mut by_operator = home.spec("--daemon --pid-file %/operators");
    by_operator.identity.pid_path = home.file("operators");
    by_hand(&by_operator);

    // Also starts another held process, like one script for everything.
    let mut spec = home.spec("--workers 2");
    spec.control.start_cmd = format!("{}; {}", other.control.start_cmd, spec.control.start_cmd);
    let other_name: FullName = "test/other".parse().unwrap();
    supervisor.hold_as(&other_name, other, model::Flag::Unregistered, false);
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let other_pid = until("the other", || {
        supervisor.listen();
        let status = supervisor.statuses.get(&other_name)?;
        (status.pid > 0).then_some(status.pid)
    });
    supervisor.succeed(2, Op::Unmanage);
    // Not the shell, which is shown until the program runs.
    let is_odd = |pid| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == "odd-child\n")
    };
    let status = supervisor.status_where("the program", |s| is_odd(s.pid));
    kill(status.pid, libc::SIGKILL);
    supervisor.stopped();
    until("its workers", || (home.processes() >= 4).then_some(()));

    let outcome = supervisor.operate(3, Op::Stop);
    assert_eq!(outcome.code, Code::NOT_RUNNING);
    assert_eq!(
        home.processes(),
        4,
        "a stop of what does not run executes nothing"
    );
    let outcome = supervisor.operate(4, Op::Kill);
    assert_eq!(outcome.code, Code::NOT_RUNNING);
    assert_eq!(home.processes(), 2, "the workers are gone");
    let operators: i32 = crate::harness::read(&home.path("operators"))
        .trim()
        .parse()
        .unwrap();
    assert!(is_alive(operators), "it is none of ours");
    assert!(is_alive(other_pid), "another process's run is its own");
}

#[test]
fn the_status_reports_an_unusable_log() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    std::fs::create_dir(home.path("work/dir.log")).unwrap();
    std::os::unix::fs::symlink(home.path("nowhere/log"), home.path("work/dangling")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(home.path("work/fifo"))
        .status();
    assert!(made.unwrap().success());
    std::fs::create_dir_all(home.path("work/logs/odd.log")).unwrap();
    let mut number = 0;
    for (log_path, path, why) in [
        ("missing/log", "missing/log", "No such file or directory"),
        (
            "missing/logs/",
            "missing/logs/odd.log",
            "No such file or directory",
        ),
        ("work/fifo", "work/fifo", "it is not a file"),
        ("work/logs", "work/logs/odd.log", "Is a directory"),
        ("work/dangling", "work/dangling", "it is a symbolic link"),
    ] {
        let mut spec = home.spec("--print hello");
        spec.identity.log_path = home.file(log_path);
        if log_path.ends_with('/') {
            spec.identity.log_path = format!("{}/", home.file(log_path.trim_end_matches('/')));
        }
        supervisor.hold(spec);
        number += 2;
        let ran = supervisor.succeed(number, Op::Start).ran.unwrap();
        assert_eq!(ran.output, "hello\n", "{log_path}");
        let status = supervisor.status_where("the complaint", |s| {
            s.state == State::Running && s.message.contains(why)
        });
        let begin = format!("log_path: cannot open {}: {why}", home.file(path));
        assert!(status.message.starts_with(&begin), "{}", status.message);
        let end = "; output is kept by the agent only";
        assert!(status.message.ends_with(end), "{}", status.message);
        supervisor.succeed(number + 1, Op::Stop);
        supervisor.status_where("nothing", |s| s.pid == -1 && s.message.is_empty());
    }
}

#[test]
fn a_missing_log_directory_is_created() {
    let home = Home::new();
    home.open_to_all();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--print hello");
    let is_root = nix::unistd::geteuid().is_root();
    if is_root {
        spec.identity.user = "nobody".into();
        spec.identity.pid_path = home.file("work/pid");
    }
    spec.identity.log_path = format!("{}/", home.file("work/logs"));
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    assert_eq!(
        crate::harness::read(&home.path("work/logs/odd.log")),
        "hello\n"
    );
    let made = std::fs::metadata(home.path("work/logs")).unwrap();
    assert_eq!(made.mode() & 0o777, 0o755);
    if is_root {
        let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
        assert_eq!(made.uid(), nobody.uid.as_raw());
    }
    assert_eq!(supervisor.running().message, "");
}

#[test]
fn the_status_reports_an_unwritable_pid_file() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    std::fs::create_dir(home.path("work/pid")).unwrap();
    std::os::unix::fs::symlink(home.path("elsewhere"), home.path("work/link")).unwrap();
    for (number, path, why) in [
        (1, "missing/pid", "No such file or directory"),
        (3, "work/pid", "Is a directory"),
        (5, "work/link", "it is a symbolic link"),
    ] {
        let mut spec = home.spec("");
        spec.identity.pid_path = home.file(path);
        supervisor.hold(spec);
        supervisor.succeed(number, Op::Start);
        let expected = format!(
            "pid_path: cannot write {}: {why}; only this agent knows the pid",
            home.file(path)
        );
        supervisor.status_where("the complaint", |s| s.message == expected);
        supervisor.succeed(number + 1, Op::Stop);
    }
}

#[test]
fn a_failed_stop_command_is_quoted_and_the_process_stays_running() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--print 'from the program'");
    spec.control.stop_cmd = "echo cannot stop; exit 9".into();
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let outcome = supervisor.operate(2, Op::Stop);
    assert_eq!(outcome.message, "cannot stop");
    let status = supervisor.status_where("the message", |s| !s.message.is_empty());
    assert_eq!(status.message, "stop_cmd exited with code 9: cannot stop");
    assert_eq!(status.state, State::Running);
}

#[test]
fn a_slow_version_command_keeps_the_last_version() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    let slow = home.file("slow");
    let ended = home.path("ended");
    spec.control.version_cmd = format!(
        "if test -e {slow}; then sleep 600; touch {}; fi; echo odd 1.2.3",
        ended.display()
    );
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    supervisor.status_where("a version", |s| s.version == "odd 1.2.3");
    std::fs::write(&slow, "").unwrap();
    let instance = supervisor.succeed(2, Op::Query).instance.unwrap();
    assert_eq!(instance.version, "odd 1.2.3");
    assert!(!ended.exists(), "the query did not wait for the command");
    supervisor.succeed(3, Op::Stop);
    let mut failing = home.daemon();
    failing.control.version_cmd = "exit 1".into();
    supervisor.hold(failing);
    supervisor.succeed(4, Op::Start);
    let instance = supervisor.succeed(5, Op::Query).instance.unwrap();
    assert_eq!(instance.version, "odd 1.2.3");
}

#[test]
fn the_disk_of_a_new_run_is_counted_at_once() {
    let home = Home::new();
    let (mut supervisor, _) = home.supervisor_with(supervisor::Options {
        count_disk_every: Duration::from_secs(3600),
        ..options()
    });
    let mut spec = home.spec("");
    std::fs::create_dir(home.path("work/logs")).unwrap();
    spec.identity.log_path = home.file("work/logs");
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    supervisor.succeed(2, Op::Stop);
    std::fs::write(home.path("work/logs/old"), vec![1; 300_000]).unwrap();
    supervisor.succeed(3, Op::Start);
    supervisor.status_where("disk", |s| s.disk >= 300_000);
}
