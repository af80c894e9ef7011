//! Agents that connect, disconnect, and are listed.

use serde_json::json;
use testkit::{Cluster, wait};

use crate::fixture::Fixture;

#[test]
fn several_agents_on_one_machine_run_their_own_processes() {
    let cluster = Cluster::start();
    let ips = ["10.1.1.1", "10.1.1.2", "fd00::7"];
    let agents: Vec<_> = ips.iter().map(|ip| cluster.agent(ip)).collect();
    let fixtures: Vec<Fixture> = ips
        .iter()
        .map(|ip| {
            let daemon = Fixture::daemon(cluster.path(), ip, "many");
            let cmd = daemon.daemon_cmd();
            daemon.registered(&cluster.api, &cmd)
        })
        .collect();
    let hosts: Vec<_> = ips
        .iter()
        .map(|ip| json!({"ip": ip, "bk_cloud_id": 0, "bk_supplier_id": 0}))
        .collect();
    let data = cluster.api.operate(&fixtures[0].meta, &json!(hosts), 0);
    assert_eq!(data.as_object().unwrap().len(), 3);
    for fixture in &fixtures {
        assert_eq!(data[&fixture.key]["error_code"], 0, "{data}");
        assert!(fixture.is_alive());
        assert_eq!(fixture.executions(), 1);
    }
    drop(agents);
    for fixture in &fixtures {
        assert!(fixture.is_alive(), "stopping an agent stops nothing");
    }
}

#[test]
fn an_offline_agent_answers_117_and_gets_specs_when_it_reconnects() {
    let cluster = Cluster::start();
    let mut agent = cluster.agent("10.1.1.1");
    agent.kill();
    cluster.wait_for_agent("10.1.1.1", false);
    let daemon = Fixture::daemon(cluster.path(), "10.1.1.1", "away");
    let cmd = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &cmd);
    let (code, message) = daemon.operate(&cluster.api, 0);
    assert_eq!(
        (code, message.as_str()),
        (117, "can not find connection by ip 10.1.1.1")
    );
    let message = daemon.status(&cluster.api)["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(message.contains("agent offline since"), "{message}");
    // The native API says the same in plain words.
    let (namespace, name) = (&daemon.meta["namespace"], &daemon.meta["name"]);
    let path = format!(
        "/api/v1/processes/{}/{}/operate",
        namespace.as_str().unwrap(),
        name.as_str().unwrap()
    );
    let body = json!({"op": "start", "hosts": ["10.1.1.1"]});
    let (_, task) = cluster.api.native("POST", &path, Some(body));
    let path = format!("/api/v1/tasks/{}", task["task_id"].as_str().unwrap());
    let (_, task) = cluster.api.native("GET", &path, None);
    assert_eq!(
        (&task["results"][0]["code"], &task["results"][0]["message"]),
        (&json!(117), &json!("agent on 10.1.1.1 is not connected"))
    );

    agent.restart();
    cluster.wait_for_agent("10.1.1.1", true);
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    assert_eq!(
        daemon.executions(),
        1,
        "the operation that ended with 117 was not kept"
    );
}

#[test]
fn agents_are_listed_with_their_state() {
    let cluster = Cluster::start();
    let _agent = cluster.agent("10.1.1.1");
    let (status, hosts) = cluster.api.native("GET", "/api/v1/hosts", None);
    assert_eq!(status, 200, "{hosts}");
    let host = &hosts["hosts"][0];
    assert_eq!(
        (&host["host"], &host["connected"]),
        (&json!("0:10.1.1.1"), &json!(true)),
        "{hosts}"
    );
    let agent_id = host["agent_id"].as_str().unwrap().to_owned();
    let body = json!({"agent_id_list": [agent_id, "0:10.1.1.1", "0:10.9.9.9"]});
    let answer = cluster.api.post(
        "/api/v2/cluster/list_agent_state",
        testkit::api::with_credentials(body),
    );
    assert_eq!(answer["code"], 0, "{answer}");
    let codes: Vec<_> = answer["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["status_code"].as_i64().unwrap())
        .collect();
    assert_eq!(codes, [2, 2, -2], "{answer}");
}

#[test]
fn an_agent_with_a_wrong_token_is_refused() {
    let cluster = Cluster::start();
    let data = cluster.path().join("intruder");
    let log = std::fs::File::create(cluster.path().join("intruder.log")).unwrap();
    let (_, hosts) = cluster.api.native("GET", "/api/v1/hosts", None);
    assert_eq!(hosts["count"], 0);
    let mut intruder = std::process::Command::new(testkit::program::path("muster-agent"))
        .args([
            "--server",
            &cluster.agents().to_string(),
            "--ip",
            "10.6.6.6",
            "--log",
            "info",
            "--data",
        ])
        .arg(&data)
        .env("MUSTER_JOIN_TOKEN", "guessed-token")
        .stderr(log)
        .spawn()
        .unwrap();
    wait::until("the refusal in its log", || {
        let log = std::fs::read_to_string(cluster.path().join("intruder.log")).ok()?;
        log.contains("join token").then_some(())
    });
    intruder.kill().unwrap();
    intruder.wait().unwrap();
    let (_, hosts) = cluster.api.native("GET", "/api/v1/hosts", None);
    assert_eq!(hosts["count"], 0, "{hosts}");
}

#[test]
fn a_revoked_agent_logs_why_it_is_rejected_and_what_to_do() {
    let cluster = Cluster::start();
    let agent = cluster.agent("10.1.1.1");
    let path = "/api/v1/hosts/0:10.1.1.1/revoke";
    assert_eq!(cluster.api.native("POST", path, None).0, 204);
    wait::until("the agent logs the rejection", || {
        agent.log().contains(
            "server rejected this agent: certificate revoked: host 0:10.1.1.1 is not enrolled any more; \
             use a new join token",
        )
    });
}
