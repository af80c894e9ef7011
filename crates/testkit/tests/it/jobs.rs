//! Jobs on a real agent, while the server is killed.

use serde_json::{Value, json};
use testkit::{Cluster, odd, wait};

const HOST: &str = "10.1.1.1";
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
fn ended(cluster: &Cluster, job: &str) -> Value {
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
