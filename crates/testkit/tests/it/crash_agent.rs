//! SIGKILL of the agent at any moment: processes go on, operations end once, nothing runs twice.

use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::json;
use testkit::{Cluster, wait};

use crate::fixture::Fixture;

#[test]
fn a_process_survives_its_agent_and_stays_managed() {
    let cluster = Cluster::start();
    let mut agent = cluster.agent("10.1.1.1");
    let daemon = Fixture::daemon(cluster.path(), "10.1.1.1", "survivor");
    let cmd = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &cmd);
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    let pid = daemon.pid().unwrap();
    agent.kill();
    cluster.wait_for_agent("10.1.1.1", false);
    assert!(daemon.is_alive());
    agent.restart();
    cluster.wait_for_agent("10.1.1.1", true);
    let row = daemon.wait_for_status(&cluster.api, 1);
    assert_eq!(
        (&row["pid"], &row["isauto"]),
        (&json!(pid.as_raw_nonzero().get()), &json!(true))
    );
    kill_process(pid, Signal::KILL).unwrap();
    wait::until("the adopted process to be restarted", || {
        daemon
            .pid()
            .filter(|other| *other != pid && daemon.is_alive())
    });
    assert_eq!(daemon.executions(), 2);
}

#[test]
fn a_process_that_exits_without_an_agent_is_started_again() {
    let cluster = Cluster::start();
    let mut agent = cluster.agent("10.1.1.1");
    let daemon = Fixture::daemon(cluster.path(), "10.1.1.1", "orphan");
    let cmd = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &cmd);
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    let pid = daemon.pid().unwrap();
    agent.kill();
    kill_process(pid, Signal::KILL).unwrap();
    agent.restart();
    wait::until("another run", || {
        daemon
            .pid()
            .filter(|other| *other != pid && daemon.is_alive())
    });
    assert_eq!(daemon.executions(), 2);
}

/// The time of the kill sweeps over the whole operation.
#[test]
fn an_operation_under_way_ends_once_whenever_the_agent_is_killed() {
    let cluster = Cluster::start();
    let mut agent = cluster.agent("10.1.1.1");
    for round in 0..12_u64 {
        let daemon = Fixture::daemon(cluster.path(), "10.1.1.1", &format!("round-{round}"));
        let cmd = daemon.daemon_cmd();
        let daemon = daemon.registered(&cluster.api, &cmd);
        let body = json!({"meta": daemon.meta, "hosts": daemon.hosts, "op_type": 0});
        let task = cluster.api.esb_ok("operate_proc", body);
        std::thread::sleep(Duration::from_millis(round * round * 10));
        agent.kill();
        agent.restart();
        let data = cluster.api.ended(task["task_id"].as_str().unwrap());
        let key = &data[&daemon.key];
        assert_eq!(data.as_object().unwrap().len(), 1, "{data}");
        assert_eq!(key["error_code"], 0, "round {round}: {key}");
        assert_eq!(daemon.executions(), 1, "round {round}: executed once");
        assert!(daemon.is_alive(), "round {round}");
        let again = cluster.api.ended(task["task_id"].as_str().unwrap());
        assert_eq!(again, data, "a result does not change");
        cluster.wait_for_agent("10.1.1.1", true);
    }
}
