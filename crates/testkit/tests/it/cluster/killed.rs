//! SIGKILL of a replica.

use serde_json::{Value, json};
use testkit::{Replicas, Setup, wait};

use super::tasks::{Daemons, N_INSTANCES, import};

const HOSTS: [&str; 4] = ["10.22.0.1", "10.22.0.2", "10.22.0.3", "10.22.0.4"];

#[test]
fn operations_end_once_when_their_replica_is_killed() {
    let (mut cluster, victim, others) = (Replicas::prepare(Setup::default()), 0, [1, 2]);
    cluster.start_one(victim);
    let agents = cluster.start_agents_at(victim, &HOSTS);
    assert_eq!(cluster.n_held(&agents)[victim], HOSTS.len());
    let slow = Daemons::register_held(&cluster, victim, "slow", &agents);
    let task = slow.operate(cluster.api(victim), 0);
    slow.wait_until_begun();
    cluster.kill(victim);
    slow.let_go();
    for n in others {
        slow.ended(cluster.api(n), &task, 0);
        slow.wait_for_status(cluster.api(n), 1);
    }
    for agent in &agents {
        wait::until("a session with another replica", || {
            let holder = cluster.holder(agent)?;
            others.contains(&holder).then_some(())
        });
    }
    cluster.start_one(victim);
    // The restarted replica knows all of it at once, and works.
    slow.ended(cluster.api(victim), &task, 0);
    cluster.wait_for_agents(&agents);
    let again = slow.operate(cluster.api(victim), 7);
    slow.ended(cluster.api(others[0]), &again, 0);
    slow.were_executed(2);
}

fn counted(cluster: &Replicas, instance: usize) -> usize {
    let file = cluster.path().join(format!("zone/count_{instance}"));
    let lines = std::fs::read_to_string(file).unwrap_or_default();
    lines.lines().count()
}

fn job(cluster: &Replicas, at: usize, id: &Value) -> Value {
    let path = format!("/api/v1/jobs/{id}");
    let (status, view) = cluster.api(at).native("GET", &path, None);
    assert_eq!(status, 200, "{view}");
    view
}

#[test]
fn a_rolling_job_goes_on_when_the_leader_is_killed() {
    let mut cluster = Replicas::start(3);
    let _agents = cluster.start_agents(&HOSTS[..1]);
    import(&cluster, HOSTS[0]);
    let leader = cluster.leader();
    let other = (leader + 1) % 3;
    let body = json!({"business": 2, "action": "start", "scope": {}, "options": {"batch_size": 1}});
    let (status, made) = cluster
        .api(leader)
        .native("POST", "/api/v1/jobs", Some(body));
    assert_eq!(status, 202, "{made}");
    wait::until("the second batch", || counted(&cluster, 2) > 0);
    assert_eq!(job(&cluster, other, &made["id"])["status"], "running");
    cluster.kill(leader);
    let view = wait::until("the end of the job", || {
        let view = job(&cluster, other, &made["id"]);
        let is_over = view["status"] != "running" && view["status"] != "pending";
        is_over.then_some(view)
    });
    assert_eq!(view["status"], "succeeded", "{view}");
    for instance in 1..=N_INSTANCES {
        assert_eq!(counted(&cluster, instance), 1, "instance {instance}");
    }
    assert_ne!(cluster.leader(), leader);
    cluster.start_one(leader);
    assert_eq!(job(&cluster, leader, &made["id"])["status"], "succeeded");
}
