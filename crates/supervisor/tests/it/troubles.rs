//! What goes wrong around real processes: rights that are missing, files that cannot be used, what is left behind.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

use model::operation::Op;
use model::{Code, FullName, Spec, State};

use supervisor::ControlGroups;

use crate::keeper::{Home, both_ways, is_alive, kill, name, options, wait_for};

both_ways!(
    workers_of_a_crashed_run_do_not_pile_up,
    a_kill_reaches_what_earlier_runs_left_and_nobody_else,
);

/// Starts a program as an operator does by hand.
fn by_hand(spec: &Spec) {
    let status = std::process::Command::new("sh")
        .args(["-c", &spec.control.start_cmd])
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn an_agent_that_may_not_signal_a_process_says_so_at_once() {
    if !nix::unistd::geteuid().is_root() {
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
        wait_for("its pid file", || home.path("pid").exists().then_some(()));
        std::fs::write(home.path("spec.json"), spec.to_json()).unwrap();
        std::fs::write(home.path("ops.json"), format!("[[1, \"{op}\"]]")).unwrap();
        let mut agent = crate::crash::driver_of(&home)
            .uid(nobody.uid.as_raw())
            .gid(nobody.gid.as_raw())
            .spawn()
            .unwrap();
        let outcome = wait_for("an end", || {
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
fn a_program_that_runs_is_not_managed_if_it_could_not_be_started_again() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.daemon();
    by_hand(&spec);
    spec.identity.setup_path = "/no/such/dir".into();
    keeper.hold(spec);
    keeper.running();
    for (number, op) in [(1, Op::Start), (2, Op::Manage)] {
        let outcome = keeper.operate(number, op);
        assert_eq!(outcome.code, Code::COMMAND_FAILED, "{op}");
        let expected = "spec.identity.setup_path: /no/such/dir cannot be entered";
        assert!(outcome.message.starts_with(expected), "{}", outcome.message);
        assert_eq!(outcome.managed, None, "{op}");
    }
    let instance = keeper.succeed(3, Op::Query).instance.unwrap();
    assert!(!instance.managed && instance.pid == home.pid());
}

fn workers_of_a_crashed_run_do_not_pile_up(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut keeper = home.keeper();
    let mut spec = home.spec("--workers 2 --leak-child --count %/count");
    spec.monitor_policy.start_interval = 0;
    spec.monitor_policy.start_retries = 2;
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let mut pid = keeper.running().pid;
    for _ in 0..2 {
        wait_for("all of it", || (home.processes() == 4).then_some(()));
        kill(pid, libc::SIGKILL);
        let next = keeper.status_where("the next", |s| s.state == State::Running && s.pid != pid);
        pid = next.pid;
        wait_for("up for good", || {
            keeper.listen();
            let restarted = |message: &str| message.starts_with("restarted");
            let status = keeper.statuses.get(&name())?;
            restarted(&status.message).then_some(())
        });
    }
    wait_for("one family only", || (home.processes() == 4).then_some(()));
    kill(pid, libc::SIGKILL);
    keeper.status_where("given up", |s| s.message.starts_with("gave up"));
    assert_eq!(home.processes(), 0, "nothing is left of it");
}

fn a_kill_reaches_what_earlier_runs_left_and_nobody_else(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut keeper = home.keeper();
    let mut other = home.spec("--daemon --pid-file %/other");
    other.identity.pid_path = home.file("other");
    let mut by_operator = home.spec("--daemon --pid-file %/operators");
    by_operator.identity.pid_path = home.file("operators");
    by_hand(&by_operator);

    // Starts another process of ours on its way, as one script for everything does.
    let mut spec = home.spec("--workers 2");
    spec.control.start_cmd = format!("{}; {}", other.control.start_cmd, spec.control.start_cmd);
    let other_name: FullName = "test/other".parse().unwrap();
    keeper.hold_as(&other_name, other, model::Flag::Unregistered, false);
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let other_pid = wait_for("the other", || {
        keeper.listen();
        let status = keeper.statuses.get(&other_name)?;
        (status.pid > 0).then_some(status.pid)
    });
    keeper.succeed(2, Op::Unmanage);
    // Not the shell that starts it, which is shown until the program is there.
    let is_odd = |pid| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == "odd-child\n")
    };
    let status = keeper.status_where("the program", |s| is_odd(s.pid));
    kill(status.pid, libc::SIGKILL);
    keeper.stopped();
    wait_for("its workers", || (home.processes() >= 4).then_some(()));

    let outcome = keeper.operate(3, Op::Stop);
    assert_eq!(outcome.code, Code::NOT_RUNNING);
    assert_eq!(
        home.processes(),
        4,
        "a stop of what does not run executes nothing"
    );
    let outcome = keeper.operate(4, Op::Kill);
    assert_eq!(outcome.code, Code::NOT_RUNNING);
    assert_eq!(home.processes(), 2, "the workers are gone");
    let operators: i32 = crate::keeper::read(&home.path("operators"))
        .trim()
        .parse()
        .unwrap();
    assert!(is_alive(operators), "it is none of ours");
    assert!(is_alive(other_pid), "another process's run is its own");
}

#[test]
fn a_log_that_cannot_be_used_is_told() {
    let home = Home::new();
    let mut keeper = home.keeper();
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
        keeper.hold(spec);
        number += 2;
        let ran = keeper.succeed(number, Op::Start).ran.unwrap();
        assert_eq!(ran.output, "hello\n", "{log_path}");
        let status = keeper.status_where("the complaint", |s| {
            s.state == State::Running && s.message.contains(why)
        });
        let begin = format!("log_path: cannot open {}: {why}", home.file(path));
        assert!(status.message.starts_with(&begin), "{}", status.message);
        let end = "; output is kept by the agent only";
        assert!(status.message.ends_with(end), "{}", status.message);
        keeper.succeed(number + 1, Op::Stop);
        keeper.status_where("nothing", |s| s.pid == -1 && s.message.is_empty());
    }
}

#[test]
fn a_directory_for_the_log_is_made_where_only_that_is_missing() {
    let home = Home::new();
    home.open_to_all();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--print hello");
    let is_root = nix::unistd::geteuid().is_root();
    if is_root {
        spec.identity.user = "nobody".into();
        spec.identity.pid_path = home.file("work/pid");
    }
    spec.identity.log_path = format!("{}/", home.file("work/logs"));
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    assert_eq!(
        crate::keeper::read(&home.path("work/logs/odd.log")),
        "hello\n"
    );
    let made = std::fs::metadata(home.path("work/logs")).unwrap();
    assert_eq!(made.mode() & 0o777, 0o755);
    if is_root {
        let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
        assert_eq!(made.uid(), nobody.uid.as_raw());
    }
    assert_eq!(keeper.running().message, "");
}

#[test]
fn a_pid_file_that_cannot_be_written_is_told() {
    let home = Home::new();
    let mut keeper = home.keeper();
    std::fs::create_dir(home.path("work/pid")).unwrap();
    std::os::unix::fs::symlink(home.path("elsewhere"), home.path("work/link")).unwrap();
    for (number, path, why) in [
        (1, "missing/pid", "No such file or directory"),
        (3, "work/pid", "Is a directory"),
        (5, "work/link", "it is a symbolic link"),
    ] {
        let mut spec = home.spec("");
        spec.identity.pid_path = home.file(path);
        keeper.hold(spec);
        keeper.succeed(number, Op::Start);
        let expected = format!(
            "pid_path: cannot write {}: {why}; only this agent knows the pid",
            home.file(path)
        );
        keeper.status_where("the complaint", |s| s.message == expected);
        keeper.succeed(number + 1, Op::Stop);
    }
}

#[test]
fn a_stop_command_that_fails_is_quoted_and_the_process_is_not_said_to_have_ended() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--print 'from the program'");
    spec.control.stop_cmd = "echo cannot stop; exit 9".into();
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let outcome = keeper.operate(2, Op::Stop);
    assert_eq!(outcome.message, "cannot stop");
    let status = keeper.status_where("the message", |s| !s.message.is_empty());
    assert_eq!(status.message, "stop_cmd exited with code 9: cannot stop");
    assert_eq!(status.state, State::Running);
}

#[test]
fn a_program_that_is_slow_to_tell_its_version_keeps_the_one_it_told() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.daemon();
    let slow = home.file("slow");
    spec.control.version_cmd = format!("if test -e {slow}; then sleep 30; fi; echo odd 1.2.3");
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    keeper.status_where("a version", |s| s.version == "odd 1.2.3");
    std::fs::write(&slow, "").unwrap();
    let begin = Instant::now();
    let instance = keeper.succeed(2, Op::Query).instance.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(6));
    assert_eq!(instance.version, "odd 1.2.3");
    keeper.succeed(3, Op::Stop);
    let mut failing = home.daemon();
    failing.control.version_cmd = "exit 1".into();
    keeper.hold(failing);
    keeper.succeed(4, Op::Start);
    let instance = keeper.succeed(5, Op::Query).instance.unwrap();
    assert_eq!(instance.version, "odd 1.2.3");
}

#[test]
fn the_disk_of_a_new_run_is_counted_at_once() {
    let home = Home::new();
    let (mut keeper, _) = home.keeper_with(supervisor::Options {
        count_disk_every: Duration::from_secs(3600),
        ..options()
    });
    let mut spec = home.spec("");
    std::fs::create_dir(home.path("work/logs")).unwrap();
    spec.identity.log_path = home.file("work/logs");
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    keeper.succeed(2, Op::Stop);
    std::fs::write(home.path("work/logs/old"), vec![1; 300_000]).unwrap();
    keeper.succeed(3, Op::Start);
    keeper.status_where("disk", |s| s.disk >= 300_000);
}
