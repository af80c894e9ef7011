//! Many exits at once: all leftovers are killed before any process restarts, and none is started twice.

use model::operation::Op;
use model::{Code, Flag, FullName, Spec, State};
use supervisor::ControlGroups;

use crate::crash::driver_of;
use crate::harness::{
    Home, TestSupervisor, is_alive, kill, op_id, options, until, with_and_without_groups,
};

const MANY: u32 = 12;
/// The program, its two workers, and a child that left its session.
const FAMILY: usize = 4;

fn name(number: u32) -> FullName {
    format!("test/odd{number}").parse().unwrap()
}

/// A spec with workers and a child that leaves its session.
fn spec(home: &Home, number: u32) -> Spec {
    let options = format!("--count %/count{number} --workers 2 --leak-child");
    let mut spec = home.spec(&options);
    spec.identity.pid_path = home.file(&format!("pid{number}"));
    spec.monitor_policy.start_interval = 0;
    spec.monitor_policy.start_retries = 10;
    spec
}

/// The pid of a run that has passed its start check.
fn pid_of(supervisor: &mut TestSupervisor, number: u32, not: i32) -> i32 {
    until(&format!("a new run of {number}"), || {
        supervisor.listen();
        let status = supervisor.statuses.get(&name(number))?;
        let is_new = status.state == State::Running && status.pid != not;
        let is_up = not == 0 || status.message.starts_with("restarted");
        (is_new && is_up).then_some(status.pid)
    })
}

fn whole(home: &Home) {
    until("all families, and no other process", || {
        (home.processes() == MANY as usize * FAMILY).then_some(())
    });
}

with_and_without_groups!(many_processes_that_crash_at_once_restart_once_each);

fn many_processes_that_crash_at_once_restart_once_each(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    for number in 0..MANY {
        supervisor.hold_as(
            &name(number),
            spec(&home, number),
            Flag::Unregistered,
            false,
        );
        supervisor.begin_on(&name(number), number, Op::Start, None);
    }
    for number in 0..MANY {
        let outcome = supervisor.end_of(op_id(number));
        assert_eq!(outcome.code, Code::OK, "{outcome:?}");
    }
    let mut pids = vec![0; MANY as usize];
    for storm in 1..=3 {
        for number in 0..MANY {
            let pid = &mut pids[number as usize];
            *pid = pid_of(&mut supervisor, number, *pid);
        }
        whole(&home);
        for number in 0..MANY {
            let starts = home.lines(&format!("count{number}"));
            assert_eq!(starts, storm, "{number} was started once each time");
        }
        if storm < 3 {
            pids.iter().for_each(|pid| kill(*pid, libc::SIGKILL));
        }
    }

    let ids: Vec<_> = (0..MANY)
        .map(|number| supervisor.begin_on(&name(number), 100 + number, Op::Stop, None))
        .collect();
    for id in ids {
        let outcome = supervisor.end_of(id);
        assert_eq!(outcome.code, Code::OK, "{outcome:?}");
    }
    assert_eq!(home.processes(), 0, "a stop is for the whole family");
}

/// Each daemonizes with two forks, and is searched for meanwhile.
#[test]
fn a_daemon_that_is_forking_is_never_taken_for_exited() {
    let home = Home::with(ControlGroups::Off);
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    spec.control.start_cmd = spec
        .control
        .start_cmd
        .replace("--daemon", "--daemon --after 1");
    supervisor.hold(spec);
    for number in 0..12 {
        supervisor.succeed(2 * number, Op::Start);
        supervisor.succeed(2 * number + 1, Op::Kill);
    }
    until("nothing is left", || (home.processes() == 0).then_some(()));
}

#[test]
fn leftovers_of_an_earlier_agents_run_are_killed_before_the_next_run() {
    let home = Home::new();
    let mut spec = home.spec("--count %/count --workers 2 --leak-child");
    spec.monitor_policy.start_interval = 0;
    let spec = serde_json::to_string(&spec).unwrap();
    std::fs::write(home.path("spec.json"), spec).unwrap();
    let ops = serde_json::to_string(&[(1, Op::Start)]).unwrap();
    std::fs::write(home.path("ops.json"), ops).unwrap();
    let mut earlier = driver_of(&home).spawn().unwrap();
    until("its end", || (home.lines("ends") == 1).then_some(()));
    earlier.kill().unwrap();
    earlier.wait().unwrap();
    until("the family", || (home.processes() == FAMILY).then_some(()));

    let (mut supervisor, _) = home.supervisor_with(options());
    let pid = supervisor.running().pid;
    kill(pid, libc::SIGKILL);
    let next = supervisor.status_where("the next", |s| s.state == State::Running && s.pid != pid);
    until("one family only", || {
        (home.processes() == FAMILY).then_some(())
    });
    assert!(is_alive(next.pid));
    assert_eq!(home.lines("count"), 2);
}
