//! Control groups: members that are found by nothing else.

use std::time::{Duration, Instant};

use model::operation::Op;
use model::{Code, Spec};
use supervisor::{ControlGroups, Options, Request};

use crate::harness::{
    Home, TestSupervisor, can_make_control_groups, is_alive, name, options, until,
    with_and_without_groups,
};

with_and_without_groups!(
    a_kill_of_an_adopted_process_reaches_its_workers,
    a_hanging_health_command_is_killed_with_its_family,
);

/// Also starts a hidden program: no descendant, in another session, without the mark; its pid is in the file `hidden`.
fn hidden(home: &Home) -> String {
    let odd = env!("CARGO_BIN_EXE_odd-child");
    format!("env -i {odd} --daemon --pid-file {}", home.file("hidden"))
}

fn with_hidden(home: &Home, mut spec: Spec) -> Spec {
    spec.control.start_cmd = format!("{}; {}", hidden(home), spec.control.start_cmd);
    spec
}

/// Long enough that the start command exits before the check also on a slow machine.
fn patient(mut spec: Spec) -> Spec {
    spec.monitor_policy.start_check_secs = 2;
    spec
}

fn hidden_pid(home: &Home) -> i32 {
    until("the hidden one", || {
        let text = std::fs::read_to_string(home.path("hidden")).ok()?;
        text.trim().parse().ok()
    })
}

fn has_group(home: &Home) -> bool {
    let ours = home.groups();
    ours.iter().any(|ours| ours.join("test:odd").exists())
}

fn forget(supervisor: &TestSupervisor) {
    supervisor.ask(Request::Forget(name()));
}

#[test]
fn a_kill_reaches_a_hidden_member_and_a_daemons_stop_does_not() {
    if !can_make_control_groups() {
        return;
    }
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(with_hidden(&home, patient(home.daemon())));
    supervisor.succeed(1, Op::Start);
    let hidden = hidden_pid(&home);
    supervisor.succeed(2, Op::Stop);
    assert!(is_alive(hidden), "it may be meant to stay");
    // The next agent finds the group by its name.
    supervisor.stop();
    let mut supervisor = home.supervisor();
    assert_eq!(supervisor.operate(3, Op::Kill).code, Code::NOT_RUNNING);
    assert!(!is_alive(hidden));
}

#[test]
fn a_hidden_member_is_killed_before_the_next_run() {
    if !can_make_control_groups() {
        return;
    }
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = with_hidden(&home, home.spec(""));
    spec.monitor_policy.start_interval = 0;
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let (first, pid) = (hidden_pid(&home), supervisor.running().pid);
    crate::harness::kill(pid, libc::SIGKILL);
    supervisor.next_run(&home, pid);
    assert!(!is_alive(first));
    until("another", || (hidden_pid(&home) != first).then_some(()));
    supervisor.succeed(2, Op::Stop);
    assert_eq!(
        home.processes(),
        0,
        "a program in the foreground is all of it"
    );
}

#[test]
fn a_fork_bomb_is_killed() {
    if !can_make_control_groups() {
        return;
    }
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("");
    // Each process exits once its child runs.
    spec.control.start_cmd = format!("hop() {{ hop & }}; hop; {}", spec.control.start_cmd);
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    supervisor.succeed(2, Op::Kill);
    until("no groups", || home.groups().is_empty().then_some(()));
    // The next run is not killed.
    let mut spec = home.spec("--count %/count");
    spec.monitor_policy.start_retries = 0;
    supervisor.hold(spec);
    supervisor.succeed(3, Op::Start);
    assert!(is_alive(supervisor.running().pid));
}

#[test]
fn a_start_waits_for_a_slow_daemon_without_a_mark() {
    if !can_make_control_groups() {
        return;
    }
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--daemon --after 700 --pid-file %/pid");
    spec.control.start_cmd = format!("env -i {}", spec.control.start_cmd);
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    assert_eq!(supervisor.running().pid, home.pid());
}

#[test]
fn an_agent_with_groups_finds_members_started_without() {
    if !can_make_control_groups() {
        return;
    }
    let mut home = Home::with(ControlGroups::Off);
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--workers 2 --leak-child"));
    supervisor.succeed(1, Op::Start);
    until("all of it", || (home.processes() == 4).then_some(()));
    assert!(!has_group(&home));
    supervisor.stop();
    home.control_groups = ControlGroups::Auto;
    let mut supervisor = home.supervisor();
    supervisor.running();
    supervisor.succeed(2, Op::Kill);
    assert_eq!(home.processes(), 0);
}

#[test]
fn empty_groups_are_removed() {
    if !can_make_control_groups() {
        return;
    }
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = patient(home.daemon());
    spec.control.version_cmd = "echo odd 1.2.3".into();
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    assert!(has_group(&home));
    // Forgotten and left running, then killed by the test.
    forget(&supervisor);
    supervisor.operate(2, Op::Query);
    assert!(has_group(&home) && is_alive(home.pid()));
    crate::harness::kill(home.pid(), libc::SIGKILL);
    until("no group", || (!has_group(&home)).then_some(()));
    // The same while no agent runs.
    supervisor.hold(patient(home.daemon()));
    supervisor.succeed(3, Op::Start);
    let pid = home.pid();
    forget(&supervisor);
    supervisor.operate(4, Op::Query);
    supervisor.stop();
    assert!(is_alive(pid));
    crate::harness::kill(pid, libc::SIGKILL);
    let dead = home.groups()[0].with_file_name(format!("dead-{pid}"));
    let new = dead.with_file_name(format!("new-{pid}"));
    for group in [&dead, &new] {
        std::fs::create_dir_all(group.join("test:odd")).unwrap();
    }
    let an_hour_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    for group in [dead.join("test:odd"), dead.clone()] {
        // Another test's agent may remove it first.
        let found = std::fs::File::open(group);
        let _ = found.and_then(|group| group.set_modified(an_hour_ago));
    }
    let supervisor = home.supervisor();
    until("no groups", || home.groups().is_empty().then_some(()));
    until("no groups of a dead agent", || {
        (!dead.exists()).then_some(())
    });
    assert!(
        new.join("test:odd").exists(),
        "a process may be about to enter it"
    );
    for group in [new.join("test:odd"), new] {
        std::fs::remove_dir(group).unwrap();
    }
    drop(supervisor);
}

#[test]
fn cpu_of_short_lived_children_is_counted() {
    if !can_make_control_groups() {
        return;
    }
    let home = Home::new();
    let (mut supervisor, _) = home.supervisor_with(Options {
        sample_every: Duration::from_millis(500),
        ..options()
    });
    let odd = env!("CARGO_BIN_EXE_odd-child");
    let mut spec = home.spec("");
    spec.control.start_cmd = format!("while :; do timeout 0.1 {odd} --burn; done");
    spec.identity.proc_name = "sh".into();
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let shell = supervisor.running().pid;
    let (begin, before) = (Instant::now(), ticks_of_children(shell));
    let cores = std::thread::available_parallelism().unwrap().get() as f32;
    // By /proc alone only the CPU time of the last child would be counted: a fifth.
    for _ in 0..3 {
        let seen = supervisor.history.len();
        until("the work of all children", || {
            supervisor.listen();
            let ticks = ticks_of_children(shell) - before;
            let percent = ticks as f32 / begin.elapsed().as_secs_f32();
            let busy = |s: &model::Status| ticks > 0 && s.cpu * cores > percent / 2.0;
            supervisor.history[seen..].iter().any(busy).then_some(())
        });
    }
}

/// The CPU time of its reaped children, in hundredths of a second.
fn ticks_of_children(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    fields
        .skip(13)
        .take(2)
        .map(|field| field.parse::<u64>().unwrap())
        .sum()
}

fn a_kill_of_an_adopted_process_reaches_its_workers(groups: ControlGroups) {
    let home = Home::with(groups);
    let spec = home.spec("--daemon --workers 2 --pid-file %/pid");
    let by_hand = std::process::Command::new("sh")
        .args(["-c", &spec.control.start_cmd])
        .current_dir(home.path("work"))
        .status();
    assert!(by_hand.unwrap().success());
    let mut supervisor = home.supervisor();
    supervisor.hold(spec);
    supervisor.running();
    until("its workers", || (home.processes() == 3).then_some(()));
    supervisor.succeed(1, Op::Kill);
    assert_eq!(home.processes(), 0);
    assert!(!has_group(&home));
}

fn a_hanging_health_command_is_killed_with_its_family(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    let odd = env!("CARGO_BIN_EXE_odd-child");
    let mut spec = home.spec("");
    spec.control.health_cmd = format!("{odd} --workers 2 --count {}", home.file("checks"));
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    until("a check", || (home.processes() >= 4).then_some(()));
    until("the next check", || {
        (home.lines("checks") >= 2).then_some(())
    });
    until("no process of the first", || {
        (home.processes() <= 4).then_some(())
    });
}
