//! A replica that leaves in order: its agents are elsewhere before it is gone, and nobody notices.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use testkit::{Api, Replicas, Setup, wait};

use super::tasks::Daemons;

const HOSTS: [&str; 6] = [
    "10.26.0.1",
    "10.26.0.2",
    "10.26.0.3",
    "10.26.0.4",
    "10.26.0.5",
    "10.26.0.6",
];
const QUERY: u8 = 2;

/// Asks after all of them, again and again; each target must have its answer. How often that was done.
fn operate(daemons: &Daemons, api: &Api, stop: &AtomicBool, n_done: &AtomicUsize) {
    while !stop.load(Ordering::SeqCst) {
        let task = daemons.operate(api, QUERY);
        daemons.ended(api, &task, 0);
        n_done.fetch_add(1, Ordering::SeqCst);
    }
}

/// Stops the others, also when the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_replica_that_is_told_to_end_lets_its_agents_go_without_a_failed_operation() {
    let (leaving, others) = (0, [1, 2]);
    let mut cluster = Replicas::prepare(Setup::default());
    cluster.start_one(leaving);
    let agents = cluster.start_agents_at(leaving, &HOSTS);
    let daemons = Daemons::register(&cluster, others[0], "steady", &agents);
    let task = daemons.operate(cluster.api(others[0]), 0);
    daemons.ended(cluster.api(others[0]), &task, 0);
    let slow = Daemons::register_held(&cluster, leaving, "slow", &agents);
    let slow_task = slow.operate(cluster.api(leaving), 0);
    slow.wait_until_begun();

    let apis = others.map(|n| cluster.api(n).clone());
    let (stop, n_done) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        for api in &apis {
            scope.spawn(|| operate(&daemons, api, &stop, &n_done));
        }
        let more_done = || {
            let before = n_done.load(Ordering::SeqCst);
            wait::until("more operations", || {
                (n_done.load(Ordering::SeqCst) > before + 4).then_some(())
            });
        };
        more_done();
        cluster.terminate(leaving);
        assert!(cluster.has_left(leaving), "it ends well");
        more_done();
    });
    assert_eq!(cluster.n_held(&agents)[leaving], 0);
    slow.let_go();
    for n in others {
        slow.ended(cluster.api(n), &slow_task, 0);
    }
    slow.were_executed(1);
    daemons.were_executed(1);
}
