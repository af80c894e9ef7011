//! What Python's Mako rendered, byte for byte. `tests/golden/make.py` made the files.

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
    let mut given: std::collections::HashMap<String, Map<String, Value>> =
        serde_json::from_str(&text).unwrap();
    let mut context = Context::from(given.remove("variables").unwrap());
    for (name, value) in given.remove("objects").unwrap() {
        context.insert_object(name, value);
    }
    context
}

#[test]
fn every_golden_template_renders_as_mako_rendered_it() {
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
        let wanted = std::fs::read_to_string(path.with_extension("out")).unwrap();
        let rendered = Template::parse(&name, &text)
            .and_then(|template| template.render(&context, &Limits::default(), &includes));
        compared += 1;
        match rendered {
            Ok(rendered) if rendered == wanted => {}
            Ok(rendered) => different.push(first_difference(&name, &wanted, &rendered)),
            Err(error) => different.push(error.to_string()),
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(
        compared >= 70,
        "only {compared} golden templates were found"
    );
}

fn first_difference(name: &str, wanted: &str, rendered: &str) -> String {
    let mut lines = wanted.split('\n').zip(rendered.split('\n')).enumerate();
    let found = lines.find(|(_, (wanted, rendered))| wanted != rendered);
    match found {
        Some((at, (wanted, rendered))) => {
            format!(
                "{name} output line {}: {wanted:?} became {rendered:?}",
                at + 1
            )
        }
        None => format!("{name}: one output goes on where the other ends"),
    }
}

#[test]
fn the_example_of_the_guide_is_rendered() {
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
