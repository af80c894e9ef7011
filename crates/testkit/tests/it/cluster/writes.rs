//! Acknowledged writes, and checks that they are still there.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::Api;
use testkit::api::with_credentials;

/// The error code when the store is unavailable.
pub(super) const NOT_AVAILABLE: i64 = 1_000_503;

/// Registers a name for a host that has no agent; the whole answer.
pub(super) fn register(api: &Api, name: &str) -> Result<Value, String> {
    let body = json!({
        "meta": {"namespace": "written", "name": name},
        "hosts": [{"ip": "10.23.9.9", "bk_cloud_id": 0, "bk_supplier_id": 0}],
        "spec": {
            "identity": {"proc_name": "x", "setup_path": "/x", "pid_path": "/x/pid", "user": "root"},
            "control": {}, "resource": {"cpu": 0, "mem": 0}, "monitor_policy": {"auto_type": 1},
        },
    });
    api.try_post("/v2/gse/register_proc_info", &with_credentials(body))
}

/// Writes through all replicas in turn until `stop`: returns the acknowledged names.
pub(super) fn write(
    replicas: &[Api],
    name: &str,
    stop: &AtomicBool,
    n_done: &AtomicUsize,
) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for n in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let name = format!("{name}-{n}");
        let answer = register(&replicas[n % replicas.len()], &name);
        if answer.is_ok_and(|answer| answer["code"] == 0) {
            acknowledged.push(name);
            n_done.fetch_add(1, Ordering::SeqCst);
        }
    }
    acknowledged
}

/// Checks that a replica shows all of these names.
#[track_caller]
pub(super) fn shows(api: &Api, names: &[String]) {
    let mut shown = Vec::new();
    loop {
        let page = json!({"meta": {"namespace": "written"}, "page": {"start": shown.len(), "limit": 1000}});
        let data = api.esb_ok("sync_proc_status", page);
        let rows = data["proc_infos"].as_array().unwrap();
        shown.extend(
            rows.iter()
                .map(|row| row["meta"]["name"].as_str().unwrap().to_owned()),
        );
        if shown.len() as u64 >= data["count"].as_u64().unwrap() {
            break;
        }
    }
    for name in names {
        assert!(shown.contains(name), "{name} was acknowledged and is gone");
    }
}
