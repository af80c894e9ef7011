//! Generates the part of the GSEKit dialect from its table of endpoints.

use axum::http::Method;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use super::gse::answer;
use crate::http::gsekit::{Endpoint, Verb, all};

pub(super) fn document() -> OpenApi {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for endpoint in all() {
        let method = endpoint.method.as_str().to_lowercase();
        let mut item = Map::new();
        item.insert(method, operation(endpoint));
        paths.insert(endpoint.path.clone(), item.into());
        let data = texts(endpoint.verb).data;
        schemas.insert(format!("{data}Answer"), answer(data));
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {"title": "", "version": ""},
        "paths": paths,
        "components": {"schemas": schemas},
    });
    serde_json::from_value(document).expect("the table makes a document: a test reads it")
}

fn operation(endpoint: &Endpoint) -> Value {
    let texts = texts(endpoint.verb);
    // Names are unique per path, and paths differ by prefix.
    let prefix = match endpoint.path.starts_with("/v2/") {
        true => "gsekit_short",
        false => "gsekit",
    };
    let mut operation = json!({
        "tags": ["gsekit"],
        "summary": texts.summary,
        "description": format!("`{}`. Always HTTP 200: `code` says how it went.", endpoint.name),
        "operationId": format!("{prefix}_{}", endpoint.name),
        "responses": {"200": {
            "description": "Done, or refused: `result` is false, `code` not 0, `message` says why, and `data` is null",
            "content": {"application/json": {"schema": {"$ref": format!("#/components/schemas/{}Answer", texts.data)}}},
        }},
    });
    match endpoint.method == Method::GET {
        true => operation["parameters"] = parameters(endpoint.verb),
        false => {
            operation["requestBody"] = json!({
                "required": true,
                "content": {"application/json": {"schema": {"allOf": [
                    {"$ref": "#/components/schemas/Credentials"},
                    {"$ref": format!("#/components/schemas/{}", texts.request)},
                ]}}},
            });
        }
    }
    operation
}

/// The query of a GET; a JSON body with the same fields is accepted, too.
fn parameters(verb: Verb) -> Value {
    let parameter = |name: &str, kind: &str, required: bool, description: &str| {
        json!({"name": name, "in": "query", "required": required, "description": description,
            "schema": {"type": kind}})
    };
    let is_list = verb == Verb::ConfigTemplateList;
    let mut all = vec![parameter("bk_biz_id", "integer", is_list, "The business")];
    if is_list {
        all.push(parameter("page", "integer", false, "From 1"));
        all.push(parameter(
            "pagesize",
            "integer",
            false,
            "At most 1000; 10 if not given",
        ));
        all.push(parameter(
            "search",
            "string",
            false,
            "Part of the template's name or of its file's",
        ));
    }
    all.into()
}

struct Texts {
    summary: &'static str,
    request: &'static str,
    data: &'static str,
}

fn texts(verb: Verb) -> Texts {
    let texts = |summary, request, data| Texts {
        summary,
        request,
        data,
    };
    match verb {
        Verb::ProcessStatus => texts(
            "Processes of a business, filtered, by pages",
            "ProcessStatusRequest",
            "GsekitProcesses",
        ),
        Verb::FlushProcess => texts(
            "Reads a business anew from its source",
            "BusinessRequest",
            "Nothing",
        ),
        Verb::SyncProcessStatus => texts(
            "Statuses are live: answers how long it took to be sure of that",
            "BusinessRequest",
            "CostTime",
        ),
        Verb::CreateJob => texts(
            "One action on every instance of a scope",
            "CreateJobRequest",
            "GsekitJobCreated",
        ),
        Verb::JobStatus => texts("A job and its tasks", "JobStatusRequest", "GsekitJobStatus"),
        Verb::ConfigTemplateList => texts(
            "Config templates of a business, the newest first",
            "BusinessRequest",
            "GsekitTemplates",
        ),
        Verb::AccessOverview => texts(
            "What there is of a business, or of all",
            "BusinessRequest",
            "AccessOverview",
        ),
        Verb::ExpressionMatch => texts(
            "Which of some names an expression matches",
            "ExpressionMatchRequest",
            "ExpressionMatched",
        ),
    }
}

#[cfg(test)]
mod tests {
    use api::schemas::SCHEMAS;

    use super::*;

    #[test]
    fn every_endpoint_is_documented_and_every_schema_exists() {
        let document = document();
        for endpoint in all() {
            let item = document.paths.paths.get(&endpoint.path).unwrap();
            assert!(item.get.is_some() || item.post.is_some());
            let texts = texts(endpoint.verb);
            assert!(SCHEMAS.contains_key(texts.request), "{}", texts.request);
            assert!(SCHEMAS.contains_key(texts.data), "{}", texts.data);
        }
    }
}
