//! The example of every request body, sent to a server as the document has it: each must succeed and have its effect.
//!
//! Each dialect has a server of its own, with agents on 10.0.0.1 and 10.0.0.2, and gets its examples in the order of
//! `api/src/examples.json`.

mod effects;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use api::examples::EXAMPLES;
use model::{Code, Flag, Op, Outcome, TaskId, UnixMillis};
use serde_json::{Value, json};
use testkit::FakeAgent;
use wire::{Command, DownKind};

use effects::{contains, dialect_effects, native_effects};

use super::schema::mistakes;
use crate::rig::{HEADERS, Rig};

/// In the paths of the examples. Ids of tasks differ from server to server.
const EXAMPLE_TASK: &str = "GSETASK:000066A1B2C3D4E5";

/// An operation of the document that takes a body.
struct Documented {
    method: String,
    path: String,
    body: Value,
    schema: Value,
}

/// By `operationId`, with the example in the place of each path parameter.
fn documented(document: &Value) -> BTreeMap<String, Documented> {
    let mut all = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if operation["requestBody"].is_null() {
                continue;
            }
            let content = &operation["requestBody"]["content"]["application/json"];
            let mut path = path.clone();
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let value = match &parameter["example"] {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                path = path.replace(
                    &format!("{{{}}}", parameter["name"].as_str().unwrap()),
                    &value,
                );
            }
            let id = operation["operationId"].as_str().unwrap().to_owned();
            let documented = Documented {
                method: method.to_uppercase(),
                path,
                body: content["example"].clone(),
                schema: content["schema"].clone(),
            };
            all.insert(id, documented);
        }
    }
    all
}

#[test]
fn every_request_body_has_an_example_that_fits_its_schema() {
    let document: Value = serde_json::from_str(&server::http::openapi_json()).unwrap();
    let all = documented(&document);
    assert!(all.len() > 90);
    for (id, operation) in &all {
        assert!(
            operation.body.is_object(),
            "{id} takes a body and has no example: add one to api/src/examples.json"
        );
        assert!(
            !operation.path.contains("null"),
            "{id}: its example lacks a path parameter: {}",
            operation.path
        );
        let mistakes = mistakes(&document, &operation.schema, &operation.body);
        assert_eq!(mistakes, Vec::<String>::new(), "the example of {id}");
    }
    let mut seen = BTreeSet::new();
    for example in EXAMPLES.iter() {
        for id in &example.operations {
            assert!(
                all.contains_key(id),
                "{id} of api/src/examples.json takes no body in the document"
            );
            assert!(seen.insert(id), "{id} has two examples");
            for name in example.path.keys() {
                let parameters = operation_parameters(&document, id);
                assert!(parameters.contains(name), "{id} has no parameter {name}");
            }
        }
    }
}

fn operation_parameters(document: &Value, id: &str) -> BTreeSet<String> {
    let items = document["paths"].as_object().unwrap().values();
    let operations = items.flat_map(|item| item.as_object().unwrap().values());
    let mut found = operations.filter(|operation| operation["operationId"] == id);
    let parameters = found.next().unwrap()["parameters"].as_array().unwrap();
    let names = parameters.iter().map(|parameter| &parameter["name"]);
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

/// A server with two agents that end every operation.
struct Examples {
    rig: Rig,
    all: BTreeMap<String, Documented>,
    /// While it is set, operations fail.
    failing: Arc<AtomicBool>,
    /// The last that was accepted.
    task: Value,
    /// The headers of the user who has logged in.
    login: Option<String>,
}

impl Examples {
    async fn new() -> Self {
        let rig = Rig::new().await;
        let binary = std::env::current_exe().unwrap();
        let binaries = rig.control.agents().binaries();
        binaries.add_file(binary, "muster-agent", "0.2.0", "x86_64");
        let failing = Arc::new(AtomicBool::new(false));
        for host in ["0:10.0.0.1", "0:10.0.0.2"] {
            let agent = rig.agent(host).await;
            tokio::spawn(end_operations(agent, failing.clone()));
        }
        let document = rig.send("GET", "/openapi.json", &[], b"").await.json();
        Self {
            rig,
            all: documented(&document),
            failing,
            task: Value::Null,
            login: None,
        }
    }

    /// Sends every example of the dialect, whose `operationId`s begin with `prefix`.
    async fn send_all(&mut self, prefix: &str) {
        let ids = EXAMPLES.iter().flat_map(|example| &example.operations);
        for id in ids.filter(|id| dialect_of(id) == prefix) {
            // Without a failure there is nothing to retry.
            self.failing.store(id == "create_job", Ordering::Relaxed);
            if id == "retry_task" {
                self.fail_a_task().await;
            }
            let answer = self.send(id).await;
            self.wait_for_end(id, &answer).await;
            self.check_effect(id, &answer).await;
        }
    }

    async fn fail_a_task(&mut self) {
        self.failing.store(true, Ordering::Relaxed);
        let body = json!({"op": "stop", "all": true});
        let path = "/processes/web/nginx/operate";
        let (_, answer) = self.rig.native("POST", path, body).await;
        self.wait_for_end("operate_process", &answer).await;
        self.failing.store(false, Ordering::Relaxed);
    }

    async fn send(&mut self, id: &str) -> Value {
        let operation = &self.all[id];
        let mut body = operation.body.clone();
        if let Some(example) = body.get("task_id") {
            example.as_str().unwrap().parse::<TaskId>().unwrap();
            // Ids of tasks differ from server to server.
            body["task_id"] = self.task.clone();
        }
        let text = body.to_string();
        let method = &operation.method;
        let task = self.task.as_str().unwrap_or_default();
        let path = &operation.path.replace(EXAMPLE_TASK, task);
        let bearer = self.login.as_deref().unwrap_or_default();
        let of_login = [
            ("Authorization", bearer),
            ("Content-Type", "application/json"),
        ];
        let headers = match id {
            "change_password" => &of_login[..],
            _ => &HEADERS[..],
        };
        let response = self.rig.send(method, path, headers, text.as_bytes()).await;
        let what = format!("{id}: {method} {path} {text}");
        assert!(
            (200..300).contains(&response.status),
            "{what}: {response:?}"
        );
        let answer = match response.body.is_empty() {
            true => Value::Null,
            false => response.json(),
        };
        if dialect_of(id) != "native" {
            let success = (&answer["result"], &answer["code"]);
            assert_eq!(success, (&json!(true), &json!(0)), "{what}: {answer}");
        }
        for code in codes(&answer) {
            assert_eq!(code, 0, "{what}: {answer}");
        }
        answer
    }

    /// Waits until the task or the job that the request has made is over.
    async fn wait_for_end(&mut self, id: &str, answer: &Value) {
        let task = match &answer["task_id"] {
            Value::Null => &answer["data"]["task_id"],
            task => task,
        };
        if task.is_string() && *task != self.task {
            self.task = task.clone();
            let path = format!("/tasks/{}", task.as_str().unwrap());
            let detail = self
                .poll(&path, |task| task["counts"]["running"] == 0)
                .await;
            let failed = self.failing.load(Ordering::Relaxed);
            assert!(failed || detail["counts"]["failed"] == 0, "{detail}");
        }
        if id.ends_with("create_job") || id == "retry_job" {
            self.poll("/jobs/1", |job| job["ended_at"] != 0).await;
        }
    }

    async fn poll(&self, path: &str, is_over: impl Fn(&Value) -> bool) -> Value {
        loop {
            let found = self.get(&format!("{path}?wait=20s")).await;
            if is_over(&found) {
                return found;
            }
        }
    }

    async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.rig.native("GET", path, Value::Null).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    async fn check_effect(&mut self, id: &str, answer: &Value) {
        let dialect = dialect_of(id);
        let (table, name) = match dialect {
            "native" => (native_effects(), id),
            other => (dialect_effects(), &id[other.len() + 1..]),
        };
        let mut n_checked = 0;
        for (_, path, expected) in table.iter().filter(|row| row.0 == name) {
            let shown = match path.is_empty() {
                true => answer.clone(),
                false => self.get(path).await,
            };
            assert!(
                contains(&shown, expected),
                "{id}: {expected} is not in {shown}"
            );
            n_checked += 1;
        }
        assert_ne!(n_checked, 0, "{id} has no row in the table of effects");
        if id == "login" {
            let bearer = format!("Bearer {}", answer["bk_token"].as_str().unwrap());
            let headers = [("Authorization", &*bearer)];
            let list = self.rig.send("GET", "/api/v1/processes", &headers, b"");
            assert_eq!(list.await.status, 200);
            self.login = Some(bearer);
        }
    }
}

/// The dialect of an operation, by its id.
fn dialect_of(id: &str) -> &'static str {
    let dialects = ["esb_short", "esb", "pms", "gse2", "gsekit_short", "gsekit"];
    let found = dialects.into_iter().find(|dialect| {
        id.strip_prefix(dialect)
            .is_some_and(|rest| rest.starts_with('_'))
    });
    found.unwrap_or("native")
}

/// The code of each host or key in a response.
fn codes(answer: &Value) -> Vec<i64> {
    let hosts = answer["results"].as_array().into_iter().flatten();
    let keys = answer["data"].as_object().into_iter().flatten();
    let codes = hosts.map(|host| &host["code"]);
    let codes = codes.chain(keys.map(|(_, key)| &key["error_code"]));
    codes.filter_map(Value::as_i64).collect()
}

async fn end_operations(agent: FakeAgent, failing: Arc<AtomicBool>) {
    loop {
        for frame in agent.session.next().await {
            match frame.kind {
                Some(DownKind::Command(command)) if failing.load(Ordering::Relaxed) => {
                    let outcome = Outcome::plain(Code(1), "no such file", UnixMillis(5));
                    agent.end(&command, outcome).await;
                }
                Some(DownKind::Command(command)) => {
                    let (flag, managed) = afterwards(&command);
                    agent.answer_ok(&command, flag, managed).await;
                }
                _ => {}
            }
        }
    }
}

/// What the operation leaves behind.
fn afterwards(command: &Command) -> (Option<Flag>, Option<bool>) {
    let starts = [Op::Start, Op::Restart].map(|op| u32::from(op.number()));
    match starts.contains(&command.op_type) {
        true => (Some(Flag::Running), Some(true)),
        false => (None, None),
    }
}

#[tokio::test]
async fn examples_of_the_native_api_work() {
    Examples::new().await.send_all("native").await;
}

#[tokio::test]
async fn examples_of_esb_work() {
    Examples::new().await.send_all("esb").await;
    Examples::new().await.send_all("esb_short").await;
}

#[tokio::test]
async fn examples_of_pms_work() {
    Examples::new().await.send_all("pms").await;
}

#[tokio::test]
async fn examples_of_gse_2_work() {
    Examples::new().await.send_all("gse2").await;
}

#[tokio::test]
async fn examples_of_gsekit_work() {
    for dialect in ["gsekit", "gsekit_short"] {
        let mut examples = Examples::new().await;
        examples.send("import_topology").await;
        examples.send_all(dialect).await;
    }
}

/// A misspelt field must not mean something else: an app whose `namespaces` is misspelt would operate everything.
#[tokio::test]
async fn native_requests_refuse_unknown_fields() {
    let examples = Examples::new().await;
    let native = examples
        .all
        .iter()
        .filter(|(id, _)| dialect_of(id) == "native");
    for (id, operation) in native {
        let mut body = operation.body.clone();
        body["no_such_field"] = json!(1);
        let Documented { method, path, .. } = operation;
        let body = body.to_string();
        let response = examples
            .rig
            .send(method, path, &HEADERS, body.as_bytes())
            .await;
        let error = response.json()["error"].clone();
        assert_eq!(
            (response.status, &error["field"]),
            (400, &json!("no_such_field")),
            "{id}: {error}"
        );
    }
}
