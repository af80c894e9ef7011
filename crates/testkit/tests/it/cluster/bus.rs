//! A stopped NATS server, and the kill of one of three.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use testkit::{Api, Replicas, Setup, odd, wait};

use super::tasks::Daemons;
use crate::fixture::Fixture;

const HOSTS: [&str; 2] = ["10.24.0.1", "10.24.0.2"];
const QUERY: u8 = 2;

/// An operation over NATS is faster than this, one over mail rarely.
const FAST: Duration = Duration::from_millis(400);
const N_FAST: usize = 5;

/// A foreground program on the first host that prints a line.
fn talker(cluster: &Replicas, at: usize) -> Fixture {
    let talker = Fixture::daemon(cluster.path(), HOSTS[0], "talker");
    let (odd, count) = (odd::odd().display().to_string(), talker.path("count"));
    let talker = talker.registered(
        cluster.api(at),
        &format!("{odd} --count {count} --print hello"),
    );
    assert_eq!(talker.operate(cluster.api(at), 0).0, 0);
    talker
}

#[track_caller]
fn log_says_hello(api: &Api) {
    let path = "/api/v1/processes/e2e/talker/logs?tail=5";
    let answer = api.native_text("GET", path, None);
    assert_eq!(answer, (200, "hello\n".to_owned()));
}

#[test]
fn without_nats_everything_works_more_slowly() {
    let setup = Setup {
        n_replicas: 2,
        ..Setup::default()
    };
    let mut cluster = Replicas::prepare(setup);
    let (holder, other) = (0, 1);
    cluster.start_one(holder);
    let agents = cluster.start_agents_at(holder, &HOSTS);
    let daemons = Daemons::register(&cluster, other, "quiet", &agents);
    cluster.nats(0).stop().unwrap();

    let task = daemons.operate(cluster.api(other), 0);
    daemons.ended(cluster.api(other), &task, 0);
    for n in [holder, other] {
        daemons.wait_for_status(cluster.api(n), 1);
    }
    let talker = talker(&cluster, other);
    log_says_hello(cluster.api(other));
    // Longer than the silence after which a replica counts as dead: they exchange messages through the store.
    let begun = Instant::now();
    wait::until("some time without NATS", || {
        let task = daemons.operate(cluster.api(other), QUERY);
        daemons.ended(cluster.api(other), &task, 0);
        begun.elapsed() > Duration::from_secs(10)
    });

    cluster.nats(0).start_again().unwrap();
    let mut n_fast = 0;
    wait::until("operations to be fast again", || {
        let begun = Instant::now();
        let task = daemons.operate(cluster.api(other), QUERY);
        daemons.ended(cluster.api(other), &task, 0);
        let is_fast = begun.elapsed() < FAST;
        n_fast = if is_fast { n_fast + 1 } else { 0 };
        n_fast == N_FAST
    });
    log_says_hello(cluster.api(other));
    daemons.were_executed(1);
    assert_eq!(talker.executions(), 1);
}

#[test]
fn nothing_is_lost_when_one_of_three_nats_servers_is_killed_under_load() {
    let mut cluster = Replicas::start_with(Setup {
        n_nats: 3,
        ..Setup::default()
    });
    let agents = cluster.start_agents(&HOSTS);
    let daemons = Daemons::register(&cluster, 0, "busy", &agents);
    let task = daemons.operate(cluster.api(0), 0);
    daemons.ended(cluster.api(0), &task, 0);
    let apis = [0, 1, 2].map(|n| cluster.api(n).clone());
    let n_done = [const { AtomicUsize::new(0) }; 3];
    let (killed, back) = (15, 30);
    std::thread::scope(|scope| {
        for (n, api) in apis.iter().enumerate() {
            let (daemons, n_done, next) = (&daemons, &n_done[n], &apis[(n + 1) % 3]);
            scope.spawn(move || {
                while n_done.load(Ordering::SeqCst) < back {
                    let task = daemons.operate(api, QUERY);
                    daemons.ended(next, &task, 0);
                    n_done.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let all_did = |n: usize| {
            let did = || n_done.iter().all(|done| done.load(Ordering::SeqCst) >= n);
            wait::until("more operations", did);
        };
        all_did(5);
        cluster.nats(0).kill().unwrap();
        all_did(killed);
        cluster.nats(0).start_again().unwrap();
        all_did(back);
    });
    for n in 0..3 {
        cluster.wait_for_agents(&agents);
        daemons.wait_for_status(cluster.api(n), 1);
    }
    daemons.were_executed(1);
}
