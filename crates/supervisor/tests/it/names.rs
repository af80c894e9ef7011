//! Programs that change their title, their image or their file while they run: the run stays the same.

use std::path::Path;

use model::operation::Op;
use model::{Flag, FullName, State};

use supervisor::ControlGroups;

use crate::harness::{
    Home, TestSupervisor, is_alive, kill, name, read, until, with_and_without_groups,
};

const ODD: &str = env!("CARGO_BIN_EXE_odd-child");

/// Starts it; returns the pid in its pid file.
fn start(supervisor: &mut TestSupervisor, number: u32, home: &Home) -> i32 {
    supervisor.succeed(number, Op::Start);
    supervisor.status_where("its pid", |s| s.pid == home.pid());
    // Its launcher may have been shown before.
    supervisor.history.clear();
    home.pid()
}

/// Asserts that this is still the same run: no other pid and no exit was reported since its start.
fn is_the_same(supervisor: &mut TestSupervisor, pid: i32) {
    supervisor.succeed(supervisor.ends.len() as u32 + 500, Op::Query);
    let others: Vec<_> = supervisor
        .history
        .iter()
        .filter(|s| s.pid > 0 && s.pid != pid)
        .collect();
    assert!(others.is_empty(), "{others:?}");
    assert_eq!(supervisor.running().pid, pid);
    assert!(supervisor.events.is_empty(), "{:?}", supervisor.events);
}

fn comm(pid: i32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()
}

fn exe(pid: i32) -> String {
    let target = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
    target.to_str().unwrap().to_owned()
}

#[test]
fn a_program_with_another_title_is_known_by_its_file() {
    let home = Home::new();
    // A title made to confuse a parser of /proc.
    let title = "web\n1) Z 1 (";
    let mut supervisor = home.supervisor();
    let spec = home.spec(&format!("--daemon --title '{title}' --pid-file %/pid"));
    supervisor.hold(spec.clone());
    let pid = start(&mut supervisor, 1, &home);
    assert_eq!(comm(pid), format!("{title}\n"));
    is_the_same(&mut supervisor, pid);
    // Also found by the pid file alone.
    supervisor.ask(supervisor::Request::Forget(name()));
    supervisor.stop();
    let mut supervisor = home.supervisor();
    supervisor.hold(spec);
    assert_eq!(supervisor.running().pid, pid);
    supervisor.succeed(2, Op::Stop);
    assert!(!is_alive(pid));
}

#[test]
fn a_name_may_contain_parentheses_blanks_and_newlines() {
    let home = Home::new();
    for (number, file) in [(1, "odd) Z 1 (odd"), (3, "odd\nodd)"), (5, "(odd")] {
        std::fs::copy(ODD, home.path("work").join(file)).unwrap();
        let mut supervisor = home.supervisor();
        let mut spec = home.spec("");
        spec.identity.proc_name = file.into();
        let pid_file = home.file("pid");
        spec.control.start_cmd = format!("'./{file}' --daemon --workers 1 --pid-file {pid_file}");
        supervisor.hold(spec);
        let pid = start(&mut supervisor, number, &home);
        is_the_same(&mut supervisor, pid);
        supervisor.succeed(number + 1, Op::Kill);
        until("its worker to be gone", || {
            (home.processes() == 0).then_some(())
        });
    }
}

#[test]
fn a_program_that_execs_itself_stays_the_same_run() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let twice = format!("--count %/count --exec {ODD} --count %/count --pid-file %/pid");
    for (number, options) in [(1, format!("--daemon {twice}")), (3, twice)] {
        supervisor.hold(home.spec(&options));
        let pid = start(&mut supervisor, number, &home);
        assert_eq!(read(&home.path("count")), format!("{pid}\n{pid}\n"));
        is_the_same(&mut supervisor, pid);
        supervisor.succeed(number + 1, Op::Stop);
        assert!(!is_alive(pid));
        std::fs::remove_file(home.path("count")).unwrap();
    }
}

#[test]
fn a_program_that_execs_another_stays_the_same_run_after_a_restart() {
    let home = Home::new();
    let options = "--pid-file %/pid --await %/go --exec /bin/sleep 600";
    for (number, options) in [(1, format!("--daemon {options}")), (4, options.to_owned())] {
        let mut supervisor = home.supervisor();
        supervisor.hold(home.spec(&options));
        let pid = start(&mut supervisor, number, &home);
        std::fs::write(home.path("go"), "").unwrap();
        until("another program", || (comm(pid) == "sleep\n").then_some(()));
        is_the_same(&mut supervisor, pid);
        supervisor.stop();
        let mut supervisor = home.supervisor();
        assert_eq!(supervisor.running().pid, pid);
        assert_eq!(
            supervisor.operate(number + 1, Op::Start).code,
            model::Code::ALREADY_RUNNING
        );
        is_the_same(&mut supervisor, pid);
        supervisor.succeed(number + 2, Op::Stop);
        assert!(!is_alive(pid));
        assert_eq!(supervisor.stopped().pid, -1);
        std::fs::remove_file(home.path("go")).unwrap();
    }
}

#[test]
fn the_program_below_a_chain_of_wrappers_is_found() {
    let home = Home::new();
    for (number, wrappers) in [
        (1, "env A=1 nice -n 1 nohup ODD"),
        (3, "sh -c 'true; exec ODD'"),
        (5, "nice sh -c 'sh -c \"ODD; true\"; true'"),
        (7, "timeout --foreground 600 env ODD"),
    ] {
        let mut supervisor = home.supervisor();
        let mut spec = home.spec("");
        let odd = format!("{ODD} --count {}", home.file("pids"));
        spec.control.start_cmd = wrappers.replace("ODD", &odd);
        supervisor.hold(spec);
        supervisor.succeed(number, Op::Start);
        let pid: i32 = read(&home.path("pids")).trim().parse().unwrap();
        assert_eq!(supervisor.running().pid, pid, "{wrappers}");
        assert_eq!(home.pid(), pid);
        supervisor.succeed(number + 1, Op::Stop);
        assert_eq!(home.processes(), 0, "{wrappers}");
        std::fs::remove_file(home.path("pids")).unwrap();
    }
}

#[test]
fn a_replaced_binary_keeps_running_and_the_next_run_uses_the_new_one() {
    let home = Home::new();
    let file = home.path("work/server");
    let install = |as_path: &Path| std::fs::copy(ODD, as_path).unwrap();
    install(&file);
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    spec.monitor_policy.start_interval = 0;
    spec.identity.proc_name = "server".into();
    spec.control.start_cmd = format!("./server --daemon --pid-file {}", home.file("pid"));
    supervisor.hold(spec.clone());
    let pid = start(&mut supervisor, 1, &home);
    // As package managers do.
    install(&home.path("work/server.new"));
    std::fs::rename(home.path("work/server.new"), &file).unwrap();
    assert!(exe(pid).ends_with("/work/server (deleted)"));
    is_the_same(&mut supervisor, pid);
    // An agent with an empty journal finds the run by its name.
    supervisor.ask(supervisor::Request::Forget(name()));
    supervisor.stop();
    let mut supervisor = home.supervisor();
    supervisor.hold_as(&name(), spec, Flag::Running, true);
    assert_eq!(supervisor.running().pid, pid);
    supervisor.succeed(2, Op::Restart);
    let new = supervisor.next_run(&home, pid);
    assert!(exe(new).ends_with("/work/server"));

    // Moved away: the run goes on, and a start is refused with the reason.
    std::fs::rename(&file, home.path("work/server.old")).unwrap();
    assert_eq!(supervisor.operate(3, Op::Query).instance.unwrap().pid, new);
    kill(new, libc::SIGKILL);
    supervisor.status_where("the file is missed", |s| {
        s.state == State::Stopped && s.message.contains("the program ./server")
    });
}

with_and_without_groups!(a_process_with_the_longest_name_is_supervised);

/// 255 characters of four bytes are longer than a file name can be.
fn a_process_with_the_longest_name_is_supervised(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    let long = |last: char| format!("{}{last}", "\u{20000}".repeat(254));
    let both = ['1', '2'].map(|last| FullName::parse(&long('n'), &long(last)).unwrap());
    let spaced: FullName = "two words/and a name".parse().unwrap();
    std::fs::create_dir(home.path("work/logs")).unwrap();
    for (number, name) in (1..).zip(both.iter().chain([&spaced])) {
        let mut spec = home.spec(&format!("--print hello-{number}"));
        spec.identity.pid_path = home.file(&format!("{number}.pid"));
        spec.identity.log_path = home.file("work/logs/");
        supervisor.hold_as(name, spec, Flag::Unregistered, false);
        let start = supervisor.begin_on(name, number, Op::Start, None);
        let outcome = supervisor.end_of(start);
        assert_eq!(outcome.code, model::Code::OK, "{}", outcome.message);
        let status = &supervisor.statuses[name];
        assert_eq!(
            (status.state, status.message.as_str()),
            (State::Running, "")
        );
    }
    // Each has its own log.
    let logs = until("three logs", || {
        let logs = std::fs::read_dir(home.path("work/logs")).unwrap().flatten();
        let mut texts: Vec<String> = logs
            .filter_map(|log| std::fs::read_to_string(log.path()).ok())
            .filter(|text| text.ends_with('\n'))
            .collect();
        texts.sort();
        (texts.len() == 3).then_some(texts)
    });
    assert_eq!(logs, ["hello-1\n", "hello-2\n", "hello-3\n"]);
    assert!(home.path("work/logs/and a name.log").exists());
    let pids: Vec<i32> = both
        .iter()
        .map(|name| supervisor.statuses[name].pid)
        .collect();
    supervisor.stop();
    let mut supervisor = home.supervisor();
    for (number, name) in (11..).zip(&both) {
        let stop = supervisor.begin_on(name, number, Op::Kill, None);
        assert_eq!(supervisor.end_of(stop).code, model::Code::OK);
    }
    for pid in pids {
        assert!(!is_alive(pid));
    }
    let stop = supervisor.begin_on(&spaced, 13, Op::Stop, None);
    assert_eq!(supervisor.end_of(stop).code, model::Code::OK);
}
