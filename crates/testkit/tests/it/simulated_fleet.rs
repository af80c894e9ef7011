//! The simulated fleet against a real server: it must behave like real agents, or its figures are worthless.

use serde_json::{Value, json};
use testkit::{Cluster, wait};

use crate::sim::Sim;

const N_AGENTS: u64 = 20;

fn hosts() -> Value {
    let host = |n| json!({"ip": format!("10.0.0.{n}"), "bk_cloud_id": 0, "bk_supplier_id": 0});
    (1..=N_AGENTS).map(host).collect()
}

/// How many processes of this name the API shows as running.
fn n_running(cluster: &Cluster, name: &str) -> usize {
    let meta = json!({"namespace": "gse", "name": name});
    let body = json!({"meta": meta, "hosts": hosts()});
    let data = cluster.api.esb_ok("get_proc_status", body);
    let rows = data["proc_infos"].as_array().unwrap();
    rows.iter().filter(|row| row["status"] == 1).count()
}

#[test]
fn a_simulated_fleet_executes_operations_and_reconnects_after_a_server_crash() {
    let mut cluster = Cluster::start();
    let mut sim = Sim::start(&cluster, N_AGENTS, &["--delay", "1ms..20ms", "--hold"]);
    assert_eq!(sim.stats()["connected"], 0, "it waits for `connect`");
    sim.tell("connect");
    sim.until_connected();

    let meta = json!({"namespace": "gse", "name": "proc-1"});
    let result = cluster.api.operate(&meta, &hosts(), 0);
    let ended = result.as_object().unwrap();
    assert_eq!(ended.len() as u64, N_AGENTS);
    assert!(ended.values().all(|key| key["error_code"] == 0), "{result}");
    assert_eq!(n_running(&cluster, "proc-1") as u64, N_AGENTS);
    assert_eq!(n_running(&cluster, "proc-0"), 0);
    wait::until("results to be acknowledged", || {
        sim.stats()["targets"]["n"] == N_AGENTS
    });

    cluster.restart_server();
    sim.until_connected();
    let result = cluster.api.operate(&meta, &hosts(), 1);
    assert!(
        result
            .as_object()
            .unwrap()
            .values()
            .all(|key| key["error_code"] == 0),
        "{result}"
    );
    assert_eq!(n_running(&cluster, "proc-1"), 0);

    let before = sim.stats()["statuses"].as_u64().unwrap();
    sim.tell("rate 10000");
    wait::until("a load of statuses", || {
        sim.stats()["statuses"].as_u64().unwrap() > before + 5 * 3 * N_AGENTS
    });
    let summary = sim.quit();
    assert_eq!(
        (summary["event"].as_str(), &summary["commands"]),
        (Some("end"), &json!(2 * N_AGENTS))
    );
}

#[test]
fn a_simulated_fleet_reuses_identities_and_fails_as_configured() {
    let cluster = Cluster::start();
    let mut first = Sim::start(&cluster, N_AGENTS, &[]);
    first.until_connected();
    first.quit();
    let kept = cluster.path().join("sim/identities.jsonl");
    let identities = std::fs::read_to_string(&kept).unwrap();
    assert_eq!(identities.lines().count() as u64, N_AGENTS);

    let mut again = Sim::start(&cluster, N_AGENTS, &["--fail", "100%", "--delay", "1ms"]);
    again.until_connected();
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), identities);
    let meta = json!({"namespace": "gse", "name": "proc-2"});
    let result = cluster.api.operate(&meta, &hosts(), 0);
    assert!(
        result
            .as_object()
            .unwrap()
            .values()
            .all(|key| key["error_code"] == 65535),
        "{result}"
    );
}
