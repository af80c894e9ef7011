//! Programs in unusual states: zombies, stopped by SIGSTOP, in own sessions and groups, with dropped privileges.

use std::os::unix::fs::MetadataExt;

use model::operation::Op;
use model::status::Exit;
use model::{Code, State};
use supervisor::ControlGroups;

use crate::harness::{Home, is_alive, kill, runs_as_root, until, with_and_without_groups};

with_and_without_groups!(
    a_program_in_sessions_and_groups_of_its_own_is_stopped_whole,
    a_program_that_drops_privileges_stays_supervised,
);

/// The letter of its state in `/proc`.
fn state(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

#[test]
fn a_zombie_counts_as_exited() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--daemon --child %/pid");
    spec.monitor_policy.start_interval = 0;
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let first = supervisor.running().pid;
    assert_eq!(first, home.pid());
    kill(first, libc::SIGKILL);
    let second = supervisor.next_run(&home, first);
    assert_eq!(state(first), Some('Z'), "its parent does not wait");
    let exit = until("its end is told", || {
        supervisor.listen();
        supervisor.events.iter().find_map(|(_, event)| event.exit)
    });
    assert_eq!(exit, Exit::Signal(9));
    supervisor.succeed(2, Op::Unmanage);
    kill(second, libc::SIGTERM);
    let said = supervisor.stopped().message;
    assert!(said.starts_with("killed by signal 15 "), "{said}");
    assert_eq!(state(second), Some('Z'));
    assert_eq!(supervisor.operate(3, Op::Query).instance.unwrap().pid, -1);
    assert_eq!(supervisor.operate(4, Op::Stop).code, Code::NOT_RUNNING);
    // The same for the next agent.
    supervisor.stop();
    let mut supervisor = home.supervisor();
    assert_eq!(supervisor.stopped().pid, -1);
    supervisor.succeed(5, Op::Start);
    supervisor.succeed(6, Op::Kill);
    until("the parents are gone, too", || {
        (home.processes() == 0).then_some(())
    });
}

#[test]
fn a_process_stopped_by_sigstop_counts_as_running_and_can_be_stopped() {
    let home = Home::new();
    for (number, options) in [
        (1, "--daemon --pid-file %/pid"),
        (11, "--workers 1 --pid-file %/pid"),
    ] {
        let mut supervisor = home.supervisor();
        supervisor.hold(home.spec(options));
        supervisor.succeed(number, Op::Start);
        let pid = supervisor.running().pid;
        kill(pid, libc::SIGSTOP);
        until("it is stopped", || (state(pid) == Some('T')).then_some(()));
        let seen = supervisor.succeed(number + 1, Op::Query).instance.unwrap();
        assert_eq!((seen.pid, seen.stat.as_str()), (pid, "T"));
        assert_eq!(supervisor.running().pid, pid);
        assert_eq!(
            supervisor.operate(number + 2, Op::Start).code,
            Code::ALREADY_RUNNING
        );
        supervisor.succeed(number + 3, Op::Stop);
        assert!(!is_alive(pid));

        supervisor.succeed(number + 4, Op::Start);
        let pid = home.pid();
        kill(pid, libc::SIGSTOP);
        supervisor.succeed(number + 5, Op::Kill);
        assert!(!is_alive(pid));
    }
}

fn a_program_in_sessions_and_groups_of_its_own_is_stopped_whole(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    for (number, options, behind) in [
        (1, "--daemon --daemon --pid-file %/pid", ""),
        (11, "--workers 1 --leak-child --leak-child", ""),
        // Below a shell that leads the session: the program has another process group.
        (21, "--group --workers 1 --leak-child", "; true"),
    ] {
        let mut spec = home.spec(options);
        spec.control.start_cmd.push_str(behind);
        supervisor.hold(spec);
        supervisor.succeed(number, Op::Start);
        let pid = supervisor.running().pid;
        assert_eq!(pid, home.pid(), "{options}");
        supervisor.succeed(number + 1, Op::Stop);
        until("nothing is left", || (home.processes() == 0).then_some(()));
        assert!(supervisor.events.is_empty(), "{:?}", supervisor.events);
    }
}

fn a_program_that_drops_privileges_stays_supervised(groups: ControlGroups) {
    if !runs_as_root() {
        return;
    }
    let home = Home::with(groups);
    home.open_to_all();
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap().uid;
    for (number, options) in [(1, "--daemon "), (11, "")] {
        let options =
            format!("{options}--pid-file %/pid --workers 1 --become {nobody} --print dropped");
        let mut supervisor = home.supervisor();
        let mut spec = home.spec(&options);
        spec.monitor_policy.start_interval = 0;
        supervisor.hold(spec);
        supervisor.succeed(number, Op::Start);
        let pid = supervisor.running().pid;
        assert_eq!(pid, home.pid());
        let owner = || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let uid = status
                .lines()
                .find(|line| line.starts_with("Uid:"))
                .unwrap();
            uid.split_whitespace().nth(2).unwrap().to_owned()
        };
        until("another user", || {
            (owner() == nobody.to_string()).then_some(())
        });
        assert_eq!(std::fs::metadata(home.path("pid")).unwrap().uid(), 0);
        supervisor.stop();
        let mut supervisor = home.supervisor();
        assert_eq!(supervisor.running().pid, pid);
        kill(pid, libc::SIGKILL);
        supervisor.next_run(&home, pid);
        supervisor.succeed(number + 1, Op::Kill);
        until("nothing is left", || (home.processes() == 0).then_some(()));
    }
}

#[test]
fn version_and_last_start_survive_the_agent_and_a_stop() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let told = home.file("version");
    std::fs::write(&told, "1.2.3\n").unwrap();
    let mut spec = home.daemon();
    spec.control.version_cmd = format!("cat {told}");
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let before = supervisor.status_where("its version", |s| s.version == "1.2.3");
    assert_ne!(before.started_at, model::UnixMillis::NEVER);
    supervisor.stop();
    // `version_cmd` would fail now.
    std::fs::remove_file(&told).unwrap();
    let mut supervisor = home.supervisor();
    let after = supervisor.status_where("running", |s| s.state == State::Running);
    assert_eq!(
        (after.pid, after.version.as_str(), after.started_at),
        (before.pid, "1.2.3", before.started_at)
    );
    supervisor.succeed(2, Op::Stop);
    let down = supervisor.status_where("stopped", |s| s.state == State::Stopped);
    assert_eq!(
        (down.version.as_str(), down.started_at),
        ("1.2.3", before.started_at)
    );
}
