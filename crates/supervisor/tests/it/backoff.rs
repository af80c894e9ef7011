//! `spec.restart` with real processes.

use model::operation::Op;
use model::spec::Restart;
use model::spec::restart::GiveUp;

use crate::harness::{Home, kill};

#[test]
fn each_wait_is_longer_than_the_one_before_and_the_agent_never_gives_up() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    spec.monitor_policy.start_retries = 1;
    spec.restart = Restart {
        delay: Some(1),
        factor: Some(2.0),
        delay_max: Some(2),
        jitter: Some(0),
        give_up: Some(GiveUp::Never),
        ..Restart::default()
    }
    .into();
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let mut pid = supervisor.running().pid;
    for (attempt, wait) in [(1, "1 s"), (2, "2 s"), (3, "2 s")] {
        kill(pid, libc::SIGKILL);
        let said = format!("; attempt {attempt}, next in {wait}");
        let status = supervisor.status_where(&said, |status| status.message.ends_with(&said));
        assert_eq!(status.restarts, attempt - 1);
        pid = supervisor.next_run(&home, pid);
    }
    supervisor.succeed(2, Op::Stop);
}
