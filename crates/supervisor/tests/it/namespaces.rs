//! In a separate pid namespace, as in a container: the agent as pid 1 or below it, and pids that are reused.

use std::path::Path;
use std::process::{Child, Command};

use model::Code;
use model::operation::Op;
use model::status::Exit;
use supervisor::ControlGroups;
use testing::precondition;

use crate::harness::{Home, TestSupervisor, is_alive, kill, until, with_and_without_groups};

const INSIDE: &str = "MUSTER_TEST_INSIDE";

/// What pid 1 is.
#[derive(Debug, Clone, Copy)]
enum First {
    /// The test itself with the agent, like the entry point of a container.
    Agent,
    Shell,
}

/// Whether the test runs inside a separate pid namespace; outside, runs it once more inside one and returns false. Its
/// session is outside of the namespace, so it has the number 0 there.
fn is_inside(test: &str, first: First) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
        command
    };
    let is_allowed = unshare().arg("true").output();
    let is_allowed = is_allowed.is_ok_and(|output| output.status.success());
    if !precondition::is_met(is_allowed, "the right to create a pid namespace") {
        return false;
    }
    let mut command = unshare();
    match first {
        First::Agent => {}
        First::Shell => drop(command.args(["sh", "-c", "\"$@\"; exit $?", "sh"])),
    }
    let output = command
        .arg(std::env::current_exe().unwrap())
        .args([&format!("namespaces::{test}"), "--exact", "--nocapture"])
        .env(INSIDE, "yes")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&said)
    );
    false
}

/// Whether this process has a zombie child.
fn has_zombies() -> bool {
    let begin = format!(" Z {} ", std::process::id());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut stats =
        entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats.any(|stat| stat.rsplit(')').next().unwrap().starts_with(&begin))
}

#[test]
fn an_agent_below_pid_1_of_a_container_supervises_and_reaps() {
    if is_inside(
        "an_agent_below_pid_1_of_a_container_supervises_and_reaps",
        First::Shell,
    ) {
        assert_ne!(std::process::id(), 1);
        keeps_and_reaps();
    }
}

#[test]
fn an_agent_that_is_pid_1_of_a_container_supervises_and_reaps() {
    if is_inside(
        "an_agent_that_is_pid_1_of_a_container_supervises_and_reaps",
        First::Agent,
    ) {
        assert_eq!(std::process::id(), 1);
        keeps_and_reaps();
    }
}

/// The exit of the run, as reported.
fn end(supervisor: &mut TestSupervisor) -> Exit {
    until("its end is told", || {
        supervisor.listen();
        supervisor.events.iter().find_map(|(_, event)| event.exit)
    })
}

fn keeps_and_reaps() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    for (number, options) in [
        (1, "--workers 2 --leak-child --pid-file %/pid"),
        (11, "--daemon --workers 2 --leak-child --pid-file %/pid"),
    ] {
        let mut spec = home.spec(options);
        spec.monitor_policy.start_interval = 0;
        supervisor.hold(spec);
        supervisor.succeed(number, Op::Start);
        let pid = supervisor.running().pid;
        kill(pid, libc::SIGKILL);
        let next = supervisor.next_run(&home, pid);
        until("what it left is waited for", || {
            (!has_zombies()).then_some(())
        });
        assert!(is_alive(next));
        assert_eq!(end(&mut supervisor), Exit::Signal(9));
        supervisor.events.clear();
        supervisor.succeed(number + 1, Op::Kill);
        until("nothing is left", || (home.processes() == 0).then_some(()));
    }
    // Orphans of other processes are reparented to the agent, too.
    let left = Command::new("sh")
        .args(["-c", "setsid sleep 0.05 & setsid sleep 0.1 &"])
        .status();
    assert!(left.unwrap().success());
    let sleeps = || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let names =
            entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("comm")).ok());
        names.filter(|name| name == "sleep\n").count()
    };
    until("they are waited for", || (sleeps() == 0).then_some(()));
    supervisor.succeed(30, Op::Query);
}

/// A program that the agent did not start.
#[derive(Debug)]
struct Stranger(Child);

impl Stranger {
    fn was_left_alone(self) {
        let pid = self.0.id() as i32;
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
        assert!(name.is_ok_and(|name| name == "sleep\n") && is_alive(pid));
        kill(pid, libc::SIGKILL);
    }
}

/// The tick at which a process began.
fn start_of(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').nth(19).unwrap().parse().unwrap()
}

/// Starts a program with exactly this pid, which is free or about to be, in a later tick than its former process.
/// By itself the kernel gives out all other pids first, which takes longer than a tick.
fn use_again(pid: i32, start: u64, program: &[&str]) -> Stranger {
    let path = format!("/proc/{pid}");
    until("the number is free", || {
        let pid = rustix::process::Pid::from_raw(pid);
        // Without an agent the test has to reap it.
        let _ = rustix::process::waitpid(pid, rustix::process::WaitOptions::NOHANG);
        (!Path::new(&path).exists()).then_some(())
    });
    until("the number is used again", || {
        std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).unwrap();
        let mut child = Command::new(program[0])
            .args(&program[1..])
            .spawn()
            .unwrap();
        if child.id() as i32 == pid && start_of(pid) > start {
            return Some(Stranger(child));
        }
        child.kill().unwrap();
        // An agent may reap it first.
        let _ = child.wait();
        None
    })
}

with_and_without_groups!(a_pid_reused_while_no_agent_ran_is_not_adopted);

fn a_pid_reused_while_no_agent_ran_is_not_adopted(groups: ControlGroups) {
    let way = match groups {
        ControlGroups::Auto => "with_control_groups",
        ControlGroups::Off => "by_proc_alone",
    };
    let test = "a_pid_reused_while_no_agent_ran_is_not_adopted";
    if !is_inside(&format!("{way}::{test}"), First::Shell) {
        return;
    }
    for options in ["--daemon --pid-file %/pid", "--print up"] {
        // As a child, and like a daemon with its own session.
        for stranger in [&["sleep", "600"][..], &["setsid", "sleep", "600"]] {
            let home = Home::with(groups);
            let mut supervisor = home.supervisor();
            let mut spec = home.spec(options);
            spec.monitor_policy.start_interval = 0;
            supervisor.hold(spec);
            supervisor.succeed(1, Op::Start);
            let pid = supervisor.running().pid;
            let start = start_of(pid);
            supervisor.stop();
            kill(pid, libc::SIGKILL);
            let stranger = use_again(pid, start, stranger);

            let mut supervisor = home.supervisor();
            let next = supervisor.next_run(&home, pid);
            assert!(is_alive(next));
            assert!(
                supervisor.history.iter().all(|status| status.pid != pid),
                "{:?}",
                supervisor.history
            );
            assert_eq!(end(&mut supervisor), Exit::Unseen);
            supervisor.succeed(2, Op::Kill);
            stranger.was_left_alone();
        }
    }
}

#[test]
fn a_reused_pid_in_a_stale_pid_file_is_neither_shown_nor_stopped() {
    let test = "a_reused_pid_in_a_stale_pid_file_is_neither_shown_nor_stopped";
    if !is_inside(test, First::Shell) {
        return;
    }
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.daemon());
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    let start = start_of(pid);
    supervisor.succeed(2, Op::Unmanage);
    kill(pid, libc::SIGKILL);
    supervisor.stopped();
    assert_eq!(home.pid(), pid, "the file is still there");
    let stranger = use_again(pid, start, &["setsid", "sleep", "600"]);
    assert_eq!(supervisor.succeed(3, Op::Query).instance.unwrap().pid, -1);
    for (number, op) in [(4, Op::Stop), (5, Op::Kill)] {
        assert_eq!(supervisor.operate(number, op).code, Code::NOT_RUNNING);
    }
    assert_eq!(supervisor.operate(6, Op::Reload).code, Code::CHECK_FAILED);
    supervisor.succeed(7, Op::Start);
    assert_ne!(supervisor.running().pid, pid);
    supervisor.succeed(8, Op::Kill);
    stranger.was_left_alone();
}
