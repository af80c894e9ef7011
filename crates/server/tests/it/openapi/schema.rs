//! Compares a value with a schema of the document: the keywords that its request bodies use, no others.

use std::collections::BTreeSet;

use serde_json::Value;

/// What is wrong with the value, each with its place. A field that the schema does not name is wrong, too: the server ignores
/// most of those, and an example must not teach one.
pub(crate) fn mistakes(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(document, schema, value, "body", &mut found);
    if let Value::Object(fields) = value {
        let known = known_fields(document, schema);
        let unknown = fields.keys().filter(|field| !known.contains(*field));
        found.extend(unknown.map(|field| format!("body.{field} is not in the schema")));
    }
    found
}

fn compare(document: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let schema = resolve(document, schema);
    if !fits_type(schema, value) {
        found.push(format!("{place} is {value}, not {}", schema["type"]));
        return;
    }
    if let Some(values) = schema["enum"].as_array()
        && !values.contains(value)
    {
        found.push(format!("{place} is {value}, none of {values:?}"));
    }
    for part in list(&schema["allOf"]) {
        compare(document, part, value, place, found);
    }
    let alternatives: Vec<&Value> = list(&schema["oneOf"]).collect();
    if !alternatives.is_empty() {
        let n_fitting = alternatives
            .iter()
            .filter(|schema| {
                let mut found = Vec::new();
                compare(document, schema, value, place, &mut found);
                found.is_empty()
            })
            .count();
        if n_fitting != 1 {
            found.push(format!("{place} fits {n_fitting} of oneOf"));
        }
    }
    if let Value::Array(items) = value {
        for (index, item) in items.iter().enumerate() {
            let place = format!("{place}[{index}]");
            compare(document, &schema["items"], item, &place, found);
        }
        if schema["minItems"].as_u64() > Some(items.len() as u64) {
            found.push(format!("{place} is too short"));
        }
    }
    if let Value::Object(fields) = value {
        for name in list(&schema["required"]).filter_map(Value::as_str) {
            if fields.get(name).is_none_or(Value::is_null) {
                found.push(format!("{place}.{name} is required"));
            }
        }
        // Without properties it may have any; those of allOf are checked as a whole.
        let Some(properties) = schema["properties"].as_object() else {
            return;
        };
        for (name, inner) in fields {
            let at = format!("{place}.{name}");
            match properties.get(name) {
                Some(property) => compare(document, property, inner, &at, found),
                None if place == "body" => {}
                None => found.push(format!("{at} is not in the schema")),
            }
        }
    }
}

fn fits_type(schema: &Value, value: &Value) -> bool {
    let names = match &schema["type"] {
        Value::Null => return true,
        Value::Array(names) => names.as_slice(),
        name => std::slice::from_ref(name),
    };
    names.iter().any(|name| match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("null") => value.is_null(),
        _ => false,
    })
}

/// The fields of an object, also of those that it is made of.
fn known_fields(document: &Value, schema: &Value) -> BTreeSet<String> {
    let schema = resolve(document, schema);
    let own = schema["properties"].as_object();
    let own = own.into_iter().flat_map(|fields| fields.keys().cloned());
    let parts = list(&schema["allOf"]).flat_map(|part| known_fields(document, part));
    own.chain(parts).collect()
}

fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        None => schema,
        Some(reference) => {
            let target = document.pointer(reference.trim_start_matches('#'));
            resolve(document, target.expect("references lead somewhere"))
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[test]
fn mistakes_are_found_where_they_are() {
    let document = serde_json::json!({"Host": {"type": "object", "required": ["ip"], "properties": {"ip": {"type": "string"}}}});
    let schema = serde_json::json!({"allOf": [
        {"type": "object", "properties": {"app": {"type": "string"}}},
        {"type": "object", "required": ["hosts"], "properties": {
            "hosts": {"type": "array", "items": {"$ref": "#/Host"}}, "n": {"type": ["integer", "null"]}}},
    ]});
    let mistakes = |value: Value| mistakes(&document, &schema, &value);
    let good = serde_json::json!({"app": "a", "hosts": [{"ip": "10.0.0.1"}], "n": null});
    assert_eq!(mistakes(good), Vec::<String>::new());
    let bad = serde_json::json!({"hosts": [{"ip": 7}, {"adress": "x"}], "n": "1", "m": 1});
    assert_eq!(
        mistakes(bad),
        [
            "body.hosts[0].ip is 7, not \"string\"",
            "body.hosts[1].ip is required",
            "body.hosts[1].adress is not in the schema",
            "body.n is \"1\", not [\"integer\",\"null\"]",
            "body.m is not in the schema",
        ]
    );
    assert_eq!(mistakes(serde_json::json!({})), ["body.hosts is required"]);
}
