//! Programs as they are: odd ones.

use model::operation::Op;
use model::spec::AutoType;
use model::{Code, Flag, State};

use crate::keeper::{Home, is_alive, kill, name, read, wait_for};

#[test]
fn a_pid_file_that_comes_late_is_waited_for() {
    let home = Home::new();
    let mut keeper = home.keeper();
    keeper.hold(home.spec("--daemon --after 700 --pid-file %/pid"));
    keeper.succeed(1, Op::Start);
    assert_eq!(keeper.running().pid, home.pid());
}

#[test]
fn text_behind_the_pid_does_not_matter() {
    let home = Home::new();
    let mut keeper = home.keeper();
    keeper.hold(home.spec("--daemon --pid-text ' since monday' --pid-file %/pid"));
    keeper.succeed(1, Op::Start);
    let text = read(&home.path("pid"));
    let pid: i32 = text.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(keeper.running().pid, pid);
    keeper.succeed(2, Op::Stop);
}

#[test]
fn a_pid_file_that_is_never_written_or_wrong_is_836_and_leaves_nothing_behind() {
    let home = Home::new();
    let mut keeper = home.keeper();
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
        keeper.hold(spec);
        let outcome = keeper.operate(number, Op::Start);
        assert_eq!(outcome.code, Code::CHECK_FAILED, "{options}: {outcome:?}");
        assert!(
            outcome.message.contains(note),
            "{options}: {}",
            outcome.message
        );
        wait_for("nothing is left", || (home.processes() == 0).then_some(()));
    }
}

#[test]
fn a_pid_file_that_names_somebody_else_is_stale() {
    let home = Home::new();
    std::fs::write(home.path("pid"), format!("{}\n", std::process::id())).unwrap();
    let mut keeper = home.keeper();
    keeper.hold(home.daemon());
    assert_eq!(keeper.stopped().pid, -1);
    keeper.succeed(1, Op::Start);
    assert_eq!(keeper.running().pid, home.pid());
}

#[test]
fn a_script_is_known_by_its_own_name() {
    let home = Home::new();
    let mut keeper = home.keeper();
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
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let pid = keeper.running().pid;
    assert_eq!(pid, home.pid());
    keeper.succeed(2, Op::Kill);
    assert!(!is_alive(pid));
}

#[test]
fn a_program_under_a_shell_is_shown_by_its_own_pid_and_stops_whole() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--count %/pids");
    spec.control.start_cmd = format!("cd / && {}; echo over", spec.control.start_cmd);
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let pid: i32 = read(&home.path("pids")).trim().parse().unwrap();
    assert_eq!(keeper.status_where("its pid", |s| s.pid == pid).pid, pid);
    assert_eq!(home.pid(), pid);
    keeper.succeed(2, Op::Stop);
    assert_eq!(home.processes(), 0);
}

#[test]
fn one_that_runs_already_is_adopted_and_seen_when_it_ends() {
    let home = Home::new();
    let mut first = home.keeper();
    first.hold(home.daemon());
    first.succeed(1, Op::Start);
    let pid = first.running().pid;
    first.ask(supervisor::Request::Forget(name()));
    first.stop();
    assert!(is_alive(pid), "forgetting leaves it running");

    let mut keeper = home.keeper();
    let mut spec = home.daemon();
    spec.monitor_policy.start_interval = 0;
    keeper.hold_as(&name(), spec, Flag::Running, true);
    assert_eq!(keeper.running().pid, pid);
    kill(pid, libc::SIGKILL);
    keeper.status_where("a new run", |s| s.state == State::Running && s.pid != pid);
}

#[test]
fn one_that_somebody_else_starts_is_found() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let spec = home.daemon();
    keeper.hold(spec.clone());
    assert_eq!(keeper.stopped().pid, -1);
    let by_hand = std::process::Command::new("sh")
        .args(["-c", &spec.control.start_cmd])
        .status()
        .unwrap();
    assert!(by_hand.success());
    assert_eq!(keeper.running().pid, home.pid());
}

#[test]
fn a_flood_of_output_is_kept_to_its_last_part() {
    let home = Home::new();
    let mut keeper = home.keeper();
    keeper.hold(home.spec("--flood"));
    let ran = keeper.succeed(1, Op::Start).ran.unwrap();
    assert_eq!(ran.output.len(), 64 * 1024);
    let on_disk = || {
        use std::os::unix::fs::MetadataExt;
        let files = std::fs::read_dir(home.path("agent/output"))
            .unwrap()
            .flatten();
        let sizes = files.filter_map(|file| Some(file.metadata().ok()?.blocks() * 512));
        sizes.sum::<u64>()
    };
    wait_for("the flood to be cut", || {
        (on_disk() > 1024 * 1024).then_some(())
    });
    wait_for("the flood to be cut", || {
        (on_disk() < 512 * 1024 * 1024).then_some(())
    });
    keeper.succeed(2, Op::Kill);
    wait_for("the spool to be gone", || (on_disk() == 0).then_some(()));
}

#[test]
fn a_one_shot_ends_well_and_is_not_restarted() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--count %/count --exit 0");
    spec.monitor_policy.auto_type = AutoType::OneShot;
    keeper.hold(spec);
    let outcome = keeper.succeed(1, Op::Start);
    assert_eq!(outcome.flag, Some(Flag::Stopped));
    let status = keeper.stopped();
    assert!(
        status.message.starts_with("exited with code 0 after"),
        "{}",
        status.message
    );
    keeper.succeed(2, Op::Query);
    assert_eq!(home.lines("count"), 1);
    assert!(keeper.events.is_empty());
}

#[test]
fn a_process_that_cannot_stay_up_is_given_up_with_a_reason() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--count %/count --after 20 --complain 'no database' --exit 7");
    spec.monitor_policy.start_retries = 2;
    spec.monitor_policy.start_interval = 0;
    keeper.hold(spec);
    keeper.succeed(1, Op::Manage);
    let status = keeper.status_where("given up", |s| s.message.starts_with("gave up"));
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
fn the_version_is_asked_after_a_start_and_by_a_query() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.daemon();
    std::fs::write(home.path("version"), "odd 1.2.3\n").unwrap();
    spec.control.version_cmd = format!("cat {}", home.file("version"));
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    keeper.status_where("a version", |s| s.version == "odd 1.2.3");
    std::fs::write(home.path("version"), "odd 1.2.4\n").unwrap();
    let instance = keeper.succeed(2, Op::Query).instance.unwrap();
    assert_eq!(instance.version, "odd 1.2.4");
}

#[test]
fn a_program_that_its_wrapper_brings_back_is_shown_by_its_new_pid() {
    let home = Home::new();
    // As mysqld_safe and its like do: the wrapper stays, the program comes and goes.
    for (number, options) in [
        (1, "--count %/count"),
        (11, "--count %/count --pid-file %/pid"),
    ] {
        let mut keeper = home.keeper();
        let mut spec = home.spec(options);
        spec.control.start_cmd = format!("while :; do {}; sleep 0.2; done", spec.control.start_cmd);
        keeper.hold(spec);
        keeper.succeed(number, Op::Start);
        let first = home.pid();
        assert_eq!(keeper.running().pid, first);
        kill(first, libc::SIGKILL);
        let second = keeper.next_run(&home, first);
        wait_for("two runs", || (home.lines("count") == 2).then_some(()));
        let instance = keeper.succeed(number + 1, Op::Query).instance.unwrap();
        assert_eq!(instance.pid, second);
        assert!(
            keeper.events.is_empty(),
            "the wrapper lives: {:?}",
            keeper.events
        );
        keeper.succeed(number + 2, Op::Stop);
        assert_eq!(home.processes(), 0);
        std::fs::remove_file(home.path("count")).unwrap();
    }
}

#[test]
fn what_a_script_runs_now_and_then_is_not_the_program() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--after 20 --count %/count --exit 0");
    spec.control.start_cmd = format!("while :; do {}; sleep 0.02; done", spec.control.start_cmd);
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let command = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm"));
    let script = keeper.status_where("the script", |s| {
        command(s.pid).is_ok_and(|name| name == "sh\n")
    });
    keeper.history.clear();
    let count = home.lines("count");
    wait_for("a while", || {
        (home.lines("count") > count + 10).then_some(())
    });
    let instance = keeper.succeed(2, Op::Query).instance.unwrap();
    assert_eq!(instance.pid, script.pid);
    assert!(
        keeper.history.iter().all(|s| s.pid == script.pid),
        "{:?}",
        keeper.history
    );
}

/// With and without a shell: the same surroundings, and what cannot be executed is said by the shell.
#[test]
fn a_program_that_needs_no_shell_gets_what_a_shell_would_give_it() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let odd = env!("CARGO_BIN_EXE_odd-child");
    let environment = |file: &str| -> Vec<String> {
        let text = wait_for("a report", || std::fs::read_to_string(home.path(file)).ok());
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
        keeper.hold(spec.clone());
        keeper.succeed(10 * number, Op::Start);
        keeper.succeed(10 * number + 1, Op::Kill);
    }
    assert_eq!(environment("direct"), environment("shell"));
    assert!(!environment("direct").is_empty());

    // A script that names no interpreter is the shell's to run.
    let script = home.path("work/plain");
    std::fs::write(&script, "exit 41\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    spec.control.start_cmd = "./plain".to_owned();
    keeper.hold(spec);
    let ran = keeper.operate(30, Op::Start).ran.unwrap();
    assert_eq!(ran.exit, Some(model::status::Exit::Code(41)));
}
