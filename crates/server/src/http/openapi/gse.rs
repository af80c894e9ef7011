//! Generates the part of the GSE dialects from their table of endpoints.

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use crate::http::gse::{Dialect, Endpoint, Keys, Verb, all};
use api::schemas::SCHEMAS;

pub(super) fn document() -> OpenApi {
    let mut paths = Map::new();
    for endpoint in all() {
        let path = paths
            .entry(endpoint.path.clone())
            .or_insert_with(|| json!({}));
        path[endpoint.method.as_str().to_lowercase()] = operation(endpoint);
    }
    let mut schemas = SCHEMAS.clone();
    for endpoint in all() {
        let data = texts(endpoint.verb).data;
        schemas.insert(format!("{data}Answer"), answer(data));
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {"title": "", "version": ""},
        "paths": paths,
        "components": {"schemas": schemas},
    });
    serde_json::from_value(document)
        .expect("schemas.json and the table make a document: a test reads it")
}

fn operation(endpoint: &Endpoint) -> Value {
    let texts = texts(endpoint.verb);
    let keys = match (endpoint.verb, endpoint.keys()) {
        (Verb::SetGroups, Keys::V1) => " Keys are `cloud:supplier:ip:namespace`.",
        (_, Keys::V1) => " Keys are `cloud:supplier:ip:namespace:name`.",
        (_, Keys::V2) => {
            " Keys are `cloud:ip:namespace:name`, or `agent_id:namespace:name` for `agent_id_list`."
        }
    };
    let keys = match texts.has_keys {
        true => keys,
        false => "",
    };
    // Names are unique per path, and paths differ by prefix.
    let prefix = match (endpoint.dialect, endpoint.path.starts_with("/v2/")) {
        (Dialect::Esb, true) => "esb_short",
        (dialect, _) => dialect.as_str(),
    };
    json!({
        "tags": [endpoint.dialect.as_str()],
        "summary": texts.summary,
        "description": format!("`{}`.{keys} Always HTTP 200: `code` says how it went.", endpoint.name),
        "operationId": format!("{prefix}_{}", endpoint.name),
        "requestBody": {
            "required": true,
            "content": {"application/json": {"schema": {"allOf": [
                {"$ref": "#/components/schemas/Credentials"},
                {"$ref": format!("#/components/schemas/{}", texts.request)},
            ]}}},
        },
        "responses": {"200": {
            "description": "Done, or refused: `result` is false, `code` not 0, `message` says why, and `data` is null",
            "content": {"application/json": {"schema": {"$ref": format!("#/components/schemas/{}Answer", texts.data)}}},
        }},
    })
}

/// The envelope around data, or a refusal.
pub(super) fn answer(data: &str) -> Value {
    let success = json!({
        "type": "object",
        "required": ["result", "code", "message", "data"],
        "properties": {
            "result": {"type": "boolean", "enum": [true]},
            "code": {"type": "integer", "enum": [0]},
            "message": {"type": "string"},
            "data": {"$ref": format!("#/components/schemas/{data}")},
        },
    });
    json!({"oneOf": [success, {"$ref": "#/components/schemas/EnvelopeError"}]})
}

/// The summary of a verb, and the schemas of its body and of `data`.
struct Texts {
    summary: &'static str,
    request: &'static str,
    data: &'static str,
    has_keys: bool,
}

fn texts(verb: Verb) -> Texts {
    let texts = |summary, request, data, has_keys| Texts {
        summary,
        request,
        data,
        has_keys,
    };
    match verb {
        Verb::Register => texts(
            "Registers a process on hosts",
            "RegisterRequest",
            "KeyResults",
            true,
        ),
        Verb::Update => texts(
            "Registers a process, or replaces its spec",
            "RegisterRequest",
            "KeyResults",
            true,
        ),
        Verb::Unregister => texts(
            "Forgets a process; it goes on running",
            "ProcessRequest",
            "KeyResults",
            true,
        ),
        Verb::Operate => texts(
            "Operates on a process",
            "OperateRequest",
            "TaskAccepted",
            true,
        ),
        Verb::OperateMulti => texts(
            "Operates on several processes in one task",
            "OperateMultiRequest",
            "TaskAccepted",
            true,
        ),
        Verb::Result => texts(
            "Every key of a task, with its result",
            "TaskRequest",
            "KeyResults",
            false,
        ),
        Verb::Status => texts(
            "The status of a process on hosts",
            "ProcessRequest",
            "ProcInfos",
            false,
        ),
        Verb::Sync => texts(
            "Every process of a namespace, by pages",
            "SyncRequest",
            "SyncedProcInfos",
            false,
        ),
        Verb::SetGroups => texts(
            "Sets the process groups of a namespace on hosts",
            "SetGroupsRequest",
            "KeyResults",
            true,
        ),
        Verb::Groups => texts(
            "The process groups of a namespace on hosts",
            "GroupsRequest",
            "GroupInfos",
            false,
        ),
        Verb::TaskState => texts(
            "A task in short, its agents and its keys",
            "TaskRequest",
            "TaskState",
            false,
        ),
        Verb::UpgradeToAgentId => texts(
            "Gives hosts their agent ids",
            "UpgradeRequest",
            "Upgraded",
            false,
        ),
        Verb::AgentStatus => texts(
            "Whether agents live, by cloud:ip",
            "AgentsRequest",
            "AgentStatuses",
            false,
        ),
        Verb::AgentInfo => texts(
            "What agents are, by cloud:ip",
            "AgentsRequest",
            "AgentInfos",
            false,
        ),
        Verb::ListAgentState => texts(
            "Whether agents live, as a list",
            "AgentsRequest",
            "AgentStates",
            false,
        ),
        Verb::ListAgentInfo => texts(
            "What agents are, as a list",
            "AgentsRequest",
            "AgentDetails",
            false,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_of_the_table_is_documented() {
        let document = document();
        for endpoint in all() {
            let item = document.paths.paths.get(&endpoint.path).unwrap();
            let method = match endpoint.method.as_str() {
                "GET" => &item.get,
                "POST" => &item.post,
                "PUT" => &item.put,
                _ => &item.delete,
            };
            assert!(method.is_some(), "{} {}", endpoint.method, endpoint.path);
        }
    }

    #[test]
    fn every_schema_that_is_named_exists() {
        for endpoint in all() {
            let texts = texts(endpoint.verb);
            assert!(SCHEMAS.contains_key(texts.request), "{}", texts.request);
            assert!(SCHEMAS.contains_key(texts.data), "{}", texts.data);
        }
    }
}
