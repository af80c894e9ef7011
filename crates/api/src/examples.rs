//! An example of every request body in the OpenAPI document, written by hand in `examples.json`.
//!
//! The order of the file counts: each example works on a server that has got those before it, with agents on 10.0.0.1 and
//! 10.0.0.2. A test of the server sends them all. The GSE and GSEKit dialects share the bodies that mean the same in them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

/// A request body, and where it is sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// The `operationId`s that take this body.
    pub operations: Vec<String>,
    /// Path parameters by their names.
    #[serde(default)]
    pub path: BTreeMap<String, Value>,
    pub body: Value,
}

/// In the order of the file.
pub static EXAMPLES: LazyLock<Vec<Example>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("examples.json"))
        .expect("examples.json is a list of examples: a test reads it")
});

/// The example of an operation, if it takes a body.
pub fn example_of(operation_id: &str) -> Option<&'static Example> {
    EXAMPLES
        .iter()
        .find(|example| example.operations.iter().any(|id| id == operation_id))
}
