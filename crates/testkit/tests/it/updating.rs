//! Updates that roll, with real processes and with a thousand simulated hosts, while the server is killed.

use serde_json::{Value, json};
use testkit::{Cluster, wait};

use crate::command_line::muster;
use crate::fixture::Fixture;
use crate::jobs::ended;
use crate::sim::Sim;

const HOSTS: [&str; 3] = ["10.1.1.1", "10.1.1.2", "10.1.1.3"];
const N_AGENTS: u64 = 1000;

fn tasks(view: &Value) -> &[Value] {
    view["tasks"].as_array().unwrap()
}

fn history(cluster: &Cluster, process: &str) -> Vec<Value> {
    let path = format!("/api/v1/processes/{process}/versions");
    let (status, list) = cluster.api.native("GET", &path, None);
    assert_eq!(status, 200, "{list}");
    list["versions"].as_array().unwrap().clone()
}

/// The job that takes another one back, after its end.
fn reverted(cluster: &Cluster, view: &Value) -> Value {
    let by = &view["update"]["reverted_by"];
    assert!(by.is_u64(), "it is not taken back: {view}");
    ended(cluster, &format!("/api/v1/jobs/{by}"))
}

#[test]
fn a_spec_that_dies_at_the_gate_stops_at_the_canary_and_is_taken_back() {
    let mut cluster = Cluster::start();
    let _agents = HOSTS.map(|host| cluster.agent(host));
    // Each host has a folder of its own, so their definitions differ.
    let daemons: Vec<Fixture> = HOSTS
        .iter()
        .map(|host| {
            let daemon = Fixture::daemon(cluster.path(), host, "rolled");
            let command = daemon.daemon_cmd();
            let daemon = daemon.registered(&cluster.api, &command);
            assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
            daemon
        })
        .collect();
    let bad = format!("{} --after 3000 --exit 3", daemons[0].daemon_cmd());
    let mut spec = daemons[0].spec(&bad);
    // The agent does not start it again before it is taken back.
    spec["monitor_policy"]["start_interval"] = 60.into();
    let body = json!({
        "action": "update",
        "update": {"process": "e2e/rolled", "spec": spec, "labels": {"kind": "test"}},
        "options": {"canary": 1, "batch_size": 2, "gate": "ready:60s", "max_failures": 2, "order": "host", "revert": true},
    });
    let (status, made) = cluster.api.native("POST", "/api/v1/jobs", Some(body));
    assert_eq!((status, &made["targets"]), (202, &json!(3)), "{made}");
    let job = format!("/api/v1/jobs/{}", made["id"]);
    wait::until("the canary at the gate", || {
        let (_, view) = cluster.api.native("GET", &job, None);
        tasks(&view)[0]["gate"]["since"]
            .as_i64()
            .filter(|since| *since > 0)
    });
    let shown = muster(&cluster, &["status", "e2e/rolled"]).fine().stdout;
    assert!(shown.contains("version 4"), "{shown}");
    cluster.kill_server();
    cluster.restart_server();
    let view = ended(&cluster, &job);
    assert_eq!(view["status"], "failed", "{view}");
    let reason = tasks(&view)[0]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("it did not stay ready for 60 s"),
        "{reason}"
    );
    let back = reverted(&cluster, &view);
    assert_eq!(back["status"], "succeeded", "{back}");
    assert_eq!(back["counts"]["total"], 1, "only the canary was changed");
    let executions: Vec<usize> = daemons.iter().map(Fixture::executions).collect();
    assert_eq!(executions, [3, 1, 1], "started, updated, taken back");
    assert!(daemons.iter().all(Fixture::is_alive));

    let versions = history(&cluster, "e2e/rolled");
    let sources: Vec<(&Value, &Value)> = versions
        .iter()
        .map(|version| (&version["source"], &version["hosts"]))
        .collect();
    let (revert, roll, register) = (json!("revert"), json!("roll"), json!("register"));
    let (none, one) = (json!(0), json!(1));
    assert_eq!(
        sources,
        [
            (&revert, &one),
            (&roll, &none),
            (&register, &one),
            (&register, &one),
            (&register, &none)
        ]
    );
    let shown = muster(&cluster, &["history", "e2e/rolled", "--diff", "4", "5"]).fine();
    assert!(shown.stdout.contains("-start_cmd = "), "{shown:?}");
    let shown = muster(&cluster, &["job", "show", &made["id"].to_string()]).stdout;
    assert!(shown.contains("taken back by job"), "{shown}");
}

#[test]
fn updates_roll_and_roll_back_on_the_command_line() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(HOSTS[0]);
    let daemon = Fixture::daemon(cluster.path(), HOSTS[0], "one");
    let command = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &command);
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    let name = "e2e/one";
    // Nothing needs a restart.
    let limited = ["update", name, "--mem", "90", "--roll", "--gate", "up:1s"];
    let ran = muster(&cluster, &limited).fine();
    assert!(
        ran.stdout.contains("1 of 1 host has version 2 (new)"),
        "{ran:?}"
    );
    assert_eq!(daemon.executions(), 1);
    // A start command does.
    let other = format!("{command} --after 100000000");
    let start = [
        "update", name, "--start", &other, "--roll", "--gate", "up:1s",
    ];
    muster(&cluster, &start).fine();
    assert_eq!(daemon.executions(), 2);
    let listed = muster(&cluster, &["history", name]).fine().stdout;
    for row in [
        "register",
        "roll, job 1",
        "roll, job 2",
        "control.start_cmd",
    ] {
        assert!(listed.contains(row), "{row}: {listed}");
    }
    let back = ["rollback", name, "--to", "2", "--roll", "--gate", "up:1s"];
    muster(&cluster, &back).fine();
    assert_eq!(daemon.executions(), 3);
    let versions = history(&cluster, name);
    assert_eq!(
        (&versions[0]["source"], &versions[0]["restores"]),
        (&json!("rollback"), &json!(2)),
        "{versions:?}"
    );
    let again = muster(&cluster, &back).fine();
    assert!(again.stdout.contains("nothing") || again.stdout.contains("1 ok"));
    // Without a roll a run keeps what it has.
    muster(&cluster, &["rollback", name, "--to", "3"]).fine();
    assert_eq!(daemon.executions(), 3);
    assert_eq!(history(&cluster, name)[0]["restores"], 3);
    for (args, expected) in [
        (&["rollback", name, "--to", "99"][..], "no version 99"),
        (&["history", "e2e/nothing"], "no version of e2e/nothing"),
        (&["history", name, "--diff", "77"], "no version 77"),
        (
            &["update", name, "--mem", "5", "--batch", "2"],
            "go with --roll",
        ),
        (&["update", name, "--mem", "5", "--revert"], "--roll"),
        (&["job", "revert", "99"], "job 99"),
    ] {
        let ran = muster(&cluster, args);
        assert_ne!(ran.code, Some(0), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_roll_over_a_thousand_hosts_survives_kills_of_the_server() {
    let mut cluster = Cluster::start();
    let mut sim = Sim::start(&cluster, N_AGENTS, &["--delay", "1ms..20ms"]);
    sim.until_connected();
    let process = "gse/proc-1";
    let filter = json!({"process": process});
    let start = json!({"action": "start", "filter": filter, "expect_count": N_AGENTS});
    let (status, made) = cluster.api.native("POST", "/api/v1/jobs", Some(start));
    assert_eq!(status, 202, "{made}");
    let started = ended(&cluster, &format!("/api/v1/jobs/{}", made["id"]));
    assert_eq!(started["status"], "succeeded");

    let roll = |cluster: &Cluster, start_cmd: &str, options: Value| {
        let spec = json!({
            "identity": {"proc_name": "proc-1", "setup_path": "/data/sim/", "pid_path": "/data/sim/proc-1.pid", "user": "root"},
            "control": {"start_cmd": start_cmd, "stop_cmd": "./stop.sh"},
        });
        let body = json!({"action": "update", "update": {"process": process, "spec": spec}, "options": options});
        let (status, made) = cluster.api.native("POST", "/api/v1/jobs", Some(body));
        assert_eq!(
            (status, &made["targets"]),
            (202, &json!(N_AGENTS)),
            "{made}"
        );
        format!("/api/v1/jobs/{}", made["id"])
    };
    let options = json!({"canary": 1, "batch_size": "20%", "gate": "up:1s", "revert": true});

    // A bad spec stops at the canary, and is taken back.
    let job = roll(&cluster, "./fails.sh", options.clone());
    cluster.kill_server();
    cluster.restart_server();
    let view = ended(&cluster, &job);
    assert_eq!(view["counts"]["failed"], N_AGENTS, "{}", view["counts"]);
    let back = reverted(&cluster, &view);
    assert_eq!(
        (&back["status"], &back["counts"]["total"]),
        (&json!("succeeded"), &json!(1)),
        "{back}"
    );
    let versions = history(&cluster, process);
    assert_eq!(
        (&versions[0]["source"], &versions[0]["hosts"]),
        (&json!("revert"), &json!(N_AGENTS))
    );

    // A good one reaches every host, with never more than a batch under way.
    sim.until_connected();
    let job = roll(&cluster, "./better.sh", options);
    let n_under_way = |cluster: &Cluster| {
        let (_, view) = cluster.api.native("GET", &job, None);
        let count = |key: &str| view["counts"][key].as_u64().unwrap();
        assert!(count("running") <= N_AGENTS / 5, "{}", view["counts"]);
        assert_eq!(count("failed"), 0, "{}", view["counts"]);
        (count("succeeded") > N_AGENTS / 4).then_some(())
    };
    wait::until("the middle of the roll", || n_under_way(&cluster));
    cluster.kill_server();
    cluster.restart_server();
    let (_, view) = cluster.api.native("GET", &job, None);
    assert_eq!(view["status"], "running", "{}", view["counts"]);
    let is_over = || {
        n_under_way(&cluster);
        let (_, view) = cluster.api.native("GET", &job, None);
        (view["status"] != "running").then_some(view)
    };
    let view = wait::until("the end of the roll", is_over);
    assert_eq!(view["status"], "succeeded", "{}", view["counts"]);
    let newest = history(&cluster, process)[0]["number"].clone();
    assert_eq!(
        view["versions"],
        json!([{"spec_version": newest, "has": "new", "hosts": N_AGENTS}])
    );
    let summary = sim.quit();
    // Each start, restart and revert was executed once.
    let executed = 2 * N_AGENTS + 2;
    assert_eq!(summary["results_acknowledged"], executed, "{summary}");
}
