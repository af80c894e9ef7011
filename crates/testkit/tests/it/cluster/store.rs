//! SIGKILL and restart of PostgreSQL.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::api::with_credentials;
use testkit::{Api, Replicas, Setup, wait};

use super::tasks::{Daemons, import};
use super::writes::{NOT_AVAILABLE, register, shows, write};

const HOSTS: [&str; 2] = ["10.23.0.1", "10.23.0.2"];

/// Every write is refused with a clear message, also when there are many.
fn writes_fail_clearly(cluster: &Replicas, daemons: &Daemons) {
    let refused = |n: usize, what: &str, ask: &dyn Fn(&Api) -> Result<Value, String>| {
        let answer = ask(cluster.api(n)).unwrap();
        assert_eq!(answer["code"], NOT_AVAILABLE, "{what}: {answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains("the store"), "{what}: {message}");
    };
    std::thread::scope(|scope| {
        for n in 0..8 {
            scope.spawn(move || {
                refused(n % cluster.len(), "register", &|api| {
                    register(api, &format!("refused-{n}"))
                });
            });
        }
        scope.spawn(|| {
            let target = &daemons.0[0];
            let body = json!({"meta": target.meta, "hosts": target.hosts, "op_type": 7});
            let body = with_credentials(body);
            refused(0, "operate", &|api| {
                api.try_post("/v2/gse/operate_proc/", &body)
            });
        });
    });
}

/// The processes of the business, as one replica shows them.
fn process_status(api: &Api) -> Value {
    let body = json!({"bk_biz_id": 2, "scope": {"bk_set_env": "3"}, "page": 1, "pagesize": 10});
    let path = "/v2/gsekit/api/process/process_status/";
    let answer = api.post(path, with_credentials(body));
    assert_eq!(answer["result"], true, "{answer}");
    answer["data"].clone()
}

fn reads_go_on(cluster: &Replicas, running: &Daemons, processes: &Value) {
    for n in 0..cluster.len() {
        for daemon in &running.0 {
            assert_eq!(daemon.status(cluster.api(n))["status"], 1);
        }
        assert_eq!(process_status(cluster.api(n)), *processes);
    }
}

#[test]
fn without_the_store_reads_work_writes_are_refused_and_nothing_is_lost() {
    let mut cluster = Replicas::start_with(Setup {
        n_replicas: 2,
        fsync: true,
        ..Setup::default()
    });
    let agents = cluster.start_agents(&HOSTS);
    import(&cluster, HOSTS[0]);
    let running = Daemons::register(&cluster, 0, "running", &agents);
    let task = running.operate(cluster.api(0), 0);
    running.ended(cluster.api(1), &task, 0);
    for n in 0..2 {
        running.wait_for_status(cluster.api(n), 1);
    }
    let processes = process_status(cluster.api(1));
    assert_eq!(
        processes["list"].as_array().unwrap().len(),
        1,
        "{processes}"
    );
    let slow = Daemons::register_held(&cluster, 1, "slow", &agents);
    let task = slow.operate(cluster.api(1), 0);
    slow.wait_until_begun();

    let replicas = [0, 1].map(|n| cluster.api(n).clone());
    let (stop, n_done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let acknowledged = std::thread::scope(|scope| {
        let writers = ["a", "b", "c"].map(|name| {
            let (replicas, stop, n_done) = (&replicas, &stop, &n_done);
            scope.spawn(move || write(replicas, name, stop, n_done))
        });
        wait::until("some acknowledgements", || {
            n_done.load(Ordering::SeqCst) > 20
        });
        cluster.postgres.kill().unwrap();
        stop.store(true, Ordering::SeqCst);
        let acknowledged = writers.map(|writer| writer.join().unwrap());
        acknowledged.concat()
    });
    // Agents keep their results meanwhile.
    slow.let_go();
    writes_fail_clearly(&cluster, &running);
    reads_go_on(&cluster, &running, &processes);
    for daemon in &slow.0 {
        wait::until("the end of the start", || daemon.is_alive());
    }
    cluster.postgres.start_again().unwrap();
    wait::until("writes to work again", || {
        let answers = [0, 1].map(|n| register(cluster.api(n), &format!("after-{n}")));
        let is_done = |answer: &Result<Value, String>| {
            answer.as_ref().is_ok_and(|answer| answer["code"] == 0)
        };
        answers.iter().all(is_done)
    });
    for n in 0..2 {
        shows(cluster.api(n), &acknowledged);
        slow.ended(cluster.api(n), &task, 0);
        slow.wait_for_status(cluster.api(n), 1);
    }
    slow.were_executed(1);
    running.were_executed(1);
}
