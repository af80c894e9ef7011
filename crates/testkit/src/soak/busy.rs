//! Busy agents of a quiet server: usage figures change all the time, and the server has nothing to send. Heartbeats must keep
//! every session alive.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::world::World;
use crate::{Agent, odd};

const NAMESPACE: &str = "busy";
/// Per host. Each is reported every ten seconds.
const N_PROCESSES: usize = 4;
/// Between two starts, so that they are reported at different times.
const BETWEEN_STARTS: Duration = Duration::from_millis(2500);
/// Within this time the figures of at least one process per host change.
const CHECK_EVERY: Duration = Duration::from_secs(15);
const MANAGE: u8 = 3;
const KILL: u8 = 9;

/// Leaves busy agents alone for this time, and checks that each kept its session.
pub(super) fn agents_keep_their_sessions(world: &mut World, time: Duration) {
    if time.is_zero() {
        return;
    }
    world.note("busy processes are started; the server is quiet");
    for n in 0..N_PROCESSES {
        register(world, n);
        operate(world, n, MANAGE);
        std::thread::sleep(BETWEEN_STARTS);
    }
    let sessions = |world: &World| -> Vec<usize> { world.agents().map(n_sessions).collect() };
    let (before, began) = (sessions(world), Instant::now());
    let mut shown = figures(world);
    while began.elapsed() < time {
        std::thread::sleep(CHECK_EVERY);
        let now = figures(world);
        for (host, (before, now)) in world.hosts().zip(shown.iter().zip(&now)) {
            assert_ne!(before, now, "the processes of {host} are not busy");
        }
        shown = now;
    }
    let after = sessions(world);
    assert_eq!(
        before, after,
        "agents that report all the time lost their sessions"
    );
    for n in 0..N_PROCESSES {
        operate(world, n, KILL);
    }
}

/// How many sessions an agent began, without moves to another server.
fn n_sessions(agent: &Agent) -> usize {
    let log = agent.log();
    log.matches("session begins").count() - log.matches("moved to another server").count()
}

/// The usage figures of each host's processes.
fn figures(world: &World) -> Vec<Vec<[Value; 2]>> {
    let page = json!({"meta": {"namespace": NAMESPACE}, "page": {"start": 0, "limit": 1000}});
    let api = world.servers.api().expect("all servers run");
    let data = api.esb_ok("sync_proc_status", page);
    let rows = data["proc_infos"].as_array().unwrap();
    let of_host = |agent: &Agent| {
        let rows = rows.iter().filter(|row| row["host"]["ip"] == agent.ip);
        let rows = rows.map(|row| ["cpu_usage", "mem_usage"].map(|key| row[key].clone()));
        let rows: Vec<[Value; 2]> = rows.collect();
        assert_eq!(rows.len(), N_PROCESSES, "{data}");
        rows
    };
    world.agents().map(of_host).collect()
}

fn register(world: &World, n: usize) {
    let folder = world.servers.path().join(format!("busy-{n}"));
    std::fs::create_dir_all(&folder).unwrap();
    let odd = odd::odd().display().to_string();
    let mut body = target(world, n);
    body["spec"] = json!({
        "identity": {
            "proc_name": "odd", "setup_path": folder, "pid_path": folder.join("pid"), "user": "root",
        },
        "control": {"start_cmd": format!("{odd} --print {} --lines 1000", folder.display())},
        "resource": {"cpu": 0, "mem": 0},
        "monitor_policy": {"auto_type": 1, "start_check_secs": 0, "op_timeout": 20},
    });
    let api = world.servers.api().expect("all servers run");
    let answers = api.esb_ok("register_proc_info", body);
    all_succeeded(&answers);
}

fn operate(world: &World, n: usize, op: u8) {
    let target = target(world, n);
    let api = world.servers.api().expect("all servers run");
    all_succeeded(&api.operate(&target["meta"], &target["hosts"], op));
}

fn all_succeeded(answers: &Value) {
    let answers_by_key = answers.as_object().unwrap();
    for answer in answers_by_key.values() {
        assert_eq!(answer["error_code"], 0, "{answers}");
    }
}

fn target(world: &World, n: usize) -> Value {
    let host = |agent: &Agent| json!({"ip": agent.ip, "bk_cloud_id": 0, "bk_supplier_id": 0});
    let hosts: Vec<Value> = world.agents().map(host).collect();
    json!({"meta": {"namespace": NAMESPACE, "name": format!("busy-{n}")}, "hosts": hosts})
}
