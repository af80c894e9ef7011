//! The first start of several replicas, and moving to them from a server alone.

use serde_json::{Value, json};
use testkit::{Replicas, Setup, wait};

const HOSTS: [&str; 3] = ["10.20.0.1", "10.20.0.2", "10.20.0.3"];

/// What the replicas wrote into a file of this name in their own folders; most wrote none.
fn written(cluster: &Replicas, file: &str) -> Vec<String> {
    let files = (0..cluster.len()).map(|n| cluster.data(n).join(file));
    files
        .filter_map(|file| std::fs::read_to_string(file).ok())
        .collect()
}

fn value_of<'a>(text: &'a str, key: &str) -> &'a str {
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    line.split('"').nth(1).unwrap()
}

#[test]
fn three_replicas_that_start_at_once_make_keys_and_ca_once() {
    let cluster = Replicas::start_with(Setup {
        fixed_keys: false,
        ..Setup::default()
    });
    let keys = written(&cluster, "cli.toml");
    let tokens = written(&cluster, "join-token");
    assert_eq!((keys.len(), tokens.len()), (1, 1), "made once");
    let credentials = |mut body: Value| {
        body["bk_app_code"] = value_of(&keys[0], "app_code").into();
        body["bk_app_secret"] = value_of(&keys[0], "app_secret").into();
        body["bk_username"] = "tester".into();
        body
    };
    let is_alive = |n: usize, ip: &str| {
        let body = credentials(json!({"hosts": [{"ip": ip, "bk_cloud_id": 0}]}));
        let answer = cluster.api(n).post("/v2/gse/get_agent_status/", body);
        assert_eq!(answer["code"], 0, "replica {n}: {answer}");
        answer["data"][format!("0:{ip}")]["bk_agent_alive"] == 1
    };
    // Each joins through another replica, and trusts no CA but the one that the token names.
    let agents = (0..3).map(|n| cluster.start_agent_at(n, HOSTS[n], tokens[0].trim()));
    let mut agents = Vec::from_iter(agents);
    for n in 0..3 {
        for ip in HOSTS {
            wait::until("the agent at every replica", || {
                is_alive(n, ip).then_some(())
            });
        }
    }
    // What one replica signed, every other trusts, and the other way round.
    for (n, agent) in agents.iter_mut().enumerate() {
        let next = (n + 1) % 3;
        agent.restart_with(vec![cluster.agents()[next]]);
        wait::until("a session with the next replica", || {
            let is_there = cluster.holder(agent) == Some(next);
            (is_there && is_alive(n, HOSTS[n])).then_some(())
        });
    }
}
