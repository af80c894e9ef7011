//! Renders templates from JSON lines `{"text", "variables", "objects", "includes"}` on stdin, with one JSON answer per line: `{"text"}` or
//! `{"kind", "error"}`. `tests/golden/fuzz.py` compares the answers with Mako's.

#![expect(
    clippy::print_stdout,
    reason = "answers are the purpose of this program"
)]

use std::collections::HashMap;
use std::io::BufRead as _;

use serde_json::{Map, Value, json};
use template::{Context, Includes, Limits, Template};

struct Texts(HashMap<String, String>);

impl Includes for Texts {
    fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in std::io::stdin().lock().lines() {
        let mut request: Map<String, Value> = serde_json::from_str(&line?)?;
        let text = request
            .get("text")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let mut context = Context::new();
        if let Some(Value::Object(variables)) = request.remove("variables") {
            context = variables.into();
        }
        if let Some(Value::Object(objects)) = request.remove("objects") {
            for (name, value) in objects {
                context.insert_object(name, value);
            }
        }
        let includes = request.remove("includes").map(serde_json::from_value);
        let includes = Texts(includes.transpose()?.unwrap_or_default());
        let result = Template::parse("t", &text)
            .and_then(|template| template.render(&context, &Limits::default(), &includes));
        let answer = match result {
            Ok(text) => json!({ "text": text }),
            Err(error) => {
                json!({ "kind": format!("{:?}", error.kind), "error": error.to_string() })
            }
        };
        println!("{answer}");
    }
    Ok(())
}
