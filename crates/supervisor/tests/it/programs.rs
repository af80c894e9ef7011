//! Programs with unusual behaviour.

use model::operation::Op;
use model::spec::AutoType;
use model::{Code, Flag, State};

use crate::harness::{Home, is_alive, kill, name, read, until};

#[test]
fn a_start_waits_for_a_late_pid_file() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--daemon --after 700 --pid-file %/pid"));
    supervisor.succeed(1, Op::Start);
    assert_eq!(supervisor.running().pid, home.pid());
}

#[test]
fn text_after_the_pid_is_ignored() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--daemon --pid-text ' since monday' --pid-file %/pid"));
    supervisor.succeed(1, Op::Start);
    let text = read(&home.path("pid"));
    let pid: i32 = text.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(supervisor.running().pid, pid);
    supervisor.succeed(2, Op::Stop);
}

#[test]
fn a_missing_or_wrong_pid_file_is_836_and_leaves_no_process() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    for (number, options, note) in [
        (1, "--daemon", "there is no pid file"),
        (
            2,
            "--daemon --wrong-pid %/pid 1999999999",
            "which does not run",
        ),
        (3, "--daemon --wrong-pid %/pid 1", "holds no pid"),
    ] {
        let mut spec = home.spec(options);
        spec.monitor_policy.op_timeout = 1;
        supervisor.hold(spec);
        let outcome = supervisor.operate(number, Op::Start);
        assert_eq!(outcome.code, Code::CHECK_FAILED, "{options}: {outcome:?}");
        assert!(
            outcome.message.contains(note),
            "{options}: {}",
            outcome.message
        );
        until("nothing is left", || (home.processes() == 0).then_some(()));
    }
}

#[test]
fn a_pid_file_that_names_another_program_is_stale() {
    let home = Home::new();
    std::fs::write(home.path("pid"), format!("{}\n", std::process::id())).unwrap();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.daemon());
    assert_eq!(supervisor.stopped().pid, -1);
    supervisor.succeed(1, Op::Start);
    assert_eq!(supervisor.running().pid, home.pid());
}

#[test]
fn a_script_is_known_by_its_own_name() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let script = home.path("work/service.sh");
    std::fs::write(
        &script,
        format!(
            "#!/bin/sh\necho $$ > {}\nwhile :; do sleep 0.1; done\n",
            home.file("pid")
        ),
    )
    .unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut spec = home.spec("");
    spec.identity.proc_name = "service.sh".into();
    spec.control.start_cmd = "nohup ./service.sh >/dev/null 2>&1 & sleep 0.3".into();
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    assert_eq!(pid, home.pid());
    supervisor.succeed(2, Op::Kill);
    assert!(!is_alive(pid));
}

#[test]
fn a_program_under_a_shell_is_shown_by_its_own_pid_and_stops_whole() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--count %/pids");
    spec.control.start_cmd = format!("cd / && {}; echo over", spec.control.start_cmd);
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid: i32 = read(&home.path("pids")).trim().parse().unwrap();
    assert_eq!(
        supervisor.status_where("its pid", |s| s.pid == pid).pid,
        pid
    );
    assert_eq!(home.pid(), pid);
    supervisor.succeed(2, Op::Stop);
    assert_eq!(home.processes(), 0);
}

#[test]
fn a_running_process_is_adopted_and_its_exit_is_noticed() {
    let home = Home::new();
    let mut first = home.supervisor();
    first.hold(home.daemon());
    first.succeed(1, Op::Start);
    let pid = first.running().pid;
    first.ask(supervisor::Request::Forget(name()));
    first.stop();
    assert!(is_alive(pid), "forgetting leaves it running");

    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    spec.monitor_policy.start_interval = 0;
    supervisor.hold_as(&name(), spec, Flag::Running, true);
    assert_eq!(supervisor.running().pid, pid);
    kill(pid, libc::SIGKILL);
    supervisor.status_where("a new run", |s| s.state == State::Running && s.pid != pid);
}

#[test]
fn a_process_that_was_started_by_hand_is_adopted() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let spec = home.daemon();
    supervisor.hold(spec.clone());
    assert_eq!(supervisor.stopped().pid, -1);
    let by_hand = std::process::Command::new("sh")
        .args(["-c", &spec.control.start_cmd])
        .status()
        .unwrap();
    assert!(by_hand.success());
    assert_eq!(supervisor.running().pid, home.pid());
}

#[test]
fn a_successful_one_shot_is_not_restarted() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--count %/count --exit 0");
    spec.monitor_policy.auto_type = AutoType::OneShot;
    supervisor.hold(spec);
    let outcome = supervisor.succeed(1, Op::Start);
    assert_eq!(outcome.flag, Some(Flag::Stopped));
    let status = supervisor.stopped();
    assert!(
        status.message.starts_with("exited with code 0 after"),
        "{}",
        status.message
    );
    supervisor.succeed(2, Op::Query);
    assert_eq!(home.lines("count"), 1);
    assert!(supervisor.events.is_empty());
}

#[test]
fn a_process_that_cannot_stay_up_is_given_up_with_a_reason() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--count %/count --after 20 --complain 'no database' --exit 7");
    spec.monitor_policy.start_retries = 2;
    spec.monitor_policy.start_interval = 0;
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Manage);
    let status = supervisor.status_where("given up", |s| s.message.starts_with("gave up"));
    assert_eq!(status.state, State::Stopped);
    assert!(
        status.message.contains("gave up after 2 attempts in "),
        "{}",
        status.message
    );
    assert!(
        status.message.contains("exited with code 7"),
        "{}",
        status.message
    );
    assert!(
        status.message.contains("last output: no database"),
        "{}",
        status.message
    );
    assert_eq!(home.lines("count"), 2);
}

#[test]
fn version_cmd_runs_after_a_start_and_for_a_query() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    std::fs::write(home.path("version"), "odd 1.2.3\n").unwrap();
    spec.control.version_cmd = format!("cat {}", home.file("version"));
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    supervisor.status_where("a version", |s| s.version == "odd 1.2.3");
    std::fs::write(home.path("version"), "odd 1.2.4\n").unwrap();
    let instance = supervisor.succeed(2, Op::Query).instance.unwrap();
    assert_eq!(instance.version, "odd 1.2.4");
}

#[test]
fn a_program_restarted_by_its_wrapper_is_shown_with_its_new_pid() {
    let home = Home::new();
    // Like mysqld_safe: the wrapper stays and restarts the program.
    for (number, options) in [
        (1, "--count %/count"),
        (11, "--count %/count --pid-file %/pid"),
    ] {
        let mut supervisor = home.supervisor();
        let mut spec = home.spec(options);
        spec.control.start_cmd = format!("while :; do {}; sleep 0.2; done", spec.control.start_cmd);
        supervisor.hold(spec);
        supervisor.succeed(number, Op::Start);
        let first = home.pid();
        assert_eq!(supervisor.running().pid, first);
        kill(first, libc::SIGKILL);
        let second = supervisor.next_run(&home, first);
        until("two runs", || (home.lines("count") == 2).then_some(()));
        let instance = supervisor.succeed(number + 1, Op::Query).instance.unwrap();
        assert_eq!(instance.pid, second);
        assert!(
            supervisor.events.is_empty(),
            "the wrapper lives: {:?}",
            supervisor.events
        );
        supervisor.succeed(number + 2, Op::Stop);
        assert_eq!(home.processes(), 0);
        std::fs::remove_file(home.path("count")).unwrap();
    }
}

#[test]
fn a_short_lived_child_of_a_script_is_not_the_program() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--after 20 --count %/count --exit 0");
    spec.control.start_cmd = format!("while :; do {}; sleep 0.02; done", spec.control.start_cmd);
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let command = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm"));
    let script = supervisor.status_where("the script", |s| {
        command(s.pid).is_ok_and(|name| name == "sh\n")
    });
    supervisor.history.clear();
    let count = home.lines("count");
    until("a while", || {
        (home.lines("count") > count + 10).then_some(())
    });
    let instance = supervisor.succeed(2, Op::Query).instance.unwrap();
    assert_eq!(instance.pid, script.pid);
    assert!(
        supervisor.history.iter().all(|s| s.pid == script.pid),
        "{:?}",
        supervisor.history
    );
}

/// With and without a shell: the same surroundings, and what cannot be executed is said by the shell.
#[test]
fn a_program_that_needs_no_shell_gets_what_a_shell_would_give_it() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let odd = env!("CARGO_BIN_EXE_odd-child");
    let environment = |file: &str| -> Vec<String> {
        let text = until("a report", || std::fs::read_to_string(home.path(file)).ok());
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.retain(|line| line.starts_with("env ") && !line.contains(" _="));
        lines.sort();
        lines
    };
    let mut spec = home.spec("");
    for (number, command) in [
        (1, format!("{odd} --report %/direct")),
        (2, format!("{odd} --report '%/shell'")),
    ] {
        spec.control.start_cmd = command.replace('%', home.root().to_str().unwrap());
        supervisor.hold(spec.clone());
        supervisor.succeed(10 * number, Op::Start);
        supervisor.succeed(10 * number + 1, Op::Kill);
    }
    assert_eq!(environment("direct"), environment("shell"));
    assert!(!environment("direct").is_empty());

    // A script without an interpreter line needs the shell.
    let script = home.path("work/plain");
    std::fs::write(&script, "exit 41\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    spec.control.start_cmd = "./plain".to_owned();
    supervisor.hold(spec);
    let ran = supervisor.operate(30, Op::Start).ran.unwrap();
    assert_eq!(ran.exit, Some(model::status::Exit::Code(41)));
}
