//! Jobs on a real agent, while the server is killed.

use serde_json::{Value, json};
use testkit::{Cluster, odd, wait};

use crate::fixture::Fixture;

pub(crate) const HOST: &str = "10.1.1.1";
const N_INSTANCES: usize = 4;

/// One process with several instances, each of which counts its runs in a file.
fn import(cluster: &Cluster) {
    let folder = cluster.path().join("zone");
    std::fs::create_dir_all(&folder).unwrap();
    let start = format!(
        "{} --count count_${{local_inst_id}} --daemon --pid-file pid_${{local_inst_id}}",
        odd::odd().display()
    );
    let document = json!({
        "bk_biz_id": 2,
        "sets": [{"bk_set_name": "set", "modules": [{
            "bk_module_name": "zone", "hosts": [HOST],
            "processes": [{
                "bk_process_name": "zone", "bk_func_name": "odd", "proc_num": N_INSTANCES, "work_path": folder,
                "pid_file": "pid_${local_inst_id}", "start_cmd": start, "bk_start_check_secs": 1,
            }],
        }]}],
    });
    let path = "/api/v1/businesses/2/topology";
    let (status, answer) = cluster.api.native("PUT", path, Some(document));
    assert_eq!((status, &answer["troubles"]), (200, &json!([])), "{answer}");
}

fn begin(cluster: &Cluster, action: &str, options: Value) -> String {
    let body = json!({"business": 2, "action": action, "scope": {}, "options": options});
    let (status, made) = cluster.api.native("POST", "/api/v1/jobs", Some(body));
    assert_eq!(status, 202, "{made}");
    format!("/api/v1/jobs/{}", made["id"])
}

/// The job after its end.
pub(crate) fn ended(cluster: &Cluster, job: &str) -> Value {
    wait::until("the job to end", || {
        let (status, view) = cluster.api.native("GET", job, None);
        assert_eq!(status, 200, "{view}");
        let is_over = view["status"] != "running" && view["status"] != "pending";
        is_over.then_some(view)
    })
}

fn counted(cluster: &Cluster, instance: usize) -> usize {
    let file = cluster.path().join(format!("zone/count_{instance}"));
    let lines = std::fs::read_to_string(file).unwrap_or_default();
    lines.lines().count()
}

#[test]
fn a_rolling_job_survives_server_kills_and_starts_nothing_twice() {
    let mut cluster = Cluster::start();
    let _agent = cluster.agent(HOST);
    import(&cluster);
    let job = begin(&cluster, "start", json!({"batch_size": 1}));
    for n_begun in 1..N_INSTANCES {
        wait::until("the next instance", || counted(&cluster, n_begun) > 0);
        cluster.kill_server();
        cluster.restart_server();
    }
    let view = ended(&cluster, &job);
    assert_eq!(view["status"], "succeeded", "{view}");
    for instance in 1..=N_INSTANCES {
        assert_eq!(
            counted(&cluster, instance),
            1,
            "instance {instance}: {view}"
        );
    }
    let stop = begin(&cluster, "stop", json!({}));
    assert_eq!(ended(&cluster, &stop)["status"], "succeeded");
}

/// Registered daemons on one host, without a business.
pub(crate) fn daemons(cluster: &Cluster) -> Vec<Fixture> {
    let daemon = |n: usize| {
        let daemon = Fixture::daemon(cluster.path(), HOST, &format!("plain-{n}"));
        let command = daemon.daemon_cmd();
        daemon.registered(&cluster.api, &command)
    };
    (0..N_INSTANCES).map(daemon).collect()
}

pub(crate) fn begin_plain(cluster: &Cluster, action: &str, options: Value) -> String {
    let body = |dry_run: bool, count: Option<&Value>| {
        json!({"action": action, "filter": {"namespace": "e2e", "label": "kind=test"}, "options": options,
            "dry_run": dry_run, "expect_count": count})
    };
    let jobs = "/api/v1/jobs";
    let (status, plan) = cluster.api.native("POST", jobs, Some(body(true, None)));
    assert_eq!(
        (status, &plan["count"]),
        (200, &json!(N_INSTANCES)),
        "{plan}"
    );
    let begin = body(false, Some(&plan["count"]));
    let (status, made) = cluster.api.native("POST", jobs, Some(begin));
    assert_eq!(
        (status, &made["targets"]),
        (202, &json!(N_INSTANCES)),
        "{made}"
    );
    format!("{jobs}/{}", made["id"])
}

#[test]
fn a_job_over_plain_processes_survives_server_kills_and_starts_nothing_twice() {
    let mut cluster = Cluster::start();
    let _agent = cluster.agent(HOST);
    let daemons = daemons(&cluster);
    let job = begin_plain(&cluster, "start", json!({"batch_size": "25%"}));
    for daemon in &daemons[..N_INSTANCES - 1] {
        wait::until("the next process", || daemon.executions() > 0);
        cluster.kill_server();
        cluster.restart_server();
    }
    let view = ended(&cluster, &job);
    assert_eq!(view["status"], "succeeded", "{view}");
    for daemon in &daemons {
        assert_eq!(daemon.executions(), 1, "{}: {view}", daemon.key);
        assert!(daemon.is_alive());
    }
    let stop = begin_plain(&cluster, "stop", json!({}));
    assert_eq!(ended(&cluster, &stop)["status"], "succeeded");
    assert!(!daemons.iter().any(Fixture::is_alive));
}

#[test]
fn a_paused_job_stays_paused_when_the_server_is_killed() {
    let mut cluster = Cluster::start();
    let agent = cluster.agent(HOST);
    let daemons = daemons(&cluster);
    let job = begin_plain(&cluster, "start", json!({"batch_size": 1}));
    wait::until("the first process", || daemons[0].executions() > 0);
    let (status, answer) = cluster.api.native("POST", &format!("{job}/pause"), None);
    assert_eq!(status, 202, "{answer}");
    cluster.kill_server();
    cluster.restart_server();
    cluster.wait_for_agent(HOST, true);
    // What was under way ends. Whichever task that was, none follows it.
    let paused = wait::until("nothing to be under way", || {
        let (_, view) = cluster.api.native("GET", &job, None);
        (view["counts"]["running"] == 0).then_some(view)
    });
    let n_ended = paused["counts"]["ended"].as_u64().unwrap() as usize;
    assert_eq!(paused["status"], "running", "{paused}");
    assert!((1..N_INSTANCES).contains(&n_ended), "{paused}");
    assert_ne!(paused["paused_by"], "");
    assert_eq!(
        paused["batch"],
        json!({"number": n_ended, "of": N_INSTANCES})
    );
    let n_begun = daemons
        .iter()
        .filter(|daemon| daemon.executions() > 0)
        .count();
    assert_eq!(n_begun, n_ended);
    let (status, answer) = cluster.api.native("POST", &format!("{job}/resume"), None);
    assert_eq!(status, 202, "{answer}");
    assert_eq!(ended(&cluster, &job)["status"], "succeeded");
    assert!(daemons.iter().all(|daemon| daemon.executions() == 1));
    drop(agent);
}
