//! The GSE dialects' part of the document, made from their table of endpoints.

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use super::schemas::SCHEMAS;
use crate::http::gse::{Dialect, Endpoint, Keys, Verb, all};

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
        let data = words(endpoint.verb).data;
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
    let words = words(endpoint.verb);
    let keys = match (endpoint.verb, endpoint.keys()) {
        (Verb::SetGroups, Keys::V1) => " Keys are `cloud:supplier:ip:namespace`.",
        (_, Keys::V1) => " Keys are `cloud:supplier:ip:namespace:name`.",
        (_, Keys::V2) => {
            " Keys are `cloud:ip:namespace:name`, or `agent_id:namespace:name` for `agent_id_list`."
        }
    };
    let keys = match words.has_keys {
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
        "summary": words.summary,
        "description": format!("`{}`.{keys} Always HTTP 200: `code` says how it went.", endpoint.name),
        "operationId": format!("{prefix}_{}", endpoint.name),
        "requestBody": {
            "required": true,
            "content": {"application/json": {"schema": {"allOf": [
                {"$ref": "#/components/schemas/Credentials"},
                {"$ref": format!("#/components/schemas/{}", words.request)},
            ]}}},
        },
        "responses": {"200": {
            "description": "Done, or refused: `result` is false, `code` not 0, `message` says why, and `data` is null",
            "content": {"application/json": {"schema": {"$ref": format!("#/components/schemas/{}Answer", words.data)}}},
        }},
    })
}

/// The envelope around good data, or around a refusal.
pub(super) fn answer(data: &str) -> Value {
    let good = json!({
        "type": "object",
        "required": ["result", "code", "message", "data"],
        "properties": {
            "result": {"type": "boolean", "enum": [true]},
            "code": {"type": "integer", "enum": [0]},
            "message": {"type": "string"},
            "data": {"$ref": format!("#/components/schemas/{data}")},
        },
    });
    json!({"oneOf": [good, {"$ref": "#/components/schemas/EnvelopeError"}]})
}

/// What the document says of a verb: its summary, and the schemas of its body and of `data`.
struct Words {
    summary: &'static str,
    request: &'static str,
    data: &'static str,
    has_keys: bool,
}

fn words(verb: Verb) -> Words {
    let words = |summary, request, data, has_keys| Words {
        summary,
        request,
        data,
        has_keys,
    };
    match verb {
        Verb::Register => words(
            "Registers a process on hosts",
            "RegisterRequest",
            "KeyResults",
            true,
        ),
        Verb::Update => words(
            "Registers a process, or replaces its spec",
            "RegisterRequest",
            "KeyResults",
            true,
        ),
        Verb::Unregister => words(
            "Forgets a process; it goes on running",
            "ProcessRequest",
            "KeyResults",
            true,
        ),
        Verb::Operate => words(
            "Operates on a process",
            "OperateRequest",
            "TaskAccepted",
            true,
        ),
        Verb::OperateMulti => words(
            "Operates on several processes in one task",
            "OperateMultiRequest",
            "TaskAccepted",
            true,
        ),
        Verb::Result => words(
            "Every key of a task, with its result",
            "TaskRequest",
            "KeyResults",
            false,
        ),
        Verb::Status => words(
            "The status of a process on hosts",
            "ProcessRequest",
            "ProcInfos",
            false,
        ),
        Verb::Sync => words(
            "Every process of a namespace, by pages",
            "SyncRequest",
            "SyncedProcInfos",
            false,
        ),
        Verb::SetGroups => words(
            "Sets the process groups of a namespace on hosts",
            "SetGroupsRequest",
            "KeyResults",
            true,
        ),
        Verb::Groups => words(
            "The process groups of a namespace on hosts",
            "GroupsRequest",
            "GroupInfos",
            false,
        ),
        Verb::TaskState => words(
            "A task in short, its agents and its keys",
            "TaskRequest",
            "TaskState",
            false,
        ),
        Verb::UpgradeToAgentId => words(
            "Gives hosts their agent ids",
            "UpgradeRequest",
            "Upgraded",
            false,
        ),
        Verb::AgentStatus => words(
            "Whether agents live, by cloud:ip",
            "AgentsRequest",
            "AgentStatuses",
            false,
        ),
        Verb::AgentInfo => words(
            "What agents are, by cloud:ip",
            "AgentsRequest",
            "AgentInfos",
            false,
        ),
        Verb::ListAgentState => words(
            "Whether agents live, as a list",
            "AgentsRequest",
            "AgentStates",
            false,
        ),
        Verb::ListAgentInfo => words(
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
            let words = words(endpoint.verb);
            assert!(SCHEMAS.contains_key(words.request), "{}", words.request);
            assert!(SCHEMAS.contains_key(words.data), "{}", words.data);
        }
    }
}
