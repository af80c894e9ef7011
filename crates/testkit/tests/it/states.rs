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

#[test]
fn a_process_says_why_it_is_down_and_what_it_used() {
    let cluster = Cluster::start();
    let _agent = cluster.agent("10.1.1.2");
    let daemon = Fixture::daemon(cluster.path(), "10.1.1.2", "broken");
    let mut spec = daemon.spec(&daemon.daemon_cmd());
    spec["monitor_policy"]["start_interval"] = json!(1000);
    let daemon = daemon.registered_as(&cluster.api, &spec);
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    kill_process(daemon.pid().unwrap(), Signal::KILL).unwrap();
    let down = wait::until("it says why", || {
        let (_, why) = (cluster.api).native("GET", "/api/v1/processes/e2e/broken/why", None);
        Some(why).filter(|why| why["code"] == "backoff")
    });
    assert_eq!(down["host"], "0:10.1.1.2", "{down}");
    assert_eq!(down["last_exit"]["signal"], 9);
    assert!(down["next"].as_i64() > down["since"].as_i64(), "{down}");
    let timeline = wait::until("its end is in the timeline", || {
        let path = "/api/v1/timeline?process=e2e/broken&host=10.1.1.2&kinds=operation,event";
        let (_, timeline) = cluster.api.native("GET", path, None);
        Some(timeline).filter(|timeline| timeline["entries"].as_array().unwrap().len() >= 2)
    });
    assert_eq!(timeline["entries"][0]["code"], "process_exit");
    assert_eq!(timeline["entries"][1]["code"], "start");
    let (_, why) = (cluster.api).native("GET", "/api/v1/processes/e2e/broken/why", None);
    assert_eq!(why["cause"]["code"], "signal", "{why}");
    assert_eq!(why["cause"]["params"], json!({"signal": "9"}));
    let (_, history) = (cluster.api).native("GET", "/api/v1/processes/e2e/broken/runs", None);
    assert_eq!(history["runs"][0]["end"]["signal"], 9, "{history}");

    let sleeper = Fixture::daemon(cluster.path(), "10.1.1.2", "sleeper");
    let start_cmd = sleeper.daemon_cmd();
    let sleeper = sleeper.registered(&cluster.api, &start_cmd);
    assert_eq!(sleeper.operate(&cluster.api, 0).0, 0);
    let path = "/api/v1/processes/e2e/sleeper/figures";
    wait::until("figures are there", || {
        let (status, figures) = cluster.api.native("GET", path, None);
        assert_eq!(
            (status, &figures["step_secs"]),
            (200, &json!(15)),
            "{figures}"
        );
        let fds = figures["fd"].as_array().unwrap();
        fds.iter()
            .any(|fd| fd.as_u64().is_some_and(|fd| fd > 0))
            .then_some(())
    });
    sleeper.operate(&cluster.api, 1);
    let stopped = wait::until("it is stopped", || {
        let (_, why) = cluster
            .api
            .native("GET", "/api/v1/processes/e2e/sleeper/why", None);
        Some(why).filter(|why| why["code"] == "stopped_by")
    });
    assert_eq!(stopped["state"], "stopped", "{stopped}");
    assert_eq!(stopped["cause"]["code"], "operator", "{stopped}");
}
