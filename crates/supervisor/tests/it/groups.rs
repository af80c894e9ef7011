//! What only a control group knows, on hosts that let us make them.

use std::time::{Duration, Instant};

use model::operation::Op;
use model::{Code, Spec};
use supervisor::{ControlGroups, Options, Request};

use crate::keeper::{
    Home, Keeper, both_ways, control_groups_are_here, is_alive, name, options, wait_for,
};

both_ways!(
    a_kill_of_one_that_was_adopted_reaches_its_workers,
    a_health_command_that_hangs_is_killed_with_what_it_started,
);

/// A program that is neither below its starter, nor in its session, nor bears its mark; its pid is in the file `hidden`.
fn hidden(home: &Home) -> String {
    let odd = env!("CARGO_BIN_EXE_odd-child");
    format!("env -i {odd} --daemon --pid-file {}", home.file("hidden"))
}

fn with_hidden(home: &Home, mut spec: Spec) -> Spec {
    spec.control.start_cmd = format!("{}; {}", hidden(home), spec.control.start_cmd);
    spec
}

/// Until then even a slow machine has done with its start command, which otherwise is taken for the process.
fn patient(mut spec: Spec) -> Spec {
    spec.monitor_policy.start_check_secs = 2;
    spec
}

fn hidden_pid(home: &Home) -> i32 {
    wait_for("the hidden one", || {
        let text = std::fs::read_to_string(home.path("hidden")).ok()?;
        text.trim().parse().ok()
    })
}

fn has_group(home: &Home) -> bool {
    let ours = home.groups();
    ours.iter().any(|ours| ours.join("test:odd").exists())
}

fn forget(keeper: &Keeper) {
    keeper.ask(Request::Forget(name()));
}

#[test]
fn a_kill_reaches_one_that_hides_and_a_stop_of_a_daemon_leaves_it() {
    if !control_groups_are_here() {
        return;
    }
    let home = Home::new();
    let mut keeper = home.keeper();
    keeper.hold(with_hidden(&home, patient(home.daemon())));
    keeper.succeed(1, Op::Start);
    let hidden = hidden_pid(&home);
    keeper.succeed(2, Op::Stop);
    assert!(is_alive(hidden), "it may be meant to stay");
    // Another agent finds the group again by its name.
    keeper.stop();
    let mut keeper = home.keeper();
    assert_eq!(keeper.operate(3, Op::Kill).code, Code::NOT_RUNNING);
    assert!(!is_alive(hidden));
}

#[test]
fn what_hides_does_not_live_on_beside_the_next_run() {
    if !control_groups_are_here() {
        return;
    }
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = with_hidden(&home, home.spec(""));
    spec.monitor_policy.start_interval = 0;
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let (first, pid) = (hidden_pid(&home), keeper.running().pid);
    crate::keeper::kill(pid, libc::SIGKILL);
    keeper.next_run(&home, pid);
    assert!(!is_alive(first));
    wait_for("another", || (hidden_pid(&home) != first).then_some(()));
    keeper.succeed(2, Op::Stop);
    assert_eq!(
        home.processes(),
        0,
        "a program in the foreground is all of it"
    );
}

#[test]
fn one_that_forks_faster_than_it_can_be_killed_is_killed() {
    if !control_groups_are_here() {
        return;
    }
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("");
    // Each lives only until its child does.
    spec.control.start_cmd = format!("hop() {{ hop & }}; hop; {}", spec.control.start_cmd);
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    keeper.succeed(2, Op::Kill);
    wait_for("no groups", || home.groups().is_empty().then_some(()));
    // And what is started next is not.
    let mut spec = home.spec("--count %/count");
    spec.monitor_policy.start_retries = 0;
    keeper.hold(spec);
    keeper.succeed(3, Op::Start);
    assert!(is_alive(keeper.running().pid));
}

#[test]
fn a_daemon_that_hides_and_is_slow_is_waited_for() {
    if !control_groups_are_here() {
        return;
    }
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--daemon --after 700 --pid-file %/pid");
    spec.control.start_cmd = format!("env -i {}", spec.control.start_cmd);
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    assert_eq!(keeper.running().pid, home.pid());
}

#[test]
fn what_was_started_without_groups_is_not_forgotten_by_an_agent_with_them() {
    if !control_groups_are_here() {
        return;
    }
    let mut home = Home::with(ControlGroups::Off);
    let mut keeper = home.keeper();
    keeper.hold(home.spec("--workers 2 --leak-child"));
    keeper.succeed(1, Op::Start);
    wait_for("all of it", || (home.processes() == 4).then_some(()));
    assert!(!has_group(&home));
    keeper.stop();
    home.control_groups = ControlGroups::Auto;
    let mut keeper = home.keeper();
    keeper.running();
    keeper.succeed(2, Op::Kill);
    assert_eq!(home.processes(), 0);
}

#[test]
fn groups_go_with_what_they_were_made_for() {
    if !control_groups_are_here() {
        return;
    }
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = patient(home.daemon());
    spec.control.version_cmd = "echo odd 1.2.3".into();
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    assert!(has_group(&home));
    // Forgotten and left running, then ended by somebody else.
    forget(&keeper);
    keeper.operate(2, Op::Query);
    assert!(has_group(&home) && is_alive(home.pid()));
    crate::keeper::kill(home.pid(), libc::SIGKILL);
    wait_for("no group", || (!has_group(&home)).then_some(()));
    // And so while no agent is there.
    keeper.hold(patient(home.daemon()));
    keeper.succeed(3, Op::Start);
    let pid = home.pid();
    forget(&keeper);
    keeper.operate(4, Op::Query);
    keeper.stop();
    assert!(is_alive(pid));
    crate::keeper::kill(pid, libc::SIGKILL);
    let dead = home.groups()[0].with_file_name(format!("dead-{pid}"));
    // Another test's agent may be faster.
    let _ = std::fs::create_dir_all(dead.join("test:odd"));
    let keeper = home.keeper();
    wait_for("no groups", || home.groups().is_empty().then_some(()));
    assert!(!dead.exists(), "nor those of an agent that is no more");
    drop(keeper);
}

#[test]
fn work_of_children_that_come_and_go_between_two_looks_is_counted() {
    if !control_groups_are_here() {
        return;
    }
    let home = Home::new();
    let (mut keeper, _) = home.keeper_with(Options {
        sample_every: Duration::from_millis(500),
        ..options()
    });
    let odd = env!("CARGO_BIN_EXE_odd-child");
    let mut spec = home.spec("");
    spec.control.start_cmd = format!("while :; do timeout 0.1 {odd} --burn; done");
    spec.identity.proc_name = "sh".into();
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let shell = keeper.running().pid;
    let (begin, before) = (Instant::now(), ticks_of_children(shell));
    let cores = std::thread::available_parallelism().unwrap().get() as f32;
    // By /proc alone only what the last child did until then would be seen: a fifth.
    for _ in 0..3 {
        let seen = keeper.history.len();
        wait_for("the work of all children", || {
            keeper.listen();
            let ticks = ticks_of_children(shell) - before;
            let percent = ticks as f32 / begin.elapsed().as_secs_f32();
            let busy = |s: &model::Status| ticks > 0 && s.cpu * cores > percent / 2.0;
            keeper.history[seen..].iter().any(busy).then_some(())
        });
    }
}

/// What the children that it has waited for have worked, in hundredths of a second.
fn ticks_of_children(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    fields
        .skip(13)
        .take(2)
        .map(|field| field.parse::<u64>().unwrap())
        .sum()
}

fn a_kill_of_one_that_was_adopted_reaches_its_workers(groups: ControlGroups) {
    let home = Home::with(groups);
    let spec = home.spec("--daemon --workers 2 --pid-file %/pid");
    let by_hand = std::process::Command::new("sh")
        .args(["-c", &spec.control.start_cmd])
        .current_dir(home.path("work"))
        .status();
    assert!(by_hand.unwrap().success());
    let mut keeper = home.keeper();
    keeper.hold(spec);
    keeper.running();
    wait_for("its workers", || (home.processes() == 3).then_some(()));
    keeper.succeed(1, Op::Kill);
    assert_eq!(home.processes(), 0);
    assert!(!has_group(&home));
}

fn a_health_command_that_hangs_is_killed_with_what_it_started(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut keeper = home.keeper();
    let odd = env!("CARGO_BIN_EXE_odd-child");
    let mut spec = home.spec("");
    spec.control.health_cmd = format!("{odd} --workers 2 --count {}", home.file("checks"));
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    wait_for("a check", || (home.processes() >= 4).then_some(()));
    wait_for("the next check", || {
        (home.lines("checks") >= 2).then_some(())
    });
    wait_for("nobody of the first", || {
        (home.processes() <= 4).then_some(())
    });
}
