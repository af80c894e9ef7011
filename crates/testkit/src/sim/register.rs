//! Registers the processes of a simulated fleet through the API.

use serde_json::json;

use super::SimError;
use super::options::Options;

/// Limit of hosts per request.
const HOSTS_AT_A_TIME: usize = 10_000;

/// Registers `--procs` processes on every host.
pub(super) async fn register(options: &Options) -> Result<(), SimError> {
    let options = options.clone();
    let registered = tokio::task::spawn_blocking(move || register_all(&options)).await;
    registered.map_err(|e| SimError::Register(e.to_string()))?
}

fn register_all(options: &Options) -> Result<(), SimError> {
    let (Some(api), Some(app), Some(secret)) = (&options.api, &options.app, &options.secret) else {
        let missing = "--procs needs --api, --app and --secret";
        return Err(SimError::Options(missing.to_owned()));
    };
    let url = format!(
        "{}/api/c/compapi/v2/gse/register_proc_info/",
        api.trim_end_matches('/')
    );
    let client = ureq::Agent::new_with_defaults();
    let hosts = (0..options.agents)
        .map(|index| Ok(json!({"ip": options.host_ip(index)?, "bk_cloud_id": options.cloud, "bk_supplier_id": 0})))
        .collect::<Result<Vec<_>, SimError>>()?;
    for number in 0..options.procs {
        for hosts in hosts.chunks(HOSTS_AT_A_TIME) {
            let name = format!("proc-{number}");
            let body = json!({
                "bk_app_code": app,
                "bk_app_secret": secret,
                "bk_username": "sim",
                "meta": {"namespace": options.namespace, "name": name, "labels": {"proc_name": name}},
                "hosts": hosts,
                "spec": {
                    "identity": {"proc_name": name, "setup_path": "/data/sim/", "pid_path": format!("/data/sim/{name}.pid"), "user": "root"},
                    "control": {"start_cmd": "./start.sh", "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh"},
                    "resource": {"cpu": 10.0, "mem": 10.0},
                    "monitor_policy": {"auto_type": 1, "start_check_secs": 5},
                },
            });
            let answer = client.post(&url).send_json(&body);
            let answer: serde_json::Value = answer
                .and_then(|mut answer| answer.body_mut().read_json())
                .map_err(|e| SimError::Register(e.to_string()))?;
            if answer["result"] != true {
                return Err(SimError::Register(answer["message"].to_string()));
            }
        }
    }
    Ok(())
}
