//! Permissions: every operation of the OpenAPI document with every role. A new operation has to be added here.

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::gsekit::business::{Business, document};
use crate::rig::{HEADERS, example, spec, target};

const SECRET: &str = "secret-0123456789";
/// The code of the envelope for an app without permission.
const APP_NOT_ALLOWED: i64 = 1_306_403;

/// The permission that an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Needs {
    /// Open to all, without credentials.
    Nothing,
    /// Credentials, but no role.
    Credentials,
    View,
    Operate,
    Manage,
}

/// One operation of the document.
#[derive(Debug)]
struct Operation {
    method: String,
    path: String,
    id: String,
}

impl Operation {
    fn all() -> Vec<Self> {
        let document: Value = serde_json::from_str(&server::http::openapi_json()).unwrap();
        let mut all = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                all.push(Self {
                    method: method.to_uppercase(),
                    path: path.clone(),
                    id: operation["operationId"].as_str().unwrap().to_owned(),
                });
            }
        }
        assert!(all.len() > 100);
        all
    }

    fn is_native(&self) -> bool {
        self.path.starts_with("/api/v1/")
    }

    /// Its name in every dialect.
    fn name(&self) -> &str {
        if self.is_native() {
            return &self.id;
        }
        let prefixes = [
            "esb_short_",
            "esb_",
            "pms_",
            "gse2_",
            "gsekit_short_",
            "gsekit_",
        ];
        let found = prefixes.iter().find_map(|p| self.id.strip_prefix(p));
        found.unwrap_or(&self.id)
    }

    fn needs(&self) -> Needs {
        match self.name() {
            "login" | "logout" | "healthz" | "readyz" | "metrics" => Needs::Nothing,
            "whoami" | "change_password" | "list_logins" | "end_login" => Needs::Credentials,
            "get_agent_info"
            | "get_agent_status"
            | "list_agent_info"
            | "list_agent_state"
            | "get_proc_operate_result"
            | "get_proc_operate_result_v2"
            | "get_task_state"
            | "get_proc_status"
            | "get_proc_status_v2"
            | "sync_proc_status"
            | "get_process_group_info"
            | "config_template_list"
            | "job_status"
            | "access_overview"
            | "expression_match"
            | "process_status"
            | "sync_process_status"
            | "list_businesses"
            | "list_config_files"
            | "list_template_files"
            | "list_business_files"
            | "list_templates"
            | "show_template"
            | "show_topology"
            | "list_events"
            | "explain_expression"
            | "list_groups"
            | "list_hosts"
            | "show_host"
            | "held_on_host"
            | "check_host"
            | "list_jobs"
            | "show_job"
            | "list_job_failures"
            | "list_job_hosts"
            | "list_task_failures"
            | "list_task_hosts"
            | "list_names"
            | "list_processes"
            | "count_processes"
            | "count_view"
            | "show_tree"
            | "search"
            | "list_view"
            | "show_process"
            | "list_tasks"
            | "show_task"
            | "watch"
            | "summary"
            | "timeline"
            | "count_events"
            | "why"
            | "process_figures"
            | "process_runs"
            | "list_process_versions"
            | "state_figures"
            | "list_agent_binaries"
            | "list_replicas" => Needs::View,
            "operate_proc"
            | "operate_proc_v2"
            | "operate_proc_multi"
            | "register_proc_info"
            | "update_proc_info"
            | "unregister_proc_info"
            | "set_process_group_info"
            | "upgrade_to_agent_id"
            | "create_job"
            | "flush_process"
            | "preview_template"
            | "list_variables"
            | "show_config_file"
            | "refresh_business"
            | "create_template"
            | "update_template"
            | "delete_template"
            | "bind_template"
            | "save_draft"
            | "list_versions"
            | "show_version"
            | "activate_version"
            | "clone_version"
            | "import_topology"
            | "remove_topology"
            | "set_groups"
            | "set_agent_id"
            | "cancel_job"
            | "retry_job"
            | "retry_task"
            | "pause_job"
            | "resume_job"
            | "revert_job"
            | "rollback_process"
            | "operate_process"
            | "operate_processes"
            | "update_process"
            | "register_process"
            | "unregister_process"
            | "process_logs" => Needs::Operate,
            "list_apps" | "create_app" | "delete_app" | "grant_to_app" | "revoke_from_app"
            | "list_users" | "create_user" | "delete_user" | "grant_to_user"
            | "revoke_from_user" | "list_tokens" | "create_token" | "delete_token"
            | "list_webhooks" | "create_webhook" | "delete_webhook" | "test_webhook"
            | "list_audit" | "export_audit" | "revoke_host" | "upgrade_agents" | "remove_hosts"
            | "label_hosts" | "drain" | "stop_draining" | "create_login_code" => Needs::Manage,
            other => panic!("add the permission of {other} here"),
        }
    }

    /// The path with existing objects for its parameters.
    fn path(&self, world: &World) -> String {
        let id = match self.path.split('/').nth(3) {
            Some("jobs") => world.job.clone(),
            Some("tasks") => world.task.clone(),
            Some("businesses") => "2".to_owned(),
            _ => "some".to_owned(),
        };
        let name = match self.path.split('/').nth(3) {
            Some("users") => "ada",
            _ => "proc-test",
        };
        let mut path = self.path.clone();
        for (hole, value) in [
            ("{namespace}", "gse"),
            ("{name}", name),
            ("{code}", "nobody"),
            ("{host}", "0:10.0.0.2"),
            ("{id}", &id),
            ("{process}", "47"),
            ("{local_inst_id}", "1"),
            ("{template}", &world.template),
            ("{version}", &world.version),
        ] {
            path = path.replace(hole, value);
        }
        assert!(!path.contains('{'), "{path}: add the parameter here");
        match self.name() {
            "list_groups" => path + "?host=10.0.0.2",
            "list_view" => path + "?business=2",
            "count_processes" => path + "?by=state",
            "search" => path + "?q=gse",
            "count_view" => path + "?business=2&by=status",
            "config_template_list" | "access_overview" => path + "?bk_biz_id=2",
            _ => path,
        }
    }

    /// A valid body, so that only the role can be a reason to refuse it.
    fn body(&self, world: &World) -> Value {
        let agents = json!({"hosts": [{"ip": "10.0.0.2", "bk_cloud_id": 0}], "agent_id_list": ["agent-two"]});
        let named = |name: &str, mut body: Value| {
            body["meta"]["name"] = json!(name);
            body
        };
        let v2_target = json!({"meta": {"namespace": "gse", "name": "proc-test"}, "agent_id_list": ["agent-two"]});
        match self.name() {
            "get_agent_info" | "get_agent_status" | "list_agent_info" | "list_agent_state" => {
                agents
            }
            "get_proc_operate_result" | "get_proc_operate_result_v2" | "get_task_state" => {
                json!({"task_id": world.task})
            }
            "get_proc_status" | "get_process_group_info" | "unregister_proc_info" => target(),
            "get_proc_status_v2" => v2_target,
            "sync_proc_status" => {
                json!({"meta": {"namespace": "gse"}, "page": {"start": 0, "limit": 10}})
            }
            "operate_proc" => {
                let mut body = target();
                body["op_type"] = json!(1);
                body
            }
            "operate_proc_v2" => {
                let mut body = v2_target;
                body["op_type"] = json!(1);
                body["spec"] = spec();
                body
            }
            "operate_proc_multi" => {
                let mut one = v2_target;
                one["op_type"] = json!(1);
                one["spec"] = spec();
                json!({"proc_operate_req": [one]})
            }
            "register_proc_info" | "update_proc_info" => {
                let mut body = named("proc-test", example());
                body["agent_id_list"] = json!(["agent-two"]);
                body
            }
            "set_process_group_info" => {
                let mut body = target();
                body["spec"] = json!({"process_group": []});
                body
            }
            "upgrade_to_agent_id" => {
                json!({"hosts": [{"ip": "10.0.0.2", "bk_cloud_id": 0, "bk_agent_id": "x"}]})
            }
            "create_job" if self.is_native() => {
                json!({"business": 2, "action": "start", "expression": "*.nginx.*.*.47", "env": "formal"})
            }
            "create_job" => json!({"bk_biz_id": 2, "job_object": "process", "job_action": "stop",
                "scope": {"bk_set_env": "3", "bk_process_ids": [47]}}),
            "job_status" => json!({"bk_biz_id": 2, "job_id": world.job.parse::<u64>().unwrap()}),
            "expression_match" => json!({"expression": "a*", "candidates": ["ab"]}),
            "process_status" => {
                json!({"bk_biz_id": 2, "page": 1, "pagesize": 10, "scope": {"bk_set_env": "3"}})
            }
            "flush_process" | "sync_process_status" => json!({"bk_biz_id": 2}),
            "explain_expression" => json!({"business": 2, "expression": "*.*.*.*.*"}),
            "preview_template" => json!({"process": 47, "local_inst_id": 1, "text": "x"}),
            "create_template" | "update_template" => {
                json!({"template_name": "new", "file_name": "f", "abs_path": "/etc"})
            }
            "bind_template" => json!({"processes": [47]}),
            "save_draft" => json!({"content": "x"}),
            "import_topology" => document(),
            "set_groups" => json!({"hosts": ["10.0.0.2"], "process_group": []}),
            "set_agent_id" => json!({"agent_id": "y"}),
            "label_hosts" => json!({"hosts": ["10.0.0.2"], "labels": {"zone": "a"}}),
            "operate_process" => json!({"op": "start", "hosts": ["10.0.0.2"]}),
            "operate_processes" => {
                json!({"operations": [{"process": "gse/proc-test", "op": "start", "hosts": ["10.0.0.2"]}]})
            }
            "register_process" | "update_process" => {
                json!({"hosts": ["10.0.0.2"], "spec": spec()})
            }
            "rollback_process" => json!({"to": 1}),
            "unregister_process" => json!({"hosts": ["10.0.0.2"]}),
            "create_app" => json!({"code": "new"}),
            "create_user" => json!({"name": "new", "password": "long enough"}),
            "grant_to_app" | "grant_to_user" => json!({"role": "viewer"}),
            "upgrade_agents" => json!({"all": true}),
            "create_webhook" => json!({"url": "http://127.0.0.1:9/"}),
            _ => json!({}),
        }
    }
}

/// A server with an object of every kind, and an app for every role.
struct World {
    business: Business,
    task: String,
    job: String,
    template: String,
    version: String,
}

#[derive(Debug)]
struct OperationResponse {
    is_refused: bool,
    text: String,
}

impl World {
    async fn new() -> Self {
        let mut business = Business::new().await;
        // Without agents, live questions are answered at once.
        business.agents.clear();
        let rig = &business.rig;
        rig.esb_ok("register_proc_info", example()).await;
        let mut operate = target();
        operate["op_type"] = json!(1);
        let task = rig.esb_ok("operate_proc", operate).await;
        let body = json!({"business": 2, "action": "start", "expression": "*.paas.*.*.49", "env": "formal"});
        let (_, job) = rig.native("POST", "/jobs", body).await;
        let body = json!({"template_name": "main", "file_name": "f", "abs_path": "/etc"});
        let (_, template) = rig.native("POST", "/businesses/2/templates", body).await;
        let path = format!("/businesses/2/templates/{}/draft", template["id"]);
        let (_, version) = rig
            .native("PUT", &path, json!({"content": "password = hidden"}))
            .await;
        let user = json!({"name": "ada", "password": "correct horse"});
        assert_eq!(rig.native("POST", "/users", user).await.0, 201);
        for (code, grants) in [
            ("nobody", json!([])),
            ("viewer", json!([{"role": "viewer"}])),
            ("operator", json!([{"role": "operator"}])),
            (
                "elsewhere",
                json!([{"role": "operator", "namespaces": ["other"], "businesses": [3]}]),
            ),
            (
                "by_labels",
                json!([{"role": "operator", "label": "no=process"}]),
            ),
        ] {
            let app = json!({"code": code, "secret": SECRET, "trusted": true, "grants": grants});
            assert_eq!(rig.native("POST", "/apps", app).await.0, 201);
        }
        Self {
            task: task["task_id"].as_str().unwrap().to_owned(),
            job: job["id"].to_string(),
            template: template["id"].to_string(),
            version: version["id"].to_string(),
            business,
        }
    }

    async fn call(&self, app: &str, operation: &Operation) -> OperationResponse {
        let headers = [
            ("X-Bkapi-App-Code", app),
            ("X-Bkapi-App-Secret", SECRET),
            ("X-Bkapi-User-Name", "eve"),
        ];
        let body = operation.body(self).to_string();
        let path = operation.path(self);
        let opening = self
            .business
            .rig
            .open(&operation.method, &path, &headers, body.as_bytes());
        let mut stream = opening.await;
        let mut bytes = Vec::new();
        // A stream of events has no end.
        while !contains(&bytes, b"text/event-stream") || !contains(&bytes, b"\n\n") {
            if stream.read_buf(&mut bytes).await.unwrap() == 0 {
                break;
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let is_refused = match operation.is_native() {
            true => text.starts_with("HTTP/1.1 403 "),
            false => text.contains(&format!("\"code\":{APP_NOT_ALLOWED}")),
        };
        OperationResponse { is_refused, text }
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Calls every operation that needs a role; returns the wrong responses.
async fn wrong(
    app: &str,
    is_called: impl Fn(Needs) -> bool,
    is_wrong: impl Fn(&Operation, &OperationResponse) -> bool,
) -> Vec<String> {
    let world = World::new().await;
    let mut operations = Operation::all();
    operations
        .retain(|operation| operation.needs() > Needs::Nothing && is_called(operation.needs()));
    // Deletions last, because other operations need the objects.
    operations.sort_by_key(|operation| operation.method == "DELETE");
    let mut wrong = Vec::new();
    for operation in operations {
        let response = world.call(app, &operation).await;
        if is_wrong(&operation, &response) {
            wrong.push(format!("{operation:?}: {response:?}"));
        }
    }
    wrong
}

#[tokio::test]
async fn an_app_without_a_role_is_refused_everywhere() {
    let is_wrong = |operation: &Operation, response: &OperationResponse| {
        response.is_refused != (operation.needs() > Needs::Credentials)
    };
    let wrong = wrong("nobody", |_| true, is_wrong).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn a_viewer_reads_and_changes_nothing() {
    let is_wrong = |operation: &Operation, response: &OperationResponse| {
        response.is_refused != (operation.needs() > Needs::View)
            || response.text.contains("password = hidden")
    };
    let wrong = wrong("viewer", |_| true, is_wrong).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn an_operator_manages_no_access() {
    let is_wrong = |operation: &Operation, response: &OperationResponse| {
        response.is_refused != (operation.needs() > Needs::Operate)
    };
    let wrong = wrong("operator", |needs| needs > Needs::View, is_wrong).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn an_operator_of_another_namespace_and_business_is_refused() {
    let is_wrong = |operation: &Operation, response: &OperationResponse| {
        // Not refused are lists, which show what the caller may see, and hosts, which all share.
        let of_others = ["proc-test", "GSEKIT_BIZ_2", "nginx", "game", "paas"];
        let leaks = of_others.iter().any(|text| response.text.contains(text));
        !response.is_refused && (operation.needs() > Needs::View || leaks)
    };
    let wrong = wrong("elsewhere", |_| true, is_wrong).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A grant by labels covers processes that pass, and nothing else: what was not written for it refuses it.
#[tokio::test]
async fn an_operator_of_labels_that_no_process_has_is_refused() {
    let is_wrong = |operation: &Operation, response: &OperationResponse| {
        let of_others = ["proc-test", "GSEKIT_BIZ_2", "nginx", "game", "paas"];
        let leaks = of_others.iter().any(|text| response.text.contains(text));
        !response.is_refused && (operation.needs() > Needs::View || leaks)
    };
    let wrong = wrong("by_labels", |_| true, is_wrong).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn roles_are_granted_listed_and_revoked() {
    let world = World::new().await;
    let rig = &world.business.rig;
    let body = json!({"role": "operator", "namespaces": ["gse", "gse"], "businesses": [2]});
    let (status, answer) = rig.native("POST", "/users/ada/grants", body).await;
    assert_eq!(status, 201, "{answer}");
    let everything = json!({"role": "viewer", "everything": true, "namespaces": [], "businesses": [], "label": null});
    let some = json!({"role": "operator", "everything": false, "namespaces": ["gse"], "businesses": [2],
        "label": null});
    assert_eq!(answer["grants"], json!([everything, some]));
    let (_, list) = rig.native("GET", "/users", Value::Null).await;
    assert_eq!(list["users"][0]["grants"], answer["grants"]);
    let body = json!({"role": "operator", "businesses": [2]});
    let (status, answer) = rig
        .native("DELETE", "/users/ada/grants", body.clone())
        .await;
    assert_eq!(
        (status, &answer["grants"][1]["businesses"]),
        (200, &json!([]))
    );
    let (status, _) = rig.native("DELETE", "/users/ada/grants", body).await;
    assert_eq!(status, 404);
    let (status, answer) = rig.native("DELETE", "/users/ada/grants", json!({})).await;
    assert_eq!((status, &answer["grants"]), (200, &json!([])));
    for (body, field) in [
        (json!({}), "role"),
        (json!({"role": "root"}), "role"),
        (json!({"role": "admin", "businesses": [2]}), "role"),
        (
            json!({"role": "viewer", "namespaces": ["a:b"]}),
            "namespaces[0]",
        ),
        (
            json!({"role": "viewer", "businesses": [-1]}),
            "businesses[0]",
        ),
        (json!({"role": "viewer", "label": "a in b"}), "label"),
        (json!({"role": "viewer", "label": ""}), "label"),
        (
            json!({"role": "viewer", "label": "env!=prod,!old"}),
            "label",
        ),
        (json!({"role": "admin", "label": "env=prod"}), "role"),
    ] {
        let (status, answer) = rig.native("POST", "/users/ada/grants", body.clone()).await;
        assert_eq!(
            (status, &answer["error"]["field"]),
            (400, &json!(field)),
            "{body}"
        );
    }
    let (status, _) = rig
        .native("POST", "/apps/none/grants", json!({"role": "viewer"}))
        .await;
    assert_eq!(status, 404);
    let (_, trail) = rig
        .native("GET", "/audit?action=user.grants", Value::Null)
        .await;
    let details: Vec<&str> = trail["audit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["detail"].as_str().unwrap())
        .collect();
    assert_eq!(
        details,
        [
            "nothing",
            "viewer of everything; operator of namespace gse",
            "viewer of everything; operator of namespace gse, business 2"
        ]
    );
}

#[tokio::test]
async fn refusals_are_audited_and_the_audit_trail_is_exported() {
    let world = World::new().await;
    let rig = &world.business.rig;
    let operations = Operation::all();
    let create = operations.iter().find(|o| o.id == "create_app").unwrap();
    assert!(world.call("viewer", create).await.is_refused);
    let refused = loop {
        let (status, trail) = rig
            .native("GET", "/audit?action=refused&app=viewer", Value::Null)
            .await;
        assert_eq!(status, 200);
        if let Some(line) = trail["audit"].get(0) {
            break line.clone();
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(
        (&refused["user"], &refused["from"]),
        (&json!("eve"), &json!("127.0.0.1"))
    );
    let export = |query: &str| {
        let path = format!("/api/v1/audit/export?{query}");
        async move { rig.send("GET", &path, &HEADERS, b"").await }
    };
    let lines = export("action=app.create&since=1h").await;
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
    let text = String::from_utf8(lines.body).unwrap();
    let objects: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["object"].clone())
        .collect();
    assert_eq!(
        objects,
        ["by_labels", "elsewhere", "operator", "viewer", "nobody"]
    );
    let csv = export("action=app.create&object=else&format=csv").await;
    let text = String::from_utf8(csv.body).unwrap();
    let mut rows = text.split("\r\n");
    assert_eq!(
        rows.next().unwrap(),
        "id,at,app,user,from,request_id,action,object,detail"
    );
    let row = rows.next().unwrap();
    assert!(
        row.contains(
            ",app.create,elsewhere,\"operator of namespace other, business 3; may name its users\""
        ),
        "{row}"
    );
    assert_eq!(export("format=xml").await.status, 400);
    let nothing = export("until=1000").await;
    assert_eq!((nothing.status, nothing.body.len()), (200, 0));
    // Compression polls the body once more after its end.
    let packed = [&HEADERS[..], &[("accept-encoding", "gzip")]].concat();
    let packed = rig.send("GET", "/api/v1/audit/export", &packed, b"").await;
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() > 20, "{} bytes", packed.body.len());
}
