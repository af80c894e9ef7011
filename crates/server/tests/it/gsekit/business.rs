//! A small business with every kind of process, and agents that have reported.

use std::time::Duration;

use model::{Flag, State, Status};
use serde_json::{Value, json};
use testkit::FakeAgent;

use crate::rig::Rig;

pub(crate) const PROCESS_STATUS: &str = "/v2/gsekit/api/process/process_status/";

/// | id | set | module | process | host | instances | status | managed |
/// |---|---|---|---|---|---|---|---|
/// | 46 | 管控平台 (5, formal) | gse_agent (21) | gse_agent | 0:127.0.0.1 | 1 | running | yes |
/// | 47 | 管控平台 | nginx (22) | nginx | 0:10.0.0.2 | 2, one stopped | stopped | no |
/// | 48 | 管控平台 | nginx | redis | 0:10.0.0.2 | 1 | running | no |
/// | 49 | PaaS平台 (6, formal) | paas (23) | paas | 1:10.0.0.3 | 1 | never reported | no |
/// | 50 | 测试 (7, test) | nginx (24) | nginx | 0:10.0.0.4 | 1 | stopped | yes |
pub(crate) fn document() -> Value {
    let process = |id: u32, name: &str, proc_num: u32| {
        json!({"bk_process_id": id, "bk_process_name": name, "proc_num": proc_num, "user": "root",
            "process_template_id": id - 20, "work_path": "/opt", "pid_file": "run/${local_inst_id}.pid",
            "start_cmd": "./start.sh"})
    };
    json!({
        "bk_biz_id": 2, "bk_biz_name": "game",
        "clouds": {"0": "default area", "1": "北京"},
        "hosts": [{"host": "10.0.0.2", "bk_agent_id": "agent-two", "bk_host_innerip_v6": "fd00::2",
            "other_innerips": ["192.168.7.2"]}],
        "sets": [
            {"bk_set_id": 5, "bk_set_name": "管控平台", "modules": [
                {"bk_module_id": 21, "bk_module_name": "gse_agent", "service_template_id": 26, "service_instances": [
                    {"service_instance_id": 5, "name": "127.0.0.1_gse_agent", "host": "127.0.0.1",
                        "processes": [process(46, "gse_agent", 1)]}]},
                {"bk_module_id": 22, "bk_module_name": "nginx", "service_instances": [
                    {"service_instance_id": 6, "name": "10.0.0.2_nginx", "host": "10.0.0.2",
                        "processes": [process(47, "nginx", 2), process(48, "redis", 1)]}]},
            ]},
            {"bk_set_id": 6, "bk_set_name": "PaaS平台", "modules": [
                {"bk_module_id": 23, "bk_module_name": "paas", "service_instances": [
                    {"service_instance_id": 7, "name": "10.0.0.3_paas", "host": "1:10.0.0.3",
                        "processes": [process(49, "paas", 1)]}]}]},
            {"bk_set_id": 7, "bk_set_name": "测试", "bk_set_env": 1, "modules": [
                {"bk_module_id": 24, "bk_module_name": "nginx", "service_instances": [
                    {"service_instance_id": 8, "name": "10.0.0.4_nginx", "host": "10.0.0.4",
                        "processes": [process(50, "nginx", 1)]}]}]},
        ],
    })
}

/// The business with its connected agents.
pub(crate) struct Business {
    pub(crate) rig: Rig,
    pub(crate) agents: Vec<FakeAgent>,
}

impl Business {
    pub(crate) async fn new() -> Self {
        let rig = Rig::new().await;
        import(&rig, &document()).await;
        let mut agents = Vec::new();
        for host in ["0:127.0.0.1", "0:10.0.0.2", "0:10.0.0.4"] {
            agents.push(rig.agent(host).await);
        }
        for (agent, name, state, managed) in [
            (0, "gse_agent_1", State::Running, true),
            (1, "nginx_1", State::Running, false),
            (1, "nginx_2", State::Stopped, false),
            (1, "redis_1", State::Running, false),
            (2, "nginx_1", State::Stopped, true),
        ] {
            let status = Status {
                state,
                flag: Some(Flag::Running),
                managed: Some(managed),
                ..Status::default()
            };
            let name = format!("GSEKIT_BIZ_2/{name}");
            agents[agent].reports(&name, status).await;
        }
        let business = Self { rig, agents };
        // The managed flag is committed a moment after the report.
        let managed = json!({"scope": {"bk_set_env": 0}, "is_auto": true});
        while business.ids(managed.clone()).await != [46, 50] {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        business
    }

    /// The envelope of process_status for business 2, by default the first page.
    pub(crate) async fn process_status(&self, body: Value) -> Value {
        let mut whole = json!({"bk_biz_id": 2, "page": 1, "pagesize": 100});
        for (key, value) in body.as_object().unwrap() {
            whole[key] = value.clone();
        }
        self.rig.gse("POST", PROCESS_STATUS, whole).await
    }

    /// `data` of a successful process_status.
    pub(crate) async fn process_status_ok(&self, body: Value) -> Value {
        let envelope = self.process_status(body).await;
        assert_eq!(envelope["code"], 0, "{envelope}");
        envelope["data"].clone()
    }

    /// The ids of a page that holds all rows.
    pub(crate) async fn ids(&self, body: Value) -> Vec<u64> {
        let data = self.process_status_ok(body.clone()).await;
        let ids = ids_of(&data);
        assert_eq!(data["count"], ids.len(), "{body}");
        ids
    }
}

pub(crate) fn ids_of(data: &Value) -> Vec<u64> {
    let rows = data["list"].as_array().unwrap().iter();
    rows.map(|row| row["bk_process_id"].as_u64().unwrap())
        .collect()
}

pub(crate) async fn import(rig: &Rig, document: &Value) -> Value {
    let path = format!("/businesses/{}/topology", document["bk_biz_id"]);
    let (status, answer) = rig.native("PUT", &path, document.clone()).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["troubles"], json!([]));
    answer
}
