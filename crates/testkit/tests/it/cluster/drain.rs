//! Draining and stopping a replica: its agents move before it exits, and no operation fails.

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

/// Queries all of them again and again; each target must succeed. Counts the rounds.
fn operate(daemons: &Daemons, api: &Api, stop: &AtomicBool, n_done: &AtomicUsize) {
    while !stop.load(Ordering::SeqCst) {
        let task = daemons.operate(api, QUERY);
        daemons.ended(api, &task, 0);
        n_done.fetch_add(1, Ordering::SeqCst);
    }
}

/// Stops the threads, also when the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs operations through some replicas before, during and after an action.
fn meanwhile(
    cluster: &mut Replicas,
    through: [usize; 2],
    daemons: &Daemons,
    act: impl FnOnce(&mut Replicas),
) {
    let apis = through.map(|n| cluster.api(n).clone());
    let (stop, n_done) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        for api in &apis {
            scope.spawn(|| operate(daemons, api, &stop, &n_done));
        }
        let more_done = || {
            let before = n_done.load(Ordering::SeqCst);
            wait::until("more operations", || {
                n_done.load(Ordering::SeqCst) > before + 4
            });
        };
        more_done();
        act(cluster);
        more_done();
    });
}

#[test]
fn draining_or_stopping_a_replica_fails_no_operation() {
    let mut cluster = Replicas::prepare(Setup::default());
    cluster.start_one(0);
    let agents = cluster.start_agents_at(0, &HOSTS);
    let daemons = Daemons::register(&cluster, 1, "steady", &agents);
    let task = daemons.operate(cluster.api(1), 0);
    daemons.ended(cluster.api(1), &task, 0);
    let slow = Daemons::register_held(&cluster, 0, "slow", &agents);
    let slow_task = slow.operate(cluster.api(0), 0);
    slow.wait_until_begun();

    meanwhile(&mut cluster, [1, 2], &daemons, |cluster| {
        let (status, answer) = cluster.api(0).native("POST", "/api/v1/drain", None);
        assert_eq!(
            (status, &answer["draining"]),
            (200, &true.into()),
            "{answer}"
        );
        wait::until("all agents to go", || {
            let n_held = cluster.n_held(&agents);
            n_held[1] + n_held[2] == HOSTS.len()
        });
        let (_, answer) = cluster.api(0).native("DELETE", "/api/v1/drain", None);
        assert_eq!(answer["draining"], false, "{answer}");
    });
    let leaving = match cluster.n_held(&agents)[1] {
        0 => 2,
        _ => 1,
    };
    let staying = [0, 3 - leaving];
    meanwhile(&mut cluster, staying, &daemons, |cluster| {
        cluster.terminate(leaving);
        assert!(cluster.has_exited(leaving), "it exits with success");
    });
    assert_eq!(cluster.n_held(&agents)[leaving], 0);
    slow.let_go();
    for n in staying {
        slow.ended(cluster.api(n), &slow_task, 0);
    }
    slow.were_executed(1);
    daemons.were_executed(1);
}
