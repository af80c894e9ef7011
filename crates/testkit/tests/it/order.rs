//! `spec.after` with real agents and a real server: other hosts count by the word of the server, the own host without it.

use serde_json::{Value, json};
use testkit::{Api, Cluster, wait};

use crate::fixture::Fixture;

/// A daemon on this host that starts after others.
fn daemon(cluster: &Cluster, ip: &str, name: &str, after: Value) -> Fixture {
    let daemon = Fixture::daemon(cluster.path(), ip, name);
    let mut spec = daemon.spec(&daemon.daemon_cmd());
    spec["after"] = after;
    daemon.registered_as(&cluster.api, &spec)
}

#[track_caller]
fn why(api: &Api, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    wait::until(&format!("{name} says why"), || {
        let path = format!("/api/v1/processes/e2e/{name}/why");
        let (_, why) = api.native("GET", &path, None);
        Some(why).filter(|why| wanted(why))
    })
}

#[test]
fn a_process_waits_for_any_and_all_other_hosts() {
    let mut cluster = Cluster::start();
    let agents = ["10.1.2.1", "10.1.2.2", "10.1.2.3"].map(|ip| cluster.agent(ip));
    let dbs = ["10.1.2.1", "10.1.2.2"].map(|ip| daemon(&cluster, ip, "db", json!([])));
    let after = |place: &str| json!([{"process": "e2e/db", "where": place}]);
    let any = daemon(&cluster, "10.1.2.3", "any", after("any"));
    let all = daemon(&cluster, "10.1.2.3", "all", after("all"));
    for waits in [&any, &all] {
        // Managed: the agent starts it by itself.
        assert_eq!(waits.operate(&cluster.api, 3).0, 0);
    }
    let waiting = why(&cluster.api, "all", |why| {
        why["code"] == "dependency" && why["text"].as_str().unwrap().contains("0 of 2 hosts")
    });
    assert_eq!(waiting["state"], "starting");
    assert_eq!(
        (&waiting["params"]["process"], &waiting["params"]["where"]),
        (&json!("e2e/db"), &json!("all"))
    );
    assert!(waiting["since"].as_i64().unwrap() > 0, "{waiting}");

    assert_eq!(dbs[0].operate(&cluster.api, 0).0, 0);
    any.wait_for_status(&cluster.api, 1);
    why(&cluster.api, "all", |why| {
        why["text"].as_str().unwrap().contains("1 of 2 hosts")
    });
    assert_eq!(all.executions(), 0);

    // The server is killed while the agent waits, and the agent has to hear of it again.
    cluster.kill_server();
    cluster.restart_server();
    for ip in ["10.1.2.1", "10.1.2.2", "10.1.2.3"] {
        cluster.wait_for_agent(ip, true);
    }
    assert_eq!(all.executions(), 0);
    assert_eq!(dbs[1].operate(&cluster.api, 0).0, 0);
    all.wait_for_status(&cluster.api, 1);
    why(&cluster.api, "all", |why| why["code"] == "running");
    drop(agents);
}

#[test]
fn an_agent_keeps_the_order_of_its_host_while_the_server_is_away() {
    let mut cluster = Cluster::start();
    let mut agent = cluster.agent("10.1.2.4");
    let db = daemon(&cluster, "10.1.2.4", "db", json!([]));
    let after = json!([{"process": "e2e/db", "when": "up"}]);
    let web = daemon(&cluster, "10.1.2.4", "web", after);
    for daemon in [&db, &web] {
        assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    }
    // Everything is gone at once, as after a crash of the host, and the server with it.
    cluster.kill_server();
    agent.kill();
    for daemon in [&db, &web] {
        let pid = daemon.pid().unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        wait::until("its end", || (!daemon.is_alive()).then_some(()));
    }
    agent.restart();
    for daemon in [&db, &web] {
        wait::until("it runs again", || daemon.is_alive().then_some(()));
        assert_eq!(daemon.executions(), 2);
    }
    let began = |daemon: &Fixture| std::fs::metadata(daemon.path("pid")).unwrap();
    let (first, second) = (began(&db), began(&web));
    assert!(first.modified().unwrap() < second.modified().unwrap());
    cluster.restart_server();
}
