//! A client of the HTTP API: JSON in, JSON out.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};

use crate::wait;

pub const APP_CODE: &str = "test-app";
pub const APP_SECRET: &str = "test-secret";

#[derive(Debug, Clone)]
pub struct Api {
    base: String,
    agent: ureq::Agent,
}

impl Api {
    pub fn new(address: SocketAddr) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .timeout_global(Some(Duration::from_secs(90)))
            .build();
        Self {
            base: format!("http://{address}"),
            agent: config.new_agent(),
        }
    }

    /// A GSE call in the ESB dialect, credentials in the body; the whole envelope.
    pub fn esb(&self, name: &str, body: Value) -> Value {
        self.post(
            &format!("/api/c/compapi/v2/gse/{name}/"),
            with_credentials(body),
        )
    }

    /// The same, which must succeed; returns `data`.
    #[track_caller]
    pub fn esb_ok(&self, name: &str, body: Value) -> Value {
        let answer = self.esb(name, body);
        assert_eq!(answer["result"], true, "{name}: {answer}");
        answer["data"].clone()
    }

    pub fn post(&self, path: &str, body: Value) -> Value {
        self.try_post(path, &body)
            .unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// Fails without a response.
    pub fn try_post(&self, path: &str, body: &Value) -> Result<Value, String> {
        let sent = self
            .agent
            .post(format!("{}{path}", self.base))
            .send_json(body);
        let mut answer = sent.map_err(|e| e.to_string())?;
        answer.body_mut().read_json().map_err(|e| e.to_string())
    }

    /// The native API: status and body.
    pub fn native(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let (status, text) = self.native_text(method, path, body);
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// The same for a body that is no JSON.
    pub fn native_text(&self, method: &str, path: &str, body: Option<Value>) -> (u16, String) {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("X-Bkapi-App-Code", APP_CODE)
            .header("X-Bkapi-App-Secret", APP_SECRET)
            .header("X-Bkapi-User-Name", "tester")
            .header("Content-Type", "application/json")
            .body(body.map(|body| body.to_string()).unwrap_or_default())
            .unwrap();
        let mut answer = self.agent.run(request).unwrap();
        let status = answer.status().as_u16();
        (
            status,
            answer.body_mut().read_to_string().unwrap_or_default(),
        )
    }

    /// Operates and waits until every key has ended; the result map.
    #[track_caller]
    pub fn operate(&self, meta: &Value, hosts: &Value, op_type: u8) -> Value {
        let task = self.esb_ok(
            "operate_proc",
            json!({"meta": meta, "hosts": hosts, "op_type": op_type}),
        );
        self.ended(task["task_id"].as_str().unwrap())
    }

    /// Polls as clients do, until no key says 115.
    #[track_caller]
    pub fn ended(&self, task_id: &str) -> Value {
        wait::until("the task to end", || {
            let answer = self
                .try_post(
                    "/v2/gse/get_proc_operate_result/",
                    &with_credentials(json!({"task_id": task_id})),
                )
                .ok()?;
            let data = answer["data"].as_object()?;
            let ended = data.values().all(|key| key["error_code"] != 115);
            ended.then(|| Value::Object(data.clone()))
        })
    }
}

pub fn with_credentials(mut body: Value) -> Value {
    body["bk_app_code"] = APP_CODE.into();
    body["bk_app_secret"] = APP_SECRET.into();
    body["bk_username"] = "tester".into();
    body
}
