//! Periodic processes. The rule here has a field for seconds, which the server refuses, so that a test need not wait a
//! minute.

use std::time::{SystemTime, UNIX_EPOCH};

use model::operation::Op;
use model::spec::AutoType;
use model::spec::schedule::{Missed, Overlap};
use model::{Flag, ProcessState, Spec, State};

use crate::harness::{Home, until};

fn every_second(spec: Spec) -> Spec {
    let mut spec = spec;
    spec.monitor_policy.auto_type = AutoType::Periodic;
    spec.monitor_policy.crontab_rule = "* * * * * *".to_owned();
    spec
}

#[test]
fn a_periodic_process_runs_again_and_again_also_under_the_next_agent() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(every_second(home.spec("--count %/count --exit 0")));
    supervisor.succeed(1, Op::Manage);
    until("two runs", || (home.lines("count") >= 2).then_some(()));
    let status = supervisor.status_where("how the last run ended", |s| {
        s.message.starts_with("last run exited with code 0 after ")
            && s.message.contains("; next at ")
            && s.state == State::Stopped
    });
    assert_eq!(
        (status.flag, status.managed),
        (Some(Flag::Running), Some(true))
    );
    assert!(supervisor.events.is_empty(), "{:?}", supervisor.events);
    supervisor.stop();
    let before = home.lines("count");
    let mut supervisor = home.supervisor();
    until("more runs", || {
        (home.lines("count") >= before + 2).then_some(())
    });
    supervisor.operate(2, Op::Stop);
    let status = supervisor.status_where("stopped", |s| s.flag == Some(Flag::Stopped));
    assert!(!status.message.contains("next at"), "{status:?}");
}

#[test]
fn a_scheduled_run_does_not_overlap_the_one_before() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(every_second(home.spec("--count %/count")));
    supervisor.succeed(1, Op::Manage);
    let said = " was skipped: the one before it still goes on";
    supervisor.status_where("skipped", |s| s.message.ends_with(said));
    assert_eq!((home.lines("count"), home.processes()), (1, 1));
}

#[test]
fn a_run_that_goes_on_is_waited_for_or_killed_as_the_spec_says() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = every_second(home.spec("--count %/count --await %/go --exit 0"));
    spec.schedule.overlap = Overlap::Wait;
    supervisor.hold(spec.clone());
    supervisor.succeed(1, Op::Manage);
    let said = " waits for the end of the one before it";
    supervisor.status_where("one waits", |s| s.message.contains(said));
    assert_eq!(home.processes(), 1);
    std::fs::write(home.path("go"), "").unwrap();
    until("the next runs", || (home.lines("count") >= 2).then_some(()));
    supervisor.operate(2, Op::Stop);

    std::fs::remove_file(home.path("go")).unwrap();
    let before = home.lines("count");
    spec.schedule.overlap = Overlap::Kill;
    supervisor.hold(spec);
    supervisor.succeed(3, Op::Manage);
    until("two more", || {
        (home.lines("count") >= before + 2).then_some(())
    });
    let event = until("the kill is told", || {
        supervisor.listen();
        let mut events = supervisor
            .events
            .iter()
            .map(|(_, event)| event.reason.clone());
        events.find(|reason| reason.starts_with("killed: the next run was due at "))
    });
    assert!(!event.is_empty());
    assert!(home.processes() <= 1);
    supervisor.operate(4, Op::Stop);
}

/// A home whose agent stopped before the only time of its schedule in this minute, and that time has passed.
fn home_with_a_missed_run(missed: Missed) -> Home {
    for lead_secs in [3, 6, 12, 24] {
        let home = Home::new();
        let mut supervisor = home.supervisor();
        let due = since_1970() / 1000 + lead_secs;
        let mut spec = every_second(home.spec("--count %/count --exit 0"));
        spec.monitor_policy.crontab_rule = format!("{} * * * * *", due % 60);
        spec.schedule.missed = missed;
        supervisor.hold(spec);
        supervisor.succeed(1, Op::Manage);
        supervisor.stop();
        if since_1970() < due * 1000 {
            until("its time passes", || {
                (since_1970() > (due + 1) * 1000).then_some(())
            });
            return home;
        }
        // This machine was too slow: its run may have begun.
    }
    panic!("the agent takes too long to start and stop");
}

fn since_1970() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_millis() as u64
}

#[test]
fn a_run_that_was_due_while_the_agent_was_away_is_skipped_or_made_up_for() {
    let home = home_with_a_missed_run(Missed::Once);
    let mut supervisor = home.supervisor();
    until("the missed run", || {
        (home.lines("count") == 1).then_some(())
    });
    supervisor.status_where("its end", |s| s.message.starts_with("last run exited"));
    drop(supervisor);

    let home = home_with_a_missed_run(Missed::Skip);
    let mut supervisor = home.supervisor();
    supervisor.status_where("it waits", |s| s.process_state == ProcessState::Scheduled);
    supervisor.succeed(2, Op::Query);
    assert_eq!(home.lines("count"), 0);
}

#[test]
fn a_failed_scheduled_run_is_an_event_and_the_next_runs() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(every_second(
        home.spec("--count %/count --complain broken --exit 3"),
    ));
    supervisor.succeed(1, Op::Manage);
    until("two runs", || (home.lines("count") >= 2).then_some(()));
    let said = "last run exited with code 3 after ";
    let status = supervisor.status_where("failed", |s| s.message.starts_with(said));
    assert!(
        status.message.contains("; last output: broken; next at "),
        "{status:?}"
    );
    assert!(!supervisor.events.is_empty());
}

#[test]
fn a_successful_one_shot_is_desired_stopped() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--count %/count --exit 0");
    spec.monitor_policy.auto_type = AutoType::OneShot;
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Manage);
    let status = supervisor.status_where("done", |s| s.flag == Some(Flag::Stopped));
    assert!(
        status.message.starts_with("exited with code 0 after "),
        "{status:?}"
    );
    assert_eq!((home.lines("count"), status.managed), (1, Some(true)));
    supervisor.stop();
    let (_, recovered) = home.supervisor_with(crate::harness::options());
    assert_eq!(recovered.held[0].flag, Flag::Stopped);
}
