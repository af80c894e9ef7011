//! States from the process on its host to the API: crash, update, and an agent and a server that are away.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use testkit::api::{APP_CODE, APP_SECRET};
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

/// Opens the stream of changes.
fn watch(cluster: &Cluster) -> TcpStream {
    let mut stream = TcpStream::connect(cluster.http()).unwrap();
    let request = format!(
        "GET /api/v1/watch?kinds=status HTTP/1.1\r\nHost: muster\r\nX-Bkapi-App-Code: {APP_CODE}\r\n\
         X-Bkapi-App-Secret: {APP_SECRET}\r\nX-Bkapi-User-Name: tester\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    read_until(&mut stream, ": watching");
    stream
}

/// Reads until a text was sent; the test's own time limit ends a stream that never sends it.
fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut text = String::new();
    while !text.contains(wanted) {
        let mut part = [0; 4096];
        let n_read = stream.read(&mut part).unwrap();
        assert_ne!(n_read, 0, "no {wanted:?} in {text}");
        text.push_str(&String::from_utf8_lossy(&part[..n_read]));
    }
    text
}

#[test]
fn a_process_that_is_ready_is_so_everywhere() {
    let cluster = Cluster::start();
    let _agent = cluster.agent("10.1.1.3");
    let daemon = Fixture::daemon(cluster.path(), "10.1.1.3", "waiter");
    // An address that no other test has: each test is a process of its own.
    let [.., middle, low] = std::process::id().to_be_bytes();
    let host = format!("127.9.{middle}.{low}");
    let command = format!(
        "{} --serve {host}:17442 {}",
        daemon.daemon_cmd(),
        daemon.path("serve")
    );
    let mut spec = daemon.spec(&command);
    let http = json!({"port": 17442, "path": "/", "host": host, "status": ["2xx"], "body": "up"});
    spec["probes"] = json!({"ready": {"http": http, "interval": 1, "failures": 1}});
    let daemon = daemon.registered_as(&cluster.api, &spec);
    let mut changes = watch(&cluster);

    let request = json!({"meta": daemon.meta, "hosts": daemon.hosts, "op_type": 0});
    let task = cluster.api.esb_ok("operate_proc", request);
    let waits = row(&cluster.api, "a probe that failed", |row| {
        row["state"] == "starting" && row["probes"]["ready"]["ok"] == false
    });
    let refused = format!("GET http://{host}:17442/: connection refused");
    assert_eq!(waits["probes"]["ready"]["message"], refused);
    assert_eq!(waits["message"], format!("not ready: {refused}"));
    std::fs::write(daemon.path("serve"), "200\nup").unwrap();
    let ended = cluster.api.ended(task["task_id"].as_str().unwrap());
    assert_eq!(ended[&daemon.key]["error_code"], 0, "{ended}");

    let ready = row(&cluster.api, "ready", |row| row["state"] == "ready");
    assert_eq!(
        (&ready["reason"], &ready["message"]),
        (&Value::Null, &json!(""))
    );
    assert_eq!(ready["probes"]["ready"]["ok"], true);
    assert_eq!(
        daemon.status(&cluster.api)["status"],
        1,
        "the GSE numbers stay"
    );
    read_until(&mut changes, r#""state":"ready""#);
    let get = |path: &str| {
        cluster
            .api
            .native("GET", &format!("/api/v1/{path}"), None)
            .1
    };
    for (filter, count) in [("ready", 1), ("running", 0), ("running,ready", 1)] {
        assert_eq!(
            get(&format!("processes?state={filter}"))["count"],
            count,
            "{filter}"
        );
    }
    let facets = get("processes/facets?by=state");
    let states = facets["facets"][0]["values"].as_array().unwrap();
    let is_ready = |value: &&Value| value["value"] == "ready";
    assert_eq!(
        states.iter().find(is_ready).unwrap()["count"],
        1,
        "{facets}"
    );
    assert_eq!(get("summary")["states"]["ready"], 1);
    assert_eq!(get("summary")["wanted_down"], 0);
    let why = get("processes/e2e/waiter/why");
    assert_eq!(
        (&why["code"], &why["text"]),
        (&json!("ready"), &json!("it runs and is ready"))
    );
    let (_, metrics) = cluster.api.native_text("GET", "/metrics", None);
    for line in ["muster_processes_ready 1\n", "muster_processes_running 1\n"] {
        assert!(metrics.contains(line), "{metrics}");
    }

    std::fs::write(daemon.path("serve"), "500\n").unwrap();
    let not_ready = row(&cluster.api, "not ready", |row| row["state"] == "running");
    assert_eq!(not_ready["reason"]["code"], "not_ready");
    let failed = format!("GET http://{host}:17442/: status 500");
    assert_eq!(not_ready["reason"]["params"]["check"], failed);
    let event = wait::until("an event", || {
        let events = get("events?namespace=e2e");
        let event = events["events"].as_array()?.first()?.clone();
        Some(event)
    });
    assert_eq!(event["kind"], "process_not_ready");
}
