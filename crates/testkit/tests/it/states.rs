//! States from the process on its host to the API: crash, update, and an agent and a server that are away.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Api, Cluster, wait};

use crate::fixture::Fixture;

/// The row of the only process, once it is as wanted.
#[track_caller]
fn row(api: &Api, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    wait::until(what, || {
        let (_, page) = api.native("GET", "/api/v1/processes?namespace=e2e", None);
        Some(page["processes"][0].clone()).filter(|row| wanted(row))
    })
}

#[test]
fn a_process_tells_what_happens_to_it() {
    let mut cluster = Cluster::start();
    let mut agent = cluster.agent("10.1.1.1");
    let daemon = Fixture::daemon(cluster.path(), "10.1.1.1", "teller");
    let mut spec = daemon.spec(&daemon.daemon_cmd());
    spec["monitor_policy"]["start_interval"] = json!(1000);
    let daemon = daemon.registered_as(&cluster.api, &spec);
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    let running = row(&cluster.api, "running", |row| row["state"] == "running");
    let pid = daemon.pid().unwrap().as_raw_nonzero().get();
    assert_eq!(running["pid"], pid);
    assert_eq!(running["restart_needed"], false);

    spec["runtime"] = json!({"env": {"MODE": "fast"}});
    let body = json!({"hosts": ["10.1.1.1"], "labels": {"kind": "test"}, "spec": spec});
    let path = "/api/v1/processes/e2e/teller";
    let (status, answer) = cluster.api.native("PUT", path, Some(body));
    assert_eq!((status, &answer["results"][0]["code"]), (200, &json!(0)));
    row(&cluster.api, "restart needed", |row| {
        row["restart_needed"] == true
    });

    agent.kill();
    let away = row(&cluster.api, "unknown", |row| row["state"] == "unknown");
    assert_eq!(away["was"], "running");
    agent.restart();
    cluster.wait_for_agent("10.1.1.1", true);
    cluster.kill_server();
    cluster.restart_server();
    row(
        &cluster.api,
        "needed after restarts of agent and server",
        |row| row["state"] == "running" && row["restart_needed"] == true,
    );

    assert_eq!(daemon.operate(&cluster.api, 7).0, 0);
    row(&cluster.api, "restarted", |row| {
        row["restart_needed"] == false
    });
    kill_process(daemon.pid().unwrap(), Signal::KILL).unwrap();
    let waits = row(&cluster.api, "backoff", |row| row["state"] == "backoff");
    assert_eq!(waits["pid"], Value::Null);
    assert_eq!(waits["restarts"], 0);
    assert_eq!(waits["last_exit"]["signal"], 9);
    let at = waits["last_exit"]["at"].as_i64().unwrap();
    assert!(waits["next_at"].as_i64().unwrap() > at, "{waits}");
    let (_, found) = (cluster.api).native("GET", "/api/v1/processes?state=failed,backoff", None);
    assert_eq!(found["count"], 1);
    let gse = daemon.status(&cluster.api);
    assert_eq!((&gse["status"], &gse["pid"]), (&json!(2), &json!(-1)));
}
