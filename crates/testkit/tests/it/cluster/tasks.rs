//! One odd program on each of some hosts, operated together.

use serde_json::{Value, json};
use testkit::{Agent, Api, Replicas, odd, wait};

use crate::fixture::Fixture;

/// The same process on each host; a folder and a count of executions for each.
pub(super) struct Daemons(pub(super) Vec<Fixture>);

impl Daemons {
    /// Registers it for the hosts of these agents.
    pub(super) fn register(cluster: &Replicas, at: usize, name: &str, agents: &[Agent]) -> Self {
        Self::registered(cluster, at, name, agents, |daemon| {
            daemon.spec(&daemon.daemon_cmd())
        })
    }

    /// The same, but its start command blocks until [`Self::let_go`].
    pub(super) fn register_held(
        cluster: &Replicas,
        at: usize,
        name: &str,
        agents: &[Agent],
    ) -> Self {
        Self::registered(cluster, at, name, agents, |daemon| {
            let (odd, count) = (odd::odd().display().to_string(), daemon.path("count"));
            let (go, pid) = (daemon.path("go"), daemon.path("pid"));
            let mut spec = daemon.spec(&format!(
                "{odd} --count {count} --await {go} --daemon --pid-file {pid}"
            ));
            spec["monitor_policy"]["op_timeout"] = json!(90);
            spec
        })
    }

    fn registered(
        cluster: &Replicas,
        at: usize,
        name: &str,
        agents: &[Agent],
        spec: impl Fn(&Fixture) -> Value,
    ) -> Self {
        let daemons = agents.iter().map(|agent| {
            let daemon = Fixture::daemon(cluster.path(), &agent.ip, name);
            let spec = spec(&daemon);
            daemon.registered_as(cluster.api(at), &spec)
        });
        Self(daemons.collect())
    }

    /// One task for all of them: its id.
    #[track_caller]
    pub(super) fn operate(&self, api: &Api, op_type: u8) -> String {
        let hosts = self.0.iter().map(|daemon| daemon.hosts[0].clone());
        let hosts = Vec::from_iter(hosts);
        let body = json!({"meta": self.0[0].meta, "hosts": hosts, "op_type": op_type});
        let task = api.esb_ok("operate_proc", body);
        task["task_id"].as_str().unwrap().to_owned()
    }

    pub(super) fn let_go(&self) {
        for daemon in &self.0 {
            std::fs::write(daemon.folder.join("go"), "").unwrap();
        }
    }

    /// Waits until the start command runs on every host.
    pub(super) fn wait_until_begun(&self) {
        for daemon in &self.0 {
            wait::until("the start command to run", || daemon.executions() > 0);
        }
    }

    /// Waits for the end of a task on one replica: every target has this code.
    #[track_caller]
    pub(super) fn ended(&self, api: &Api, task: &str, code: i64) -> Value {
        let data = api.ended(task);
        assert_eq!(data.as_object().unwrap().len(), self.0.len(), "{data}");
        for daemon in &self.0 {
            assert_eq!(data[&daemon.key]["error_code"], code, "{task}: {data}");
        }
        data
    }

    #[track_caller]
    pub(super) fn were_executed(&self, times: usize) {
        for daemon in &self.0 {
            assert_eq!(daemon.executions(), times, "{}", daemon.key);
        }
    }

    #[track_caller]
    pub(super) fn wait_for_status(&self, api: &Api, status: u8) {
        for daemon in &self.0 {
            daemon.wait_for_status(api, status);
        }
    }
}

pub(super) const N_INSTANCES: usize = 4;

/// A process with some instances on one host, which count their runs.
pub(super) fn import(cluster: &Replicas, ip: &str) {
    let folder = cluster.path().join("zone");
    std::fs::create_dir_all(&folder).unwrap();
    let odd = odd::odd().display().to_string();
    let start = format!(
        "{odd} --count count_${{local_inst_id}} --daemon --pid-file pid_${{local_inst_id}}"
    );
    let document = json!({
        "bk_biz_id": 2,
        "sets": [{"bk_set_name": "set", "modules": [{
            "bk_module_name": "zone", "hosts": [ip],
            "processes": [{
                "bk_process_name": "zone", "bk_func_name": "odd", "proc_num": N_INSTANCES, "work_path": folder,
                "pid_file": "pid_${local_inst_id}", "start_cmd": start, "bk_start_check_secs": 1,
            }],
        }]}],
    });
    let path = "/api/v1/businesses/2/topology";
    let (status, answer) = cluster.api(0).native("PUT", path, Some(document));
    assert_eq!((status, &answer["troubles"]), (200, &json!([])), "{answer}");
}
