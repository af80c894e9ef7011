//! Periodic processes. The rule here has a field for seconds, which the server refuses, so that a test need not wait a
//! minute.

use model::operation::Op;
use model::spec::AutoType;
use model::{Flag, Spec, State};

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
