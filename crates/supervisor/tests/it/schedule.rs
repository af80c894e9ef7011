//! Periodic processes. The rule here has a field for seconds, which nobody can register: a test cannot wait for a minute.

use model::operation::Op;
use model::spec::AutoType;
use model::{Flag, Spec, State};

use crate::keeper::{Home, wait_for};

fn every_second(spec: Spec) -> Spec {
    let mut spec = spec;
    spec.monitor_policy.auto_type = AutoType::Periodic;
    spec.monitor_policy.crontab_rule = "* * * * * *".to_owned();
    spec
}

#[test]
fn a_periodic_process_runs_again_and_again_also_under_the_next_agent() {
    let home = Home::new();
    let mut keeper = home.keeper();
    keeper.hold(every_second(home.spec("--count %/count --exit 0")));
    keeper.succeed(1, Op::Manage);
    wait_for("two runs", || (home.lines("count") >= 2).then_some(()));
    let status = keeper.status_where("how the last run ended", |s| {
        s.message.starts_with("last run exited with code 0 after ")
            && s.message.contains("; next at ")
            && s.state == State::Stopped
    });
    assert_eq!(
        (status.flag, status.managed),
        (Some(Flag::Running), Some(true))
    );
    assert!(keeper.events.is_empty(), "{:?}", keeper.events);
    keeper.stop();
    let before = home.lines("count");
    let mut keeper = home.keeper();
    wait_for("more runs", || {
        (home.lines("count") >= before + 2).then_some(())
    });
    keeper.operate(2, Op::Stop);
    let status = keeper.status_where("stopped", |s| s.flag == Some(Flag::Stopped));
    assert!(!status.message.contains("next at"), "{status:?}");
}

#[test]
fn a_run_that_goes_on_is_not_overlapped() {
    let home = Home::new();
    let mut keeper = home.keeper();
    keeper.hold(every_second(home.spec("--count %/count")));
    keeper.succeed(1, Op::Manage);
    let said = " was skipped: the one before it still goes on";
    keeper.status_where("skipped", |s| s.message.ends_with(said));
    assert_eq!((home.lines("count"), home.processes()), (1, 1));
}

#[test]
fn a_run_that_fails_is_told_and_the_next_comes_all_the_same() {
    let home = Home::new();
    let mut keeper = home.keeper();
    keeper.hold(every_second(
        home.spec("--count %/count --complain broken --exit 3"),
    ));
    keeper.succeed(1, Op::Manage);
    wait_for("two runs", || (home.lines("count") >= 2).then_some(()));
    let said = "last run exited with code 3 after ";
    let status = keeper.status_where("failed", |s| s.message.starts_with(said));
    assert!(
        status.message.contains("; last output: broken; next at "),
        "{status:?}"
    );
    assert!(!keeper.events.is_empty());
}

#[test]
fn a_one_shot_that_succeeds_is_wanted_stopped_from_then_on() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--count %/count --exit 0");
    spec.monitor_policy.auto_type = AutoType::OneShot;
    keeper.hold(spec);
    keeper.succeed(1, Op::Manage);
    let status = keeper.status_where("done", |s| s.flag == Some(Flag::Stopped));
    assert!(
        status.message.starts_with("exited with code 0 after "),
        "{status:?}"
    );
    assert_eq!((home.lines("count"), status.managed), (1, Some(true)));
    keeper.stop();
    let (_, recovered) = home.keeper_with(crate::keeper::options());
    assert_eq!(recovered.held[0].flag, Flag::Stopped);
}
