//! Parses JSON bodies; an error names the field and the rule that it breaks.
//!
//! The fast path is a plain parse. Only when that fails, a slower parser that tracks the path parses the body again.

pub(crate) use api::Scalar;
use model::Invalid;
pub(crate) use model::lenient::Object;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// How deep a body may nest, unknown fields included.
pub(crate) const MAX_NESTING: usize = 128;
/// How many values and objects a body may hold, unknown fields included: a few bytes of JSON can take hundreds in memory.
const MAX_VALUES: usize = 4_000_000;
const MAX_OBJECTS: usize = 1_000_000;

/// Parses a body; an empty one is an empty object.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Invalid> {
    let body = match body.trim_ascii_start().is_empty() {
        true => b"{}".as_slice(),
        false => body,
    };
    measure(body).check()?;
    serde_json::from_slice::<Object<T>>(body)
        .map(|object| object.0)
        .map_err(|error| explain::<T>(body, &error))
}

/// The size of a body once it is parsed.
#[derive(Debug, Default)]
struct ParsedSize {
    nesting: usize,
    values: usize,
    objects: usize,
}

impl ParsedSize {
    fn check(&self) -> Result<(), Invalid> {
        let rule = match self {
            size if size.nesting > MAX_NESTING => {
                format!("nests deeper than {MAX_NESTING} levels")
            }
            size if size.values > MAX_VALUES => format!("holds more than {MAX_VALUES} values"),
            size if size.objects > MAX_OBJECTS => format!("holds more than {MAX_OBJECTS} objects"),
            _ => return Ok(()),
        };
        Err(Invalid::new("body", rule))
    }
}

/// Counts brackets and commas outside of strings. Wrong for invalid JSON, which the parser refuses anyway.
fn measure(body: &[u8]) -> ParsedSize {
    let (mut size, mut depth, mut at) = (ParsedSize::default(), 0_usize, 0);
    while let Some(byte) = body.get(at) {
        match byte {
            b'"' => at = end_of_string(body, at + 1),
            b'{' | b'[' => {
                depth += 1;
                size.nesting = size.nesting.max(depth);
                size.values += 1;
                size.objects += usize::from(*byte == b'{');
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => size.values += 1,
            _ => {}
        }
        at += 1;
    }
    size
}

fn end_of_string(body: &[u8], mut at: usize) -> usize {
    while let Some(byte) = body.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

fn explain<T: DeserializeOwned>(body: &[u8], error: &serde_json::Error) -> Invalid {
    if !matches!(error.classify(), Category::Data) {
        return Invalid::new("body", format!("is not JSON: {error}"));
    }
    let mut parser = serde_json::Deserializer::from_slice(body);
    match serde_path_to_error::deserialize::<_, Object<T>>(&mut parser) {
        Ok(_) => Invalid::new("body", error.to_string()),
        Err(error) => {
            let path = error.path().to_string();
            let field = match path.as_str() {
                "." | "" => "body",
                path => path,
            };
            Invalid::new(field, rule(&error.into_inner()))
        }
    }
}

/// Converts a parsed value; an error names the field within it.
pub(crate) fn from_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, Invalid> {
    serde_path_to_error::deserialize::<_, Object<T>>(value)
        .map(|object| object.0)
        .map_err(|error| located(error.path().to_string(), error.inner()))
}

fn located(path: String, error: &serde_json::Error) -> Invalid {
    match path.as_str() {
        "." | "" => Invalid::new("", rule(error)),
        path => Invalid::new(path, rule(error)),
    }
}

/// serde's message in the terms of this API.
fn rule(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = match text.rfind(" at line ") {
        Some(end) => &text[..end],
        None => &text,
    };
    let mistyped = text
        .strip_prefix("invalid type: ")
        .and_then(|rest| rest.rsplit_once(", expected "));
    match mistyped {
        Some((actual, expected)) => format!("must be {}, not {actual}", kind(expected)),
        None => text.to_owned(),
    }
}

fn kind(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list",
        "a map" => "an object",
        "string" | "a borrowed string" => "a string",
        "option" => "a value",
        name if name.starts_with("struct ") => "an object",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Sample {
        list: Vec<Object<Inner>>,
        #[serde(rename = "text")]
        _text: Option<String>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Inner {
        n: Scalar,
        #[serde(deserialize_with = "model::lenient::int")]
        m: Option<i64>,
    }

    fn error(body: &str) -> String {
        read::<Sample>(body.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn each_type_error_names_its_field_and_the_rule() {
        assert_eq!(
            error(r#"{"list":5}"#),
            "list: must be a list, not integer `5`"
        );
        assert_eq!(
            error(r#"{"list":[{},7]}"#),
            "list[1]: must be an object, not integer `7`"
        );
        assert_eq!(
            error(r#"{"list":[{"n":[]}]}"#),
            "list[0].n: must be a string or a number, not sequence"
        );
        assert_eq!(
            error(r#"{"list":[{"m":"x"}]}"#),
            "list[0].m: must be a whole number, not \"x\""
        );
        assert_eq!(error(r#"{"text":{}}"#), "text: must be a string, not map");
        assert_eq!(error("[]"), "body: must be an object, not sequence");
        assert_eq!(
            error(r#"{"list":[[1]]}"#),
            "list[0]: must be an object, not sequence"
        );
    }

    #[test]
    fn a_body_with_too_many_values_is_refused() {
        let list = |item: &str, n: usize| format!(r#"{{"unknown":[{}0]}}"#, item.repeat(n));
        // The object around it, the list and the last item count as well.
        assert!(read::<Sample>(list("0,", MAX_VALUES - 2).as_bytes()).is_ok());
        assert_eq!(
            error(&list("0,", MAX_VALUES - 1)),
            format!("body: holds more than {MAX_VALUES} values")
        );
        assert!(read::<Sample>(list("{},", MAX_OBJECTS - 1).as_bytes()).is_ok());
        assert_eq!(
            error(&list("{},", MAX_OBJECTS)),
            format!("body: holds more than {MAX_OBJECTS} objects")
        );
        // Brackets in a string do not count.
        let text = format!(r#"{{"text":"{}"}}"#, "{,".repeat(MAX_VALUES));
        assert!(read::<Sample>(text.as_bytes()).is_ok());
    }

    #[test]
    fn invalid_json_is_refused() {
        for body in ["{", "nonsense", "{\"list\":[],}", "{} x", "\u{1}"] {
            assert!(error(body).starts_with("body: is not JSON: "), "{body}");
        }
        assert!(
            read::<Sample>(b"{\"text\":\"\xff\"}")
                .unwrap_err()
                .to_string()
                .starts_with("body: is not JSON")
        );
    }

    #[test]
    fn nesting_is_limited_in_unknown_fields_too() {
        let nested =
            |levels: usize| format!("{{\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(read::<Sample>(nested(MAX_NESTING - 1).as_bytes()).is_ok());
        assert_eq!(
            error(&nested(MAX_NESTING)),
            "body: nests deeper than 128 levels"
        );
        assert!(read::<Sample>(br#"{"x":"[[[\"[[["}"#).is_ok());
    }

    #[test]
    fn no_body_is_an_empty_object() {
        assert!(read::<Sample>(b"").is_ok());
        assert!(read::<Sample>(b" \r\n").is_ok());
    }

    #[test]
    fn scalars_keep_what_was_written() {
        let sample: Sample =
            read(br#"{"list":[{"n":3},{"n":" 03 "},{"n":3.0},{"n":null},{"n":"x"},{"n":18446744073709551615}]}"#)
                .unwrap();
        let texts: Vec<_> = sample
            .list
            .iter()
            .map(|i| i.0.n.to_text().into_owned())
            .collect();
        assert_eq!(texts, ["3", "03", "3", "", "x", "18446744073709551615"]);
        let ints: Vec<_> = sample.list.iter().map(|i| i.0.n.to_int()).collect();
        assert_eq!(ints, [Some(3), Some(3), Some(3), None, None, None]);
    }
}
