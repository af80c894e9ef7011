//! Rolling operations on real processes: canaries and gates.

use serde_json::{Value, json};
use testkit::{Cluster, wait};

use crate::command_line::muster;
use crate::fixture::Fixture;
use crate::jobs::{HOST, begin_plain, daemons, ended};

fn tasks(view: &Value) -> &[Value] {
    view["tasks"].as_array().unwrap()
}

#[test]
fn a_gated_restart_goes_on_when_the_server_is_killed() {
    let mut cluster = Cluster::start();
    let _agent = cluster.agent(HOST);
    let daemons = daemons(&cluster);
    let start = begin_plain(&cluster, "start", json!({}));
    assert_eq!(ended(&cluster, &start)["status"], "succeeded");
    let options = json!({"canary": 1, "batch_size": 2, "gate": "up:1s"});
    let job = begin_plain(&cluster, "restart", options);
    wait::until("the first task at the gate", || {
        let (_, view) = cluster.api.native("GET", &job, None);
        tasks(&view)[0]["gate"]["since"]
            .as_i64()
            .filter(|since| *since > 0)
    });
    cluster.kill_server();
    cluster.restart_server();
    let view = ended(&cluster, &job);
    assert_eq!(view["status"], "succeeded", "{view}");
    for daemon in &daemons {
        assert_eq!(daemon.executions(), 2, "{}: {view}", daemon.key);
        assert!(daemon.is_alive());
    }
    let time = |task: usize, key: &str| tasks(&view)[task][key].as_i64().unwrap();
    // The canary alone, then two at a time, each after a second at the gate.
    for (batch, next) in [(0, 1), (1, 3), (2, 3)] {
        assert!(
            time(batch, "started_at") + 1000 <= time(batch, "ended_at"),
            "{view}"
        );
        assert!(
            time(batch, "ended_at") <= time(next, "started_at"),
            "{view}"
        );
    }
    let stop = begin_plain(&cluster, "stop", json!({}));
    assert_eq!(ended(&cluster, &stop)["status"], "succeeded");
}

#[test]
fn a_process_that_dies_at_the_gate_stops_the_roll_at_its_canary() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(HOST);
    let short_lived = |n: usize| {
        let fixture = Fixture::daemon(cluster.path(), HOST, &format!("short-{n}"));
        let command = format!("{} --after 2000 --exit 3", fixture.daemon_cmd());
        let mut spec = fixture.spec(&command);
        spec["monitor_policy"]["start_check_secs"] = 0.into();
        spec["monitor_policy"]["start_interval"] = 60.into();
        fixture.registered_as(&cluster.api, &spec)
    };
    let _processes: Vec<Fixture> = (0..3).map(short_lived).collect();
    let ran = muster(
        &cluster,
        &[
            "start",
            "e2e/short-*",
            "--canary",
            "1",
            "--batch",
            "50%",
            "--gate",
            "ready:60s",
            "--max-failures",
            "2",
            "-o",
            "json",
        ],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let view = ran.json();
    let options = &view["options"];
    assert_eq!(
        (&options["canary"], &options["gate"], &options["batch_size"]),
        (&json!(1), &json!("ready:60s"), &json!(2)),
        "{view}"
    );
    let reasons: Vec<&str> = tasks(&view)
        .iter()
        .map(|task| task["reason"].as_str().unwrap())
        .collect();
    assert!(
        reasons[0].starts_with("it did not stay ready for 60 s: it is "),
        "{reasons:?}"
    );
    for blocked in &reasons[1..] {
        assert!(
            blocked.starts_with("not begun, because an earlier task failed: "),
            "{reasons:?}"
        );
    }
}

#[test]
fn a_roll_refuses_what_it_cannot_do() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(HOST);
    daemons(&cluster);
    for (args, expected) in [
        (
            &["stop", "e2e/*", "--gate", "up:5s", "--yes"][..],
            "options.gate",
        ),
        (
            &["query", "e2e/*", "--batch", "1"],
            "asks every agent at once",
        ),
        (
            &["start", "e2e/*", "--gate", "5s"],
            "must be up or ready, a colon and a time",
        ),
        (
            &["start", "e2e/*", "--order", "name"],
            "must be priority, host or label:KEY",
        ),
        (&["start", "e2e/*", "--canary", "0"], "--canary"),
    ] {
        let ran = muster(&cluster, args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {ran:?}");
    }
    let (_, jobs) = cluster.api.native("GET", "/api/v1/jobs", None);
    assert_eq!(jobs["jobs"], json!([]));
}
