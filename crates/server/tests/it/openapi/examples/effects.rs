//! What each example must change, or show in its response.

use serde_json::{Value, json};

/// An operation, the path that shows its effect ("" for its own response), and part of what is to be seen there.
pub(super) type Effect = (&'static str, &'static str, Value);

/// Of 10.0.0.1, in the examples.
const AGENT_ID: &str = "0100005254008ed86116666614661851";
const NGINX: &str = "/processes/web/nginx";
const WORKER: &str = "/processes/web/worker";
const GROUPS: &str = "/groups/web?host=10.0.0.1";
const TEMPLATE: &str = "/businesses/2/templates/1";

pub(super) fn native_effects() -> Vec<Effect> {
    let everywhere_running = json!({"processes": [{"flag": "running"}, {"flag": "running"}]});
    let deploy = |grants: Value| json!({"code": "deploy", "rate_limit": 50, "grants": grants});
    let bob = |grants: Value| json!({"name": "bob", "grants": grants});
    let operator = json!({"role": "operator", "namespaces": ["web"]});
    let viewer = json!({"role": "viewer"});
    vec![
        ("create_app", "/apps", deploy(json!([operator]))),
        ("grant_to_app", "/apps", deploy(json!([operator, viewer]))),
        ("revoke_from_app", "/apps", deploy(json!([operator]))),
        ("create_user", "/users", bob(json!([viewer]))),
        ("grant_to_user", "/users", bob(json!([viewer, operator]))),
        ("revoke_from_user", "/users", bob(json!([operator]))),
        ("login", "/audit", json!({"action": "login", "user": "bob"})),
        (
            "change_password",
            "/audit",
            json!({"action": "user.password", "user": "bob"}),
        ),
        (
            "create_login_code",
            "/audit",
            json!({"action": "login_code.create", "object": "bob"}),
        ),
        (
            "create_token",
            "/tokens",
            json!({"host": "0:10.0.0.3", "uses_left": 1}),
        ),
        (
            "create_webhook",
            "/webhooks",
            json!({"kinds": ["process_exit"], "namespaces": ["web"]}),
        ),
        (
            "register_process",
            NGINX,
            json!({"hosts": 2, "labels": {"tier": "front"}}),
        ),
        (
            "update_process",
            NGINX,
            json!({"hosts": 2, "spec": {"runtime": {"nofile": 65536}}}),
        ),
        ("operate_process", NGINX, everywhere_running),
        (
            "operate_processes",
            WORKER,
            json!({"count": 1, "processes": [{"flag": "running"}]}),
        ),
        (
            "set_groups",
            GROUPS,
            json!({"process_group": [{"id": "front"}]}),
        ),
        (
            "set_agent_id",
            "/hosts",
            json!({"host": "0:10.0.0.1", "agent_id": AGENT_ID}),
        ),
        (
            "import_topology",
            "/businesses",
            json!({"id": 2, "name": "shop", "processes": 2}),
        ),
        ("explain_expression", "", json!({"count": 2})),
        (
            "create_template",
            TEMPLATE,
            json!({"file_name": "cart.conf", "draft": null}),
        ),
        (
            "update_template",
            TEMPLATE,
            json!({"file_name": "cart_${local_inst_id}.conf"}),
        ),
        ("save_draft", TEMPLATE, json!({"draft": 1})),
        (
            "bind_template",
            TEMPLATE,
            json!({"processes": [], "process_templates": [7]}),
        ),
        (
            "preview_template",
            "",
            json!({"content": "name = cart_2\nport = 8002\n"}),
        ),
        (
            "upgrade_agents",
            "",
            json!({"job": null, "version": "0.2.0", "left_out": [{"reason": "not_replaceable", "count": 2}]}),
        ),
        (
            "create_job",
            "/jobs/1",
            json!({"action": "restart", "status": "failed"}),
        ),
        (
            "retry_job",
            "/jobs/1",
            json!({"counts": {"total": 4, "succeeded": 2}}),
        ),
        ("retry_task", "", json!({"targets": 1})),
        (
            "retry_task",
            "/tasks?op=stop&process=web/nginx",
            json!({"targets": 1, "ok": 1, "user": "alice"}),
        ),
        (
            "rollback_process",
            "/processes/web/nginx/versions",
            json!({"number": 3, "source": "rollback", "restores": 1, "hosts": 1}),
        ),
        ("unregister_process", NGINX, json!({"count": 1})),
        (
            "label_hosts",
            "/hosts",
            json!({"host": "0:10.0.0.1", "labels": {"zone": "a"}}),
        ),
        (
            "remove_hosts",
            "/audit",
            json!({"action": "host.remove", "object": "0:10.0.0.2"}),
        ),
    ]
}

/// By the names of ESB.
pub(super) fn dialect_effects() -> Vec<Effect> {
    let running = json!({"processes": [{"flag": "running"}, {"flag": "running"}]});
    let health = json!({"health_cmd": "curl -fsS http://127.0.0.1/healthz"});
    let rows = json!({"proc_infos": [{"flag": 1}, {"flag": 1}]});
    vec![
        (
            "upgrade_to_agent_id",
            "/hosts",
            json!({"host": "0:10.0.0.1", "agent_id": AGENT_ID}),
        ),
        (
            "register_proc_info",
            NGINX,
            json!({"hosts": 2, "labels": {"tier": "front"}}),
        ),
        (
            "update_proc_info",
            NGINX,
            json!({"hosts": 2, "spec": {"control": health}}),
        ),
        ("operate_proc", NGINX, running.clone()),
        (
            "get_proc_operate_result",
            "",
            json!({"0:0:10.0.0.1:web:nginx": {"error_code": 0}}),
        ),
        ("get_proc_status", "", rows.clone()),
        ("operate_proc_v2", NGINX, running),
        (
            "get_proc_operate_result_v2",
            "",
            json!({"0:10.0.0.2:web:nginx": {"error_code": 0}}),
        ),
        ("get_proc_status_v2", "", rows),
        (
            "operate_proc_multi",
            WORKER,
            json!({"count": 1, "processes": [{"flag": "running"}]}),
        ),
        (
            "get_task_state",
            "",
            json!({"state": "finished", "total": 2, "ok": 2}),
        ),
        ("sync_proc_status", "", json!({"count": 3})),
        (
            "set_process_group_info",
            GROUPS,
            json!({"process_group": [{"id": "front"}]}),
        ),
        ("get_process_group_info", "", json!({"id": "front"})),
        (
            "get_agent_status",
            "",
            json!({"0:10.0.0.2": {"bk_agent_alive": 1}}),
        ),
        (
            "get_agent_info",
            "",
            json!({"0:10.0.0.2": {"version": "1.2.3"}}),
        ),
        (
            "list_agent_state",
            "",
            json!({"bk_agent_id": AGENT_ID, "status_code": 2}),
        ),
        (
            "list_agent_info",
            "",
            json!({"bk_agent_id": AGENT_ID, "hostname": "box"}),
        ),
        ("unregister_proc_info", NGINX, json!({"count": 1})),
        (
            "flush_process",
            "/businesses",
            json!({"id": 2, "processes": 2}),
        ),
        ("sync_process_status", "", json!({"data": {}})),
        ("process_status", "", json!({"count": 2})),
        (
            "expression_match",
            "",
            json!({"filter_results": ["cart_1"]}),
        ),
        (
            "create_job",
            "/jobs/1",
            json!({"action": "restart", "status": "succeeded"}),
        ),
        (
            "job_status",
            "",
            json!({"job_info": {"id": 1, "status": "succeeded"}}),
        ),
    ]
}

/// Whether a part of the value has at least these fields. Lists must be as long and in the same order.
pub(super) fn contains(value: &Value, expected: &Value) -> bool {
    has_fields(value, expected)
        || match value {
            Value::Object(fields) => fields.values().any(|field| contains(field, expected)),
            Value::Array(items) => items.iter().any(|item| contains(item, expected)),
            _ => false,
        }
}

fn has_fields(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Object(fields), Value::Object(expected)) => {
            expected.iter().all(|(name, expected)| {
                fields
                    .get(name)
                    .is_some_and(|field| has_fields(field, expected))
            })
        }
        (Value::Array(items), Value::Array(expected)) => {
            items.len() == expected.len()
                && items
                    .iter()
                    .zip(expected)
                    .all(|(item, expected)| has_fields(item, expected))
        }
        _ => value == expected,
    }
}
