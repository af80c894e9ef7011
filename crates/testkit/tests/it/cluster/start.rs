//! The first start of several replicas, and the migration from a single server.

use std::process::Command;

use serde_json::{Value, json};
use testkit::{Cluster, Replicas, Setup, program, wait};

use crate::fixture::Fixture;

const HOSTS: [&str; 3] = ["10.20.0.1", "10.20.0.2", "10.20.0.3"];

/// The content of this file in each data directory that has one.
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
fn three_replicas_that_start_at_once_create_keys_and_ca_once() {
    let cluster = Replicas::start_with(Setup {
        fixed_keys: false,
        ..Setup::default()
    });
    let keys = written(&cluster, "cli.toml");
    let tokens = written(&cluster, "join-token");
    assert_eq!((keys.len(), tokens.len()), (1, 1), "created once");
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
    // Each agent joins through another replica, and trusts only the CA that the token names.
    let agents = (0..3).map(|n| cluster.start_agent_at(n, HOSTS[n], tokens[0].trim()));
    let mut agents = Vec::from_iter(agents);
    for n in 0..3 {
        for ip in HOSTS {
            wait::until("the agent at every replica", || is_alive(n, ip));
        }
    }
    // Every replica trusts the certificates of the others.
    for (n, agent) in agents.iter_mut().enumerate() {
        let next = (n + 1) % 3;
        agent.restart_with(vec![cluster.agents()[next]]);
        wait::until("a session with the next replica", || {
            let is_there = cluster.holder(agent) == Some(next);
            is_there && is_alive(n, HOSTS[n])
        });
    }
}

#[test]
fn replicas_take_over_agents_and_processes_of_a_single_server() {
    let mut alone = Cluster::start();
    let mut agents = HOSTS[..2]
        .iter()
        .map(|ip| alone.agent(ip))
        .collect::<Vec<_>>();
    let daemons = HOSTS[..2].iter().map(|ip| {
        let daemon = Fixture::daemon(alone.path(), ip, "kept");
        let cmd = daemon.daemon_cmd();
        let daemon = daemon.registered(&alone.api, &cmd);
        assert_eq!(daemon.operate(&alone.api, 0).0, 0);
        daemon
    });
    let daemons = Vec::from_iter(daemons);
    let pids: Vec<_> = daemons.iter().map(|daemon| daemon.pid().unwrap()).collect();
    let mut cluster = Replicas::prepare(Setup {
        n_replicas: 2,
        fixed_keys: false,
        ..Setup::default()
    });
    let copy = |from: &str| {
        let mut muster = Command::new(program::path("muster"));
        muster.args(["store", "copy", from, &cluster.postgres.url()]);
        muster.output().unwrap()
    };
    let refused = copy(&alone.store_url());
    assert!(
        !refused.status.success(),
        "a server runs on it: {refused:?}"
    );
    alone.kill_server();
    let copied = copy(&alone.store_url());
    assert!(copied.status.success(), "{copied:?}");

    cluster.start_all();
    for agent in &mut agents {
        agent.restart_with(cluster.agents());
    }
    cluster.wait_for_agents(&agents);
    for n in 0..2 {
        for (daemon, pid) in daemons.iter().zip(&pids) {
            let row = daemon.wait_for_status(cluster.api(n), 1);
            assert_eq!(row["pid"], pid.as_raw_nonzero().get(), "{row}");
            assert_eq!(
                (&row["flag"], &row["isauto"]),
                (&1.into(), &true.into()),
                "{row}"
            );
        }
    }
    for daemon in &daemons {
        assert_eq!(daemon.executions(), 1);
        assert_eq!(daemon.operate(cluster.api(1), 7).0, 0);
        assert_eq!(daemon.executions(), 2);
    }
}
