//! Programs in odd states: dead and not waited for, stopped in their tracks, in sessions and groups of their own, with
//! fewer rights than they began with.

use std::os::unix::fs::MetadataExt;

use model::operation::Op;
use model::status::Exit;
use model::{Code, State};
use supervisor::ControlGroups;

use crate::keeper::{Home, both_ways, is_alive, kill, wait_for};

both_ways!(
    a_program_in_sessions_and_groups_of_its_own_is_stopped_whole,
    a_program_that_gives_up_its_rights_is_kept_as_before,
);

/// The letter of its state in `/proc`.
fn state(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

#[test]
fn one_whose_end_its_parent_never_heard_of_is_dead_all_the_same() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--daemon --child %/pid");
    spec.monitor_policy.start_interval = 0;
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let first = keeper.running().pid;
    assert_eq!(first, home.pid());
    kill(first, libc::SIGKILL);
    let second = keeper.next_run(&home, first);
    assert_eq!(state(first), Some('Z'), "its parent does not wait");
    let exit = wait_for("its end is told", || {
        keeper.listen();
        keeper.events.iter().find_map(|(_, event)| event.exit)
    });
    assert_eq!(exit, Exit::Signal(9));
    keeper.succeed(2, Op::Unmanage);
    kill(second, libc::SIGTERM);
    let said = keeper.stopped().message;
    assert!(said.starts_with("killed by signal 15 "), "{said}");
    assert_eq!(state(second), Some('Z'));
    assert_eq!(keeper.operate(3, Op::Query).instance.unwrap().pid, -1);
    assert_eq!(keeper.operate(4, Op::Stop).code, Code::NOT_RUNNING);
    // The next agent is not deceived either.
    keeper.stop();
    let mut keeper = home.keeper();
    assert_eq!(keeper.stopped().pid, -1);
    keeper.succeed(5, Op::Start);
    keeper.succeed(6, Op::Kill);
    wait_for("the parents are gone, too", || {
        (home.processes() == 0).then_some(())
    });
}

#[test]
fn one_that_was_stopped_in_its_tracks_runs_and_can_be_told_to_go() {
    let home = Home::new();
    for (number, options) in [
        (1, "--daemon --pid-file %/pid"),
        (11, "--workers 1 --pid-file %/pid"),
    ] {
        let mut keeper = home.keeper();
        keeper.hold(home.spec(options));
        keeper.succeed(number, Op::Start);
        let pid = keeper.running().pid;
        kill(pid, libc::SIGSTOP);
        wait_for("it is stopped", || (state(pid) == Some('T')).then_some(()));
        let seen = keeper.succeed(number + 1, Op::Query).instance.unwrap();
        assert_eq!((seen.pid, seen.stat.as_str()), (pid, "T"));
        assert_eq!(keeper.running().pid, pid);
        assert_eq!(
            keeper.operate(number + 2, Op::Start).code,
            Code::ALREADY_RUNNING
        );
        keeper.succeed(number + 3, Op::Stop);
        assert!(!is_alive(pid));

        keeper.succeed(number + 4, Op::Start);
        let pid = home.pid();
        kill(pid, libc::SIGSTOP);
        keeper.succeed(number + 5, Op::Kill);
        assert!(!is_alive(pid));
    }
}

fn a_program_in_sessions_and_groups_of_its_own_is_stopped_whole(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut keeper = home.keeper();
    for (number, options, behind) in [
        (1, "--daemon --daemon --pid-file %/pid", ""),
        (11, "--workers 1 --leak-child --leak-child", ""),
        // Below a shell, which leads the session and so is not its group any more.
        (21, "--group --workers 1 --leak-child", "; true"),
    ] {
        let mut spec = home.spec(options);
        spec.control.start_cmd.push_str(behind);
        keeper.hold(spec);
        keeper.succeed(number, Op::Start);
        let pid = keeper.running().pid;
        assert_eq!(pid, home.pid(), "{options}");
        keeper.succeed(number + 1, Op::Stop);
        wait_for("nothing is left", || (home.processes() == 0).then_some(()));
        assert!(keeper.events.is_empty(), "{:?}", keeper.events);
    }
}

fn a_program_that_gives_up_its_rights_is_kept_as_before(groups: ControlGroups) {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let home = Home::with(groups);
    home.open_to_all();
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap().uid;
    for (number, options) in [(1, "--daemon "), (11, "")] {
        let options =
            format!("{options}--pid-file %/pid --workers 1 --become {nobody} --print dropped");
        let mut keeper = home.keeper();
        let mut spec = home.spec(&options);
        spec.monitor_policy.start_interval = 0;
        keeper.hold(spec);
        keeper.succeed(number, Op::Start);
        let pid = keeper.running().pid;
        assert_eq!(pid, home.pid());
        let owner = || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let uid = status
                .lines()
                .find(|line| line.starts_with("Uid:"))
                .unwrap();
            uid.split_whitespace().nth(2).unwrap().to_owned()
        };
        wait_for("another user", || {
            (owner() == nobody.to_string()).then_some(())
        });
        assert_eq!(std::fs::metadata(home.path("pid")).unwrap().uid(), 0);
        keeper.stop();
        let mut keeper = home.keeper();
        assert_eq!(keeper.running().pid, pid);
        kill(pid, libc::SIGKILL);
        keeper.next_run(&home, pid);
        keeper.succeed(number + 1, Op::Kill);
        wait_for("nothing is left", || (home.processes() == 0).then_some(()));
    }
}

#[test]
fn version_and_last_start_survive_the_agent_and_a_stop() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let told = home.file("version");
    std::fs::write(&told, "1.2.3\n").unwrap();
    let mut spec = home.daemon();
    spec.control.version_cmd = format!("cat {told}");
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let before = keeper.status_where("its version", |s| s.version == "1.2.3");
    assert_ne!(before.started_at, model::UnixMillis::NEVER);
    keeper.stop();
    // Asked again, it could not tell.
    std::fs::remove_file(&told).unwrap();
    let mut keeper = home.keeper();
    let after = keeper.status_where("running", |s| s.state == State::Running);
    assert_eq!(
        (after.pid, after.version.as_str(), after.started_at),
        (before.pid, "1.2.3", before.started_at)
    );
    keeper.succeed(2, Op::Stop);
    let down = keeper.status_where("stopped", |s| s.state == State::Stopped);
    assert_eq!(
        (down.version.as_str(), down.started_at),
        ("1.2.3", before.started_at)
    );
}
