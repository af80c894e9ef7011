//! In a pid namespace of its own, as in a container: the agent as first process or below another, and numbers of
//! processes that are really used again.

use std::path::Path;
use std::process::{Child, Command};

use model::Code;
use model::operation::Op;
use model::status::Exit;
use supervisor::ControlGroups;

use crate::keeper::{Home, Keeper, both_ways, is_alive, kill, skip, wait_for};

const INSIDE: &str = "MUSTER_TEST_INSIDE";

/// Who is process 1.
#[derive(Debug, Clone, Copy)]
enum First {
    /// The test itself, with the agent in it: what a container is started with.
    Agent,
    Shell,
}

/// Runs a test of this file once more, in a namespace of its own, where this is true. Its session is outside of it, so
/// that it has none that it could name.
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
    if !is_allowed.is_ok_and(|output| output.status.success()) {
        skip("a pid namespace of its own is not allowed here");
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

/// Whether a child of ours is dead and not waited for. Those of the odd program are its own.
fn has_zombies() -> bool {
    let begin = format!(" Z {} ", std::process::id());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut stats =
        entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats.any(|stat| stat.rsplit(')').next().unwrap().starts_with(&begin))
}

#[test]
fn an_agent_below_the_first_process_of_a_container_keeps_and_reaps() {
    if is_inside(
        "an_agent_below_the_first_process_of_a_container_keeps_and_reaps",
        First::Shell,
    ) {
        assert_ne!(std::process::id(), 1);
        keeps_and_reaps();
    }
}

#[test]
fn an_agent_that_is_the_first_process_of_a_container_keeps_and_reaps() {
    if is_inside(
        "an_agent_that_is_the_first_process_of_a_container_keeps_and_reaps",
        First::Agent,
    ) {
        assert_eq!(std::process::id(), 1);
        keeps_and_reaps();
    }
}

/// How its run ended, as it is told.
fn end(keeper: &mut Keeper) -> Exit {
    wait_for("its end is told", || {
        keeper.listen();
        keeper.events.iter().find_map(|(_, event)| event.exit)
    })
}

fn keeps_and_reaps() {
    let home = Home::new();
    let mut keeper = home.keeper();
    for (number, options) in [
        (1, "--workers 2 --leak-child --pid-file %/pid"),
        (11, "--daemon --workers 2 --leak-child --pid-file %/pid"),
    ] {
        let mut spec = home.spec(options);
        spec.monitor_policy.start_interval = 0;
        keeper.hold(spec);
        keeper.succeed(number, Op::Start);
        let pid = keeper.running().pid;
        kill(pid, libc::SIGKILL);
        let next = keeper.next_run(&home, pid);
        wait_for("what it left is waited for", || {
            (!has_zombies()).then_some(())
        });
        assert!(is_alive(next));
        assert_eq!(end(&mut keeper), Exit::Signal(9));
        keeper.events.clear();
        keeper.succeed(number + 1, Op::Kill);
        wait_for("nothing is left", || (home.processes() == 0).then_some(()));
    }
    // Orphans of strangers come to us as well.
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
    wait_for("they are waited for", || (sleeps() == 0).then_some(()));
    keeper.succeed(30, Op::Query);
}

/// A program that has nothing to do with the agent.
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

/// Starts a program that gets exactly this number, which is free or about to be, in a later tick than that in which its
/// process began. Left to itself, the kernel gives out all other numbers first, which takes longer than a tick.
fn use_again(pid: i32, start: u64, program: &[&str]) -> Stranger {
    let path = format!("/proc/{pid}");
    wait_for("the number is free", || {
        let pid = rustix::process::Pid::from_raw(pid);
        // Without an agent nobody else waits for it.
        let _ = rustix::process::waitpid(pid, rustix::process::WaitOptions::NOHANG);
        (!Path::new(&path).exists()).then_some(())
    });
    wait_for("the number is used again", || {
        std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).unwrap();
        let mut child = Command::new(program[0])
            .args(&program[1..])
            .spawn()
            .unwrap();
        if child.id() as i32 == pid && start_of(pid) > start {
            return Some(Stranger(child));
        }
        child.kill().unwrap();
        // An agent may be faster.
        let _ = child.wait();
        None
    })
}

both_ways!(a_number_used_again_while_the_agent_was_away_is_not_its_process);

fn a_number_used_again_while_the_agent_was_away_is_not_its_process(groups: ControlGroups) {
    let way = match groups {
        ControlGroups::Auto => "with_control_groups",
        ControlGroups::Off => "by_proc_alone",
    };
    let test = "a_number_used_again_while_the_agent_was_away_is_not_its_process";
    if !is_inside(&format!("{way}::{test}"), First::Shell) {
        return;
    }
    for options in ["--daemon --pid-file %/pid", "--print up"] {
        // As a child, and as daemons are: leading a session of its own.
        for stranger in [&["sleep", "600"][..], &["setsid", "sleep", "600"]] {
            let home = Home::with(groups);
            let mut keeper = home.keeper();
            let mut spec = home.spec(options);
            spec.monitor_policy.start_interval = 0;
            keeper.hold(spec);
            keeper.succeed(1, Op::Start);
            let pid = keeper.running().pid;
            let start = start_of(pid);
            keeper.stop();
            kill(pid, libc::SIGKILL);
            let stranger = use_again(pid, start, stranger);

            let mut keeper = home.keeper();
            let next = keeper.next_run(&home, pid);
            assert!(is_alive(next));
            assert!(
                keeper.history.iter().all(|status| status.pid != pid),
                "{:?}",
                keeper.history
            );
            assert_eq!(end(&mut keeper), Exit::Unseen);
            keeper.succeed(2, Op::Kill);
            stranger.was_left_alone();
        }
    }
}

#[test]
fn a_number_used_again_under_a_stale_pid_file_is_neither_shown_nor_stopped() {
    let test = "a_number_used_again_under_a_stale_pid_file_is_neither_shown_nor_stopped";
    if !is_inside(test, First::Shell) {
        return;
    }
    let home = Home::new();
    let mut keeper = home.keeper();
    keeper.hold(home.daemon());
    keeper.succeed(1, Op::Start);
    let pid = keeper.running().pid;
    let start = start_of(pid);
    keeper.succeed(2, Op::Unmanage);
    kill(pid, libc::SIGKILL);
    keeper.stopped();
    assert_eq!(home.pid(), pid, "the file is still there");
    let stranger = use_again(pid, start, &["setsid", "sleep", "600"]);
    assert_eq!(keeper.succeed(3, Op::Query).instance.unwrap().pid, -1);
    for (number, op) in [(4, Op::Stop), (5, Op::Kill)] {
        assert_eq!(keeper.operate(number, op).code, Code::NOT_RUNNING);
    }
    assert_eq!(keeper.operate(6, Op::Reload).code, Code::CHECK_FAILED);
    keeper.succeed(7, Op::Start);
    assert_ne!(keeper.running().pid, pid);
    keeper.succeed(8, Op::Kill);
    stranger.was_left_alone();
}
