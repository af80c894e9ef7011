//! Backups of a running server, and restores beside agents that go on.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::process::Pid;
use serde_json::{Value, json};
use testkit::{Cluster, program, wait};

use crate::fixture::Fixture;

const IP: &str = "10.10.0.1";

fn store(cluster: &Cluster, words: &[&str], file: &Path) -> Value {
    let ran = Command::new(program::path("muster"))
        .args(["store", "-o", "json", "--data"])
        .arg(cluster.data())
        .args(words)
        .arg(file)
        .env("MUSTER_BACKUP_PASSPHRASE", "of the test")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{words:?}: {said}");
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn started(cluster: &Cluster, name: &str) -> (Fixture, Pid) {
    let daemon = Fixture::daemon(cluster.path(), IP, name);
    let cmd = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &cmd);
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    daemon.wait_for_status(&cluster.api, 1);
    let pid = daemon.pid().expect("it runs");
    (daemon, pid)
}

fn host(cluster: &Cluster) -> Value {
    let path = format!("/api/v1/hosts/0:{IP}");
    cluster.api.native("GET", &path, None).1
}

/// A backup while registrations go on; it has those that were answered before it began.
fn backup_beside_writes(cluster: &Cluster, file: &Path) -> Value {
    let (stop, n_done) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                let n = n_done.load(Ordering::SeqCst);
                let body = json!({"hosts": [IP], "spec": {"identity": {"proc_name": "x", "setup_path": "/tmp",
                    "pid_path": "/tmp/x.pid", "user": "root"}, "control": {"start_cmd": "true"}, "monitor_policy": {"auto_type": 2}}});
                let path = format!("/api/v1/processes/busy/n{n}");
                let (status, said) = cluster.api.native("POST", &path, Some(body));
                assert_eq!(status, 200, "{said}");
                n_done.fetch_add(1, Ordering::SeqCst);
            }
        });
        wait::until("some registrations", || n_done.load(Ordering::SeqCst) > 5);
        let made = store(cluster, &["backup"], file);
        stop.store(true, Ordering::SeqCst);
        made
    })
}

#[test]
fn a_lost_data_directory_comes_back_and_agents_need_not_join_again() {
    let mut cluster = Cluster::start();
    let agent = cluster.agent(IP);
    let (daemon, pid) = started(&cluster, "kept");
    let enrolled = host(&cluster)["enrolled_at"].clone();
    let file = cluster.path().join("muster.backup");
    let made = backup_beside_writes(&cluster, &file);
    assert_eq!(made["sha256"], store(&cluster, &["check"], &file)["sha256"]);

    cluster.kill_server();
    std::fs::remove_dir_all(cluster.data()).unwrap();
    let restored = store(&cluster, &["restore"], &file);
    assert_eq!(restored["replaced"], Value::Null, "{restored}");
    cluster.restart_server();
    cluster.wait_for_agent(IP, true);
    assert_eq!(
        host(&cluster)["enrolled_at"],
        enrolled,
        "it has its old certificate"
    );
    assert!(!agent.log().contains("certificate"), "{}", agent.log());
    let row = daemon.wait_for_status(&cluster.api, 1);
    assert_eq!(row["pid"], pid.as_raw_nonzero().get(), "{row}");
    assert_eq!(daemon.operate(&cluster.api, 7).0, 0);
    assert_eq!(daemon.executions(), 2);
    let path = "/api/v1/processes?namespace=busy&limit=1";
    let (_, page) = cluster.api.native("GET", path, None);
    assert!(page["count"].as_u64() > Some(5), "{page}");
}

/// Forgets it, which stops nothing.
fn unregister(cluster: &Cluster, fixture: &Fixture, name: &str) {
    let path = format!("/api/v1/processes/e2e/{name}?all=true");
    let (status, said) = cluster.api.native("DELETE", &path, None);
    assert_eq!(status, 200, "{said}");
    wait::until("the unregistration", || {
        fixture.status(&cluster.api)["status"] == 0
    });
}

#[test]
fn agents_that_have_seen_more_than_the_backup_converge_with_it() {
    let mut cluster = Cluster::start();
    let _agent = cluster.agent(IP);
    let (kept, _) = started(&cluster, "kept");
    let (dropped, dropped_pid) = started(&cluster, "dropped");
    // Registered as stopped, and again and running later.
    let renewed = Fixture::daemon(cluster.path(), IP, "renewed");
    let renewed_cmd = renewed.daemon_cmd();
    let renewed = renewed.registered(&cluster.api, &renewed_cmd);
    assert_eq!(renewed.operate(&cluster.api, 0).0, 0);
    assert_eq!(renewed.operate(&cluster.api, 1).0, 0);
    // One operation is under way: its start command waits for a file.
    let slow = Fixture::daemon(cluster.path(), IP, "slow");
    let gate = slow.path("gate");
    let cmd = format!(
        "while ! test -e {gate}; do sleep 0.1; done; {}",
        slow.daemon_cmd()
    );
    let slow = slow.registered(&cluster.api, &cmd);
    let body = json!({"meta": slow.meta, "hosts": slow.hosts, "op_type": 0});
    let under_way = cluster.api.esb_ok("operate_proc", body);
    let under_way = under_way["task_id"].as_str().unwrap().to_owned();
    let file = cluster.path().join("muster.backup");
    store(&cluster, &["backup"], &file);

    // The world goes on.
    std::fs::write(&gate, "").unwrap();
    assert_eq!(cluster.api.ended(&under_way)[&slow.key]["error_code"], 0);
    let body = json!({"meta": kept.meta, "hosts": kept.hosts, "op_type": 7});
    let restart = cluster.api.esb_ok("operate_proc", body);
    let restart = restart["task_id"].as_str().unwrap().to_owned();
    assert_eq!(cluster.api.ended(&restart)[&kept.key]["error_code"], 0);
    let kept_pid = kept.pid().unwrap();
    let (added, added_pid) = started(&cluster, "added");
    // Unregistered without stopping it.
    unregister(&cluster, &dropped, "dropped");
    assert_eq!(dropped.pid(), Some(dropped_pid), "it keeps running");
    unregister(&cluster, &renewed, "renewed");
    let renewed = renewed.registered(&cluster.api, &renewed_cmd);
    assert_eq!(renewed.operate(&cluster.api, 0).0, 0);
    let renewed_pid = renewed.pid().unwrap();

    cluster.kill_server();
    let restored = store(&cluster, &["restore", "--force"], &file);
    assert_eq!(restored["ended_operations"], 1, "{restored}");
    assert!(restored["replaced"].is_string(), "{restored}");
    cluster.restart_server();
    cluster.wait_for_agent(IP, true);

    // What runs keeps running, registered or not, and nothing is executed again.
    kept.wait_for_status(&cluster.api, 1);
    dropped.wait_for_status(&cluster.api, 1);
    slow.wait_for_status(&cluster.api, 1);
    renewed.wait_for_status(&cluster.api, 1);
    assert_eq!(
        (renewed.pid(), renewed.executions()),
        (Some(renewed_pid), 2)
    );
    for (fixture, pid, executions) in [
        (&kept, kept_pid, 2),
        (&dropped, dropped_pid, 1),
        (&added, added_pid, 1),
    ] {
        assert_eq!(
            (fixture.pid(), fixture.is_alive()),
            (Some(pid), true),
            "{}",
            fixture.key
        );
        assert_eq!(fixture.executions(), executions, "{}", fixture.key);
    }
    assert_eq!(slow.executions(), 1);
    let data = cluster.api.ended(&under_way);
    assert_eq!(data[&slow.key]["error_code"], 126, "{data}");
    // The restored store does not know what was registered since; its registration adopts what runs.
    assert_eq!(added.status(&cluster.api)["status"], 0);
    let cmd = added.daemon_cmd();
    let added = added.registered(&cluster.api, &cmd);
    let row = added.wait_for_status(&cluster.api, 1);
    assert_eq!(row["pid"], added_pid.as_raw_nonzero().get(), "{row}");
    assert_eq!(added.executions(), 1);
    // New operations have new ids and are carried out once.
    for round in 3..=5 {
        let body = json!({"meta": kept.meta, "hosts": kept.hosts, "op_type": 7});
        let task = cluster.api.esb_ok("operate_proc", body);
        let task = task["task_id"].as_str().unwrap().to_owned();
        assert!(task > restart && task > under_way, "{task}");
        assert_eq!(cluster.api.ended(&task)[&kept.key]["error_code"], 0);
        assert_eq!(kept.executions(), round);
    }
}
