//! Random bodies for every operation of the OpenAPI document: every response is a documented one, and the server survives.

use std::collections::BTreeSet;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::rig::{APP, Rig, SECRET};

/// How many requests are made.
const REQUESTS: u32 = 1500;

/// Streams, operations that call other servers, and those about the server itself.
const LEFT_OUT: [&str; 6] = [
    "/api/v1/watch",
    "/api/v1/webhooks",
    "/logs",
    "/healthz",
    "/readyz",
    "/metrics",
];

#[derive(Debug, Clone)]
struct Operation {
    method: String,
    path: String,
    /// The documented statuses.
    statuses: Vec<u16>,
}

fn operations(document: &Value) -> Vec<Operation> {
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let statuses = operation["responses"].as_object().unwrap().keys();
            all.push(Operation {
                method: method.to_uppercase(),
                path: path.clone(),
                statuses: statuses.map(|status| status.parse().unwrap()).collect(),
            });
        }
    }
    all.retain(|operation| !LEFT_OUT.iter().any(|part| operation.path.contains(part)));
    all
}

/// Collects every field name of the document.
fn fields(value: &Value, found: &mut BTreeSet<String>) {
    if let Some(properties) = value.get("properties").and_then(Value::as_object) {
        found.extend(properties.keys().cloned());
    }
    match value {
        Value::Object(object) => object.values().for_each(|value| fields(value, found)),
        Value::Array(list) => list.iter().for_each(|value| fields(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// JSON with these fields.
fn body(names: Vec<String>) -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-3_i64..100).prop_map(Value::from),
        select(vec![
            "",
            "0",
            "1",
            "10.0.0.1",
            "0:10.0.0.1",
            "gse",
            "start",
            "/a",
            "GSETASK:0000000000000001",
            "[1",
            "*.*"
        ])
        .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[\\[\\]*.,:0-9a-z!-]{0,20}".prop_map(Value::from),
    ];
    let value = scalar.prop_recursive(4, 40, 6, move |inner| {
        let key = prop_oneof![9 => select(names.clone()), 1 => any::<String>()];
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(key, inner, 0..8).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    // Most bodies are objects.
    prop_oneof![1 => value.clone(), 9 => value.prop_filter("an object", Value::is_object)]
}

/// Damage to the text of a body.
#[derive(Debug, Clone)]
enum Damage {
    Cut(Index),
    Flip(Index, u8),
    Repeat(Index, Index, usize),
}

impl Damage {
    fn of(&self, bytes: &mut Vec<u8>) {
        let position = |index: &Index, bytes: &[u8]| index.index(bytes.len() + 1);
        match self {
            Self::Cut(at) => bytes.truncate(position(at, bytes)),
            Self::Flip(at, bits) => {
                let at = position(at, bytes);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bits;
                }
            }
            Self::Repeat(from, to, times) => {
                let (from, to) = (position(from, bytes), position(to, bytes));
                let part = bytes[from.min(to)..from.max(to)].repeat(*times);
                bytes.splice(to..to, part);
            }
        }
    }
}

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let at = any::<Index>;
    let damage = prop_oneof![
        at().prop_map(Damage::Cut),
        (at(), 1_u8..).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        (at(), at(), 1_usize..4).prop_map(|(from, to, n)| Damage::Repeat(from, to, n)),
    ];
    prop_oneof![2 => Just(Vec::new()), 1 => vec(damage, 1..4)]
}

fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "1",
            "2",
            "gse",
            "10.0.0.1",
            "0:10.0.0.1",
            "-1",
            "99999999999999999999",
            "%00",
            "%FF",
            "a%2Fb"
        ])
        .prop_map(str::to_owned),
        "[a-z0-9:._-]{1,12}",
    ]
}

/// The path with a segment for each parameter.
fn filled(path: &str, segments: &[String]) -> String {
    let mut segments = segments.iter().cycle();
    let part = |part: &str| match part.starts_with('{') {
        true => segments.next().cloned().unwrap_or_default(),
        false => part.to_owned(),
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

fn check(operation: &Operation, status: u16, body: &[u8]) -> Result<(), String> {
    let is_native = operation.path.starts_with("/api/v1/");
    if !operation.statuses.contains(&status) || status == 500 {
        return Err(format!("status {status}"));
    }
    if is_native && status < 400 {
        return Ok(());
    }
    let answer: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let is_documented = match is_native {
        true => answer["error"]["code"].is_string() && answer["error"]["message"].is_string(),
        false => {
            let (result, code) = (answer["result"].as_bool(), answer["code"].as_i64());
            result == Some(code == Some(0)) && code.is_some_and(|code| code != 1_000_500)
        }
    };
    is_documented
        .then_some(())
        .ok_or_else(|| answer.to_string())
}

#[test]
fn every_body_gets_a_documented_response() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let rig = runtime.block_on(Rig::new());
    let document: Value = serde_json::from_str(&server::http::openapi_json()).unwrap();
    let mut names = BTreeSet::new();
    fields(&document, &mut names);
    assert!(names.len() > 100);
    let credentials = json!({"bk_app_code": APP, "bk_app_secret": SECRET, "bk_username": "u"});
    let credentials = credentials.to_string();
    for name in ["bk_app_code", "bk_app_secret", "bk_token", "bk_username"] {
        names.remove(name);
    }
    let case = (
        select(operations(&document)),
        body(names.into_iter().collect()),
        vec(segment(), 4),
        damages(),
    );
    let mut runner = TestRunner::new(ProptestConfig {
        cases: REQUESTS,
        failure_persistence: None,
        max_global_rejects: 1_000_000,
        max_local_rejects: 1_000_000,
        ..ProptestConfig::default()
    });
    let tested = runner.run(&case, |(operation, body, segments, damages)| {
        let mut bytes = body.to_string().into_bytes();
        damages.iter().for_each(|damage| damage.of(&mut bytes));
        let path = filled(&operation.path, &segments);
        let headers = [("x-bkapi-authorization", credentials.as_str())];
        let answer = runtime.block_on(rig.send(&operation.method, &path, &headers, &bytes));
        check(&operation, answer.status, &answer.body).map_err(|why| {
            let sent = String::from_utf8_lossy(&bytes);
            TestCaseError::fail(format!("{} {path} with {sent}: {why}", operation.method))
        })
    });
    tested.unwrap_or_else(|error| panic!("{error}"));
    let healthy = runtime.block_on(rig.send("GET", "/healthz", &[], b""));
    assert_eq!(healthy.status, 200);
}
