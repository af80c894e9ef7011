//! Compares with the output of Python's Mako, byte for byte. `tests/golden/make.py` generates the files.

use std::path::Path;

use serde_json::{Map, Value};
use template::{Context, Includes, Limits, Template};

struct Folder(std::path::PathBuf);

impl Includes for Folder {
    fn text(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.0.join(name)).ok()
    }
}

fn context(folder: &Path) -> Context {
    let text = std::fs::read_to_string(folder.join("context.json")).unwrap();
    let mut json: std::collections::HashMap<String, Map<String, Value>> =
        serde_json::from_str(&text).unwrap();
    let mut context = Context::from(json.remove("variables").unwrap());
    for (name, value) in json.remove("objects").unwrap() {
        context.insert_object(name, value);
    }
    context
}

#[test]
fn golden_templates_render_like_mako() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let (context, includes) = (context(&folder), Folder(folder.join("includes")));
    let mut compared = 0;
    let mut different = Vec::new();
    for entry in std::fs::read_dir(folder.join("cases")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "mako") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = std::fs::read_to_string(path.with_extension("out")).unwrap();
        let rendered = Template::parse(&name, &text)
            .and_then(|template| template.render(&context, &Limits::default(), &includes));
        compared += 1;
        match rendered {
            Ok(rendered) if rendered == expected => {}
            Ok(rendered) => different.push(first_difference(&name, &expected, &rendered)),
            Err(error) => different.push(error.to_string()),
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(
        compared >= 70,
        "only {compared} golden templates were found"
    );
}

fn first_difference(name: &str, expected: &str, rendered: &str) -> String {
    let mut lines = expected.split('\n').zip(rendered.split('\n')).enumerate();
    let found = lines.find(|(_, (expected, rendered))| expected != rendered);
    match found {
        Some((at, (expected, rendered))) => {
            format!(
                "{name} output line {}: expected {expected:?}, rendered {rendered:?}",
                at + 1
            )
        }
        None => format!("{name}: one output is longer than the other"),
    }
}

#[test]
fn the_example_of_the_guide_renders() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = std::fs::read_to_string(root.join("../../docs/guides/templates.md")).unwrap();
    let (_, example) = guide.split_once("```mako\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let template = Template::parse("guide", example).unwrap();
    let context = context(&root.join("tests/golden"));
    let rendered = template.render(&context, &Limits::default(), &template::NoIncludes);
    let rendered = rendered.unwrap();
    assert!(
        rendered.contains("    server 10.0.0.2:8080 weight=3;\n"),
        "{rendered}"
    );
    assert!(
        rendered.ends_with("    server_name qq1.example.com;\n}\n"),
        "{rendered}"
    );
}
