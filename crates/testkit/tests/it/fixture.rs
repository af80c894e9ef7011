//! One process as a user would set it up: a folder, a start command, a pid file.

use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use testkit::{Api, odd, wait};

/// A registered odd program. Its runs are killed with the fixture.
pub(crate) struct Fixture {
    pub(crate) folder: PathBuf,
    pub(crate) meta: Value,
    pub(crate) hosts: Value,
    /// The key of its only host in the v1 form.
    pub(crate) key: String,
}

impl Fixture {
    /// A daemon: its start command goes to the background and writes a pid file.
    pub(crate) fn daemon(cluster_path: &Path, ip: &str, name: &str) -> Self {
        let folder = cluster_path.join(format!("{name}-{ip}"));
        std::fs::create_dir_all(&folder).unwrap();
        Self {
            meta: json!({"namespace": "e2e", "name": name, "labels": {"kind": "test"}}),
            hosts: json!([{"ip": ip, "bk_cloud_id": 0, "bk_supplier_id": 0}]),
            key: format!("0:0:{ip}:e2e:{name}"),
            folder,
        }
    }

    pub(crate) fn path(&self, file: &str) -> String {
        self.folder.join(file).display().to_string()
    }

    pub(crate) fn daemon_cmd(&self) -> String {
        let odd = odd::odd();
        format!(
            "{} --count {} --daemon --pid-file {}",
            odd.display(),
            self.path("count"),
            self.path("pid")
        )
    }

    /// A spec with a short start check, for fast tests.
    pub(crate) fn spec(&self, start_cmd: &str) -> Value {
        json!({
            "identity": {"proc_name": "odd", "setup_path": self.folder, "pid_path": self.path("pid"), "user": "root"},
            "control": {"start_cmd": start_cmd},
            "resource": {"cpu": 0, "mem": 0},
            "monitor_policy": {"auto_type": 1, "start_check_secs": 1, "op_timeout": 20, "start_interval": 1},
        })
    }

    pub(crate) fn registered(self, api: &Api, start_cmd: &str) -> Self {
        let spec = self.spec(start_cmd);
        self.registered_as(api, &spec)
    }

    pub(crate) fn registered_as(self, api: &Api, spec: &Value) -> Self {
        let body = json!({"meta": self.meta, "hosts": self.hosts, "spec": spec});
        let data = api.esb_ok("register_proc_info", body);
        assert_eq!(data[&self.key]["error_code"], 0, "{data}");
        self
    }

    /// Operates and waits; returns code and message of the only key.
    #[track_caller]
    pub(crate) fn operate(&self, api: &Api, op_type: u8) -> (i64, String) {
        let data = api.operate(&self.meta, &self.hosts, op_type);
        assert_eq!(data.as_object().unwrap().len(), 1, "{data}");
        let key = &data[&self.key];
        (
            key["error_code"].as_i64().unwrap(),
            key["error_msg"].as_str().unwrap().to_owned(),
        )
    }

    /// The status row of the API.
    pub(crate) fn status(&self, api: &Api) -> Value {
        let data = api.esb_ok(
            "get_proc_status",
            json!({"meta": self.meta, "hosts": self.hosts}),
        );
        data["proc_infos"][0].clone()
    }

    #[track_caller]
    pub(crate) fn wait_for_status(&self, api: &Api, status: u8) -> Value {
        let what = format!("status {status} of {}", self.key);
        wait::until(&what, || {
            Some(self.status(api)).filter(|row| row["status"] == status)
        })
    }

    pub(crate) fn pid(&self) -> Option<Pid> {
        let text = std::fs::read_to_string(self.folder.join("pid")).ok()?;
        Pid::from_raw(text.split_whitespace().next()?.parse().ok()?)
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.pid().is_some_and(|pid| test_kill_process(pid).is_ok())
    }

    /// How often the program was executed.
    pub(crate) fn executions(&self) -> usize {
        std::fs::read_to_string(self.folder.join("count"))
            .unwrap_or_default()
            .lines()
            .count()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            // Gone already is fine.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
