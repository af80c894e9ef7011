//! The OpenAPI document: committed as a file, complete, and served with a page to browse it.

mod examples;
mod schema;

use std::path::PathBuf;

use serde_json::Value;

use crate::rig::Rig;

/// Rewrite it with `UPDATE_OPENAPI=1 cargo nextest run -p server openapi`.
#[test]
fn the_document_in_docs_is_the_generated_one() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let generated = server::http::openapi_json();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == generated,
        "docs/openapi.json is not what the code says: run with UPDATE_OPENAPI=1 and look at the difference"
    );
}

#[test]
fn references_resolve_and_every_operation_documents_its_errors() {
    let document: Value = serde_json::from_str(&server::http::openapi_json()).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 100);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(
            document.pointer(pointer).is_some(),
            "{reference} leads nowhere"
        );
    }
    let mut ids = std::collections::BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap();
            assert!(
                responses.keys().any(|status| status.starts_with('2')),
                "{method} {path}"
            );
            let is_native = path.starts_with("/api/v1");
            for status in ["400", "401", "403", "413", "429", "503"] {
                assert!(
                    !is_native || responses.contains_key(status),
                    "{method} {path} {status}"
                );
            }
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "operationId {id} is there twice");
        }
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                references.push(reference.clone());
            }
            map.values().for_each(|value| collect(value, references));
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, references)),
        _ => {}
    }
}

#[tokio::test]
async fn every_documented_path_is_routed() {
    let rig = Rig::new().await;
    let document = rig.send("GET", "/openapi.json", &[], b"").await.json();
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path.replace(['{', '}'], "");
        for method in item.as_object().unwrap().keys() {
            let answer = rig.send(&method.to_uppercase(), &path, &[], b"{}").await;
            assert!(answer.status != 405, "{method} {path}");
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(
                !text.contains("there is no API at"),
                "{method} {path}: {text}"
            );
        }
    }
}

#[tokio::test]
async fn the_page_works_offline() {
    let rig = Rig::new().await;
    let page = rig.send("GET", "/docs/", &[], b"").await;
    assert_eq!(page.status, 200);
    let text = String::from_utf8(page.body).unwrap();
    assert!(
        !text.contains("https://"),
        "the page loads something from elsewhere: {text}"
    );
}

/// With one, the thing that the parameters name could not be reached under that name (docs/decisions/0016).
#[test]
fn no_path_hides_what_a_path_with_parameters_names() {
    let document: Value = serde_json::from_str(&server::http::openapi_json()).unwrap();
    let paths: Vec<Vec<&str>> = document["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(|path| path.split('/').collect())
        .collect();
    let hides = |path: &[&str], other: &[&str]| {
        let pairs = path.iter().zip(other);
        let matches = |(one, other): (&&str, &&str)| one == other || other.starts_with('{');
        path != other && path.len() == other.len() && pairs.clone().all(matches)
    };
    for path in &paths {
        for other in &paths {
            assert!(
                !hides(path, other),
                "{} hides {}",
                path.join("/"),
                other.join("/")
            );
        }
    }
}
