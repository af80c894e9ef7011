//! SIGKILL of the server at any moment: nothing acknowledged is lost, every target ends, nothing runs twice.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use testkit::{Cluster, api::with_credentials, wait};

use crate::fixture::Fixture;

#[test]
fn acknowledged_registrations_survive_every_kill() {
    let mut cluster = Cluster::start();
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..8_u64 {
        let api = cluster.api.clone();
        let (stop, n_acknowledged) = (AtomicBool::new(false), AtomicU64::new(0));
        let newly = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut newly = Vec::new();
                for n in 0.. {
                    let name = format!("p-{round}-{n}");
                    if stop.load(Ordering::SeqCst) || !register(&api, &name) {
                        break;
                    }
                    newly.push(name);
                    n_acknowledged.fetch_add(1, Ordering::SeqCst);
                }
                newly
            });
            wait::until("some acknowledgements", || {
                n_acknowledged.load(Ordering::SeqCst) > round * 7
            });
            cluster.kill_server();
            stop.store(true, Ordering::SeqCst);
            writer.join().unwrap()
        });
        assert!(
            !newly.is_empty(),
            "round {round}: something was acknowledged"
        );
        acknowledged.extend(newly);
        cluster.restart_server();
        let known = names(&cluster);
        for name in &acknowledged {
            assert!(
                known.contains(name),
                "round {round}: {name} was acknowledged and is gone"
            );
        }
        // At most the request without response may exist as well.
        assert!(
            known.len() <= acknowledged.len() + round as usize + 1,
            "round {round}: {}",
            known.len()
        );
    }
}

fn register(api: &testkit::Api, name: &str) -> bool {
    let body = json!({
        "meta": {"namespace": "crash", "name": name},
        "hosts": [{"ip": "10.0.0.1", "bk_cloud_id": 0, "bk_supplier_id": 0},
                  {"ip": "10.0.0.2", "bk_cloud_id": 0, "bk_supplier_id": 0}],
        "spec": {
            "identity": {"proc_name": "x", "setup_path": "/x", "pid_path": "/x/pid", "user": "root"},
            "control": {}, "resource": {"cpu": 0, "mem": 0}, "monitor_policy": {"auto_type": 1},
        },
    });
    api.try_post("/v2/gse/register_proc_info", &with_credentials(body))
        .is_ok_and(|answer| answer["code"] == 0)
}

/// Every name in the namespace; each is registered for both hosts or for none.
fn names(cluster: &Cluster) -> std::collections::BTreeSet<String> {
    let mut rows: Vec<Value> = Vec::new();
    loop {
        let page =
            json!({"meta": {"namespace": "crash"}, "page": {"start": rows.len(), "limit": 1000}});
        let data = cluster.api.esb_ok("sync_proc_status", page);
        rows.extend(data["proc_infos"].as_array().unwrap().iter().cloned());
        if rows.len() as u64 >= data["count"].as_u64().unwrap() {
            break;
        }
    }
    let name = |row: &Value| row["meta"]["name"].as_str().unwrap().to_owned();
    let names: std::collections::BTreeSet<String> = rows.iter().map(name).collect();
    assert_eq!(rows.len(), names.len() * 2, "a registration is atomic");
    names
}

/// The time of the kill sweeps over the whole operation. Few rounds, because the backoff of the agent grows with each.
#[test]
fn an_operation_ends_once_whenever_the_server_is_killed() {
    let mut cluster = Cluster::start();
    let _agent = cluster.agent("10.1.1.1");
    for round in 0..5_u64 {
        let daemon = Fixture::daemon(cluster.path(), "10.1.1.1", &format!("round-{round}"));
        let cmd = daemon.daemon_cmd();
        let daemon = daemon.registered(&cluster.api, &cmd);
        let body = json!({"meta": daemon.meta, "hosts": daemon.hosts, "op_type": 0});
        let task = cluster.api.esb_ok("operate_proc", body);
        std::thread::sleep(Duration::from_millis(round * round * 70));
        cluster.kill_server();
        cluster.restart_server();
        let data = cluster.api.ended(task["task_id"].as_str().unwrap());
        assert_eq!(data[&daemon.key]["error_code"], 0, "round {round}: {data}");
        assert_eq!(daemon.executions(), 1, "round {round}: executed once");
        assert!(daemon.is_alive(), "round {round}");
        let row = wait::until("the status after the restart", || {
            Some(daemon.status(&cluster.api)).filter(|row| row["status"] == 1)
        });
        assert_eq!(
            (&row["flag"], &row["isauto"]),
            (&json!(1), &json!(true)),
            "round {round}"
        );
        cluster.wait_for_agent("10.1.1.1", true);
    }
}

#[test]
fn a_restarted_server_shows_the_last_status() {
    let mut cluster = Cluster::start();
    let mut agent = cluster.agent("10.1.1.1");
    let daemon = Fixture::daemon(cluster.path(), "10.1.1.1", "remembered");
    let cmd = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &cmd);
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    let before = daemon.wait_for_status(&cluster.api, 1);
    // The server saves connections and then statuses, every five seconds. A second after the start no other write is left to
    // wait for, and a second after such a write both are done.
    let shown_at = SystemTime::now();
    let wal = cluster.path().join("server/muster.db-wal");
    wait::until("the status to be saved", || {
        let written_at = std::fs::metadata(&wal).and_then(|wal| wal.modified());
        let settled = |at: SystemTime| at.elapsed().is_ok_and(|ago| ago > Duration::from_secs(1));
        written_at.is_ok_and(|at| at > shown_at + Duration::from_secs(1) && settled(at))
    });
    agent.kill();
    cluster.restart_server();
    let row = daemon.status(&cluster.api);
    assert_eq!((&row["status"], &row["pid"]), (&json!(1), &before["pid"]));
    assert!(
        row["message"]
            .as_str()
            .unwrap()
            .contains("agent offline since"),
        "{row}"
    );
}
