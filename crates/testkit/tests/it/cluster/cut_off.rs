//! A replica without store and bus that agents and clients still reach.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use testkit::{Network, Replicas, Setup, precondition, wait};

use super::tasks::Daemons;
use super::writes::{NOT_AVAILABLE, shows, write};
use crate::fixture::Fixture;

const HOSTS: [&str; 3] = ["10.25.0.1", "10.25.0.2", "10.25.0.3"];

#[test]
fn a_partitioned_replica_loses_nothing_and_rejoins() {
    let network = Network::make();
    let missing = format!("a network namespace: {:?}", network.as_ref().err());
    if !precondition::is_met(network.is_ok(), &missing) {
        return;
    }
    let mut cluster = Replicas::prepare(Setup {
        network: network.ok(),
        ..Setup::default()
    });
    let (others, lonely) = ([0, 1], 2);
    cluster.start_one(lonely);
    let agents = cluster.start_agents_at(lonely, &HOSTS);
    assert_eq!(cluster.n_held(&agents)[lonely], HOSTS.len());

    // One operation accepted by the replica that will be cut off, one by another; it dispatches both.
    let [ours, theirs] = [("ours", lonely), ("theirs", others[0])].map(|(name, at)| {
        let daemons = Daemons::register_held(&cluster, at, name, &agents);
        let task = daemons.operate(cluster.api(at), 0);
        daemons.wait_until_begun();
        (daemons, task)
    });
    let cut = || cluster.network.as_ref().expect("it is set up");
    // Writes go on there while it is cut off.
    let writes_to = [cluster.api(lonely).clone()];
    let (stop, n_done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let acknowledged = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(&writes_to, "cut", &stop, &n_done));
        wait::until("some acknowledgements", || {
            n_done.load(Ordering::SeqCst) > 10
        });
        cut().cut();
        for (daemons, _) in [&ours, &theirs] {
            daemons.let_go();
        }
        stop.store(true, Ordering::SeqCst);
        writer.join().unwrap()
    });
    for n in others {
        shows(cluster.api(n), &acknowledged);
    }
    // Writes there are refused.
    let refused = Fixture::daemon(cluster.path(), HOSTS[0], "refused");
    let body = json!({"meta": refused.meta, "hosts": refused.hosts, "spec": refused.spec("true")});
    let answer = cluster.api(lonely).esb("register_proc_info", body);
    assert_eq!(answer["code"], NOT_AVAILABLE, "{answer}");
    // Elsewhere it does.
    let during = Daemons::register(&cluster, others[1], "during", &agents);

    for (daemons, task) in [&ours, &theirs] {
        for n in others {
            daemons.ended(cluster.api(n), task, 0);
            daemons.wait_for_status(cluster.api(n), 1);
        }
    }
    for agent in &agents {
        wait::until("a session with another replica", || {
            let holder = cluster.holder(agent)?;
            others.contains(&holder).then_some(())
        });
    }
    let task = during.operate(cluster.api(others[0]), 0);
    during.ended(cluster.api(others[1]), &task, 0);

    cut().heal();
    wait::until("what happened meanwhile", || {
        let row = during.0[0].status(cluster.api(lonely));
        row["status"] == 1
    });
    shows(cluster.api(lonely), &acknowledged);
    let row = refused.status(cluster.api(lonely));
    assert_eq!(row["message"], "process is not registered", "{row}");
    cluster.wait_for_agents(&agents);
    for (daemons, task) in [&ours, &theirs] {
        daemons.ended(cluster.api(lonely), task, 0);
    }
    let task = during.operate(cluster.api(lonely), 7);
    during.ended(cluster.api(lonely), &task, 0);
    during.were_executed(2);
    for (daemons, _) in [&ours, &theirs] {
        daemons.were_executed(1);
    }
}
