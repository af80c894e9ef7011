//! `health_cmd` on real processes.

use std::time::Duration;

use model::event::EventKind;
use model::operation::Op;
use supervisor::Options;

use crate::keeper::{Home, options, wait_for};

#[test]
fn an_unhealthy_process_is_restarted_and_a_success_clears() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.daemon();
    let (well, asked) = (home.file("well"), home.file("asked"));
    spec.control.health_cmd =
        format!("echo $SECRET >> {asked}; pwd >> {asked}; echo sick; test -e {well}");
    spec.runtime.env.insert("SECRET".into(), "open".into());
    std::fs::write(&well, "").unwrap();
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let pid = keeper.running().pid;
    let mut number = 1;
    let mut health = |keeper: &mut crate::keeper::Keeper| {
        number += 1;
        keeper.succeed(number, Op::Query).instance.unwrap().health
    };
    wait_for("healthy", || {
        (health(&mut keeper) == "healthy").then_some(())
    });
    let said = std::fs::read_to_string(&asked).unwrap();
    assert!(
        said.starts_with(&format!("open\n{}\n", home.file("work"))),
        "{said}"
    );

    std::fs::remove_file(&well).unwrap();
    let event = wait_for("an event", || {
        keeper.listen();
        keeper.events.first().map(|(_, event)| event.clone())
    });
    std::fs::write(&well, "").unwrap();
    assert_eq!(event.kind, EventKind::ProcessUnhealthy);
    let reason = "unhealthy: health_cmd failed 3 times in a row: exited with code 1: sick";
    assert_eq!(event.reason, reason);
    let status = keeper.status_where("another run", |s| s.pid > 0 && s.pid != pid);
    assert!(status.message.contains(reason), "{status:?}");
    wait_for("healthy again", || {
        (health(&mut keeper) == "healthy").then_some(())
    });
    wait_for("the restart is told", || {
        keeper.listen();
        let mut kinds = keeper.events.iter().map(|(_, event)| event.kind);
        kinds.find(|kind| *kind == EventKind::ProcessRestartSuccess)
    });
}

#[test]
fn a_health_command_that_does_not_end_is_killed_and_counts_as_failed() {
    let home = Home::new();
    let (mut keeper, _) = home.keeper_with(Options {
        health_timeout: Duration::from_millis(50),
        ..options()
    });
    let mut spec = home.spec("--print up");
    let odd = env!("CARGO_BIN_EXE_odd-child");
    spec.control.health_cmd = format!("{odd} --print looking");
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    keeper.succeed(2, Op::Unmanage);
    let pid = keeper.running().pid;
    let said = "times in a row: not done after 0.05 s, and killed: looking";
    let status = keeper.status_where("unhealthy", |s| s.message.ends_with(said));
    assert_eq!(status.pid, pid, "not managed: only told");
    keeper.succeed(3, Op::Stop);
    keeper.stop();
    wait_for("nothing is left", || (home.processes() == 0).then_some(()));
}

#[test]
fn an_agent_that_leaves_takes_its_questions_with_it_and_nothing_else() {
    let home = Home::new();
    let (mut keeper, _) = home.keeper_with(Options {
        health_timeout: Duration::from_secs(600),
        ..options()
    });
    let odd = env!("CARGO_BIN_EXE_odd-child");
    let mut spec = home.daemon();
    spec.control.health_cmd = format!("{odd} --workers 1 --count {}", home.file("asked"));
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let pid = keeper.running().pid;
    wait_for("a question", || (home.lines("asked") == 1).then_some(()));
    assert!(home.processes() >= 3);
    keeper.stop();
    wait_for("the process alone", || {
        (home.processes() == 1).then_some(())
    });
    assert!(crate::keeper::is_alive(pid));
}
