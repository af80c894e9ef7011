//! Hosts that are removed while their agents run, with real servers, agents and processes.

use serde_json::json;
use testkit::{Cluster, wait};

use crate::fixture::Fixture;

const IP: &str = "10.1.1.1";
const HOST: &str = "0:10.1.1.1";

#[test]
fn a_removed_host_keeps_its_processes_and_joins_again_as_a_new_one() {
    let cluster = Cluster::start();
    let mut agent = cluster.agent(IP);
    let daemon = Fixture::daemon(cluster.path(), IP, "kept");
    let cmd = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &cmd);
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    assert!(daemon.is_alive());

    // Without a token, so that it does not join again by itself.
    agent.restart_without_token();
    // Its first session may still count as connected.
    wait::until("the second session", || {
        let log = agent.log();
        (log.matches("session begins").count() == 2).then_some(())
    });
    cluster.wait_for_agent(IP, true);
    let remove = |body| {
        cluster
            .api
            .native("POST", "/api/v1/remove-hosts", Some(body))
    };
    let (status, refused) = remove(json!({"hosts": [HOST]}));
    assert_eq!(status, 409, "{refused}");
    let (status, removed) = remove(json!({"hosts": [HOST], "force": true}));
    assert_eq!(
        (status, &removed["processes"]),
        (200, &json!(1)),
        "{removed}"
    );
    wait::until("the agent to be told", || {
        agent.log().contains("was removed").then_some(())
    });
    let told = agent.log();
    assert!(
        told.contains("muster token create --host 0:10.1.1.1"),
        "{told}"
    );
    assert!(daemon.is_alive());
    let path = format!("/api/v1/hosts/{HOST}");
    assert_eq!(cluster.api.native("GET", &path, None).0, 404);

    agent.restart();
    cluster.wait_for_agent(IP, true);
    let (status, host) = cluster.api.native("GET", &path, None);
    assert_eq!((status, &host["processes"]), (200, &json!(0)), "{host}");
    assert!(daemon.is_alive());
    assert_eq!(daemon.executions(), 1);
}
