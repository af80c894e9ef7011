//! `health_cmd` on real processes.

use std::time::Duration;

use model::event::EventKind;
use model::operation::Op;
use supervisor::Options;

use crate::harness::{Home, options, until};

#[test]
fn an_unhealthy_process_is_restarted_and_a_success_clears_the_count() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    let (well, asked) = (home.file("well"), home.file("asked"));
    spec.control.health_cmd =
        format!("echo $SECRET >> {asked}; pwd >> {asked}; echo sick; test -e {well}");
    spec.runtime.env.insert("SECRET".into(), "open".into());
    std::fs::write(&well, "").unwrap();
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    let mut number = 1;
    let mut health = |supervisor: &mut crate::harness::TestSupervisor| {
        number += 1;
        supervisor
            .succeed(number, Op::Query)
            .instance
            .unwrap()
            .health
    };
    until("healthy", || {
        (health(&mut supervisor) == "healthy").then_some(())
    });
    let said = std::fs::read_to_string(&asked).unwrap();
    assert!(
        said.starts_with(&format!("open\n{}\n", home.file("work"))),
        "{said}"
    );

    std::fs::remove_file(&well).unwrap();
    let event = until("an event", || {
        supervisor.listen();
        supervisor.events.first().map(|(_, event)| event.clone())
    });
    std::fs::write(&well, "").unwrap();
    assert_eq!(event.kind, EventKind::ProcessUnhealthy);
    let reason = "unhealthy: health_cmd failed 3 times in a row: exited with code 1: sick";
    assert_eq!(event.reason, reason);
    let status = supervisor.status_where("another run", |s| s.pid > 0 && s.pid != pid);
    assert!(status.message.contains(reason), "{status:?}");
    until("healthy again", || {
        (health(&mut supervisor) == "healthy").then_some(())
    });
    until("the restart is told", || {
        supervisor.listen();
        let mut kinds = supervisor.events.iter().map(|(_, event)| event.kind);
        kinds.find(|kind| *kind == EventKind::ProcessRestartSuccess)
    });
}

#[test]
fn a_health_command_that_times_out_is_killed_and_counts_as_failed() {
    let home = Home::new();
    let (mut supervisor, _) = home.supervisor_with(Options {
        health_timeout: Duration::from_millis(50),
        ..options()
    });
    let mut spec = home.spec("--print up");
    let odd = env!("CARGO_BIN_EXE_odd-child");
    spec.control.health_cmd = format!("{odd} --print looking");
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    supervisor.succeed(2, Op::Unmanage);
    let pid = supervisor.running().pid;
    let said = "times in a row: not done after 0.05 s, and killed: looking";
    let status = supervisor.status_where("unhealthy", |s| s.message.ends_with(said));
    assert_eq!(status.pid, pid, "not managed: only told");
    supervisor.succeed(3, Op::Stop);
    supervisor.stop();
    until("nothing is left", || (home.processes() == 0).then_some(()));
}

#[test]
fn a_stopping_agent_kills_its_side_commands_and_no_process() {
    let home = Home::new();
    let (mut supervisor, _) = home.supervisor_with(Options {
        health_timeout: Duration::from_secs(600),
        ..options()
    });
    let odd = env!("CARGO_BIN_EXE_odd-child");
    let mut spec = home.daemon();
    spec.control.health_cmd = format!("{odd} --workers 1 --count {}", home.file("asked"));
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    until("a question", || (home.lines("asked") == 1).then_some(()));
    assert!(home.processes() >= 3);
    supervisor.stop();
    until("the process alone", || {
        (home.processes() == 1).then_some(())
    });
    assert!(crate::harness::is_alive(pid));
}
