//! Topology in files: YAML or JSON, one business or several.

use model::topology::document::BusinessDocument;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::{Failure, Kind};
use crate::input::read_text;

const MAX_FILE: u64 = 256 * 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Several {
    businesses: Vec<BusinessDocument>,
}

/// Tells whether a file holds several businesses.
#[derive(Debug, Deserialize)]
struct Shape {
    businesses: Option<serde::de::IgnoredAny>,
}

/// Reads every business of a file, and checks it as far as a file can be checked; `-` is standard input.
pub(super) fn read(file: &str) -> Result<Vec<BusinessDocument>, Failure> {
    let text = read_text(file, MAX_FILE)
        .map_err(|e| Failure::usage(format!("{file}: cannot be read: {e}")))?;
    parse(file, &text).map_err(|rule| {
        Failure::usage(format!("{file}: {rule}"))
            .advise("nothing was changed; muster topology export shows what a file looks like")
    })
}

fn parse(file: &str, text: &str) -> Result<Vec<BusinessDocument>, String> {
    let form = Form::of(file, text);
    let shape: Shape = form.read(text)?;
    let documents = match shape.businesses {
        Some(_) => form.read::<Several>(text)?.businesses,
        None => vec![form.read(text)?],
    };
    for (index, document) in documents.iter().enumerate() {
        let place = match shape.businesses {
            Some(_) => format!("businesses[{index}]."),
            None => String::new(),
        };
        document
            .to_facts()
            .map_err(|invalid| format!("{place}{invalid}"))?;
        let id = document.bk_biz_id;
        if documents[..index].iter().any(|other| other.bk_biz_id == id) {
            return Err(format!("{place}bk_biz_id: {id} stands twice in the file"));
        }
    }
    match documents.is_empty() {
        true => Err("businesses: is empty".to_owned()),
        false => Ok(documents),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Yaml,
    Json,
}

impl Form {
    /// By the file name, else by the first character.
    fn of(file: &str, text: &str) -> Self {
        let file = file.to_ascii_lowercase();
        let is_yaml = file.ends_with(".yaml") || file.ends_with(".yml");
        match file.ends_with(".json") || (!is_yaml && text.trim_start().starts_with('{')) {
            true => Self::Json,
            false => Self::Yaml,
        }
    }

    /// An error names the line or the field.
    fn read<T: DeserializeOwned>(self, text: &str) -> Result<T, String> {
        match self {
            Self::Yaml => serde_norway::from_str(text).map_err(|e| format!("as YAML: {e}")),
            Self::Json => {
                let mut json = serde_json::Deserializer::from_str(text);
                let read = serde_path_to_error::deserialize(&mut json);
                read.map_err(|e| format!("as JSON: {e}"))
            }
        }
    }
}

pub(super) fn to_yaml(document: &BusinessDocument) -> Result<String, Failure> {
    serde_norway::to_string(document)
        .map_err(|e| Failure::new(Kind::Failed, format!("cannot be written as YAML: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "\
bk_biz_id: 2
bk_biz_name: game
clouds: {0: here, 1: there}
variables: {port: 8000, peers: [a, b]}
sets:
  - bk_set_name: zone-1
    modules:
      - bk_module_name: login
        hosts: [10.0.0.1, '1:10.0.0.2']
        processes:
          - {bk_process_name: login, work_path: /opt/login, pid_file: login.pid, start_cmd: ./start.sh}
";

    #[test]
    fn yaml_and_json_read_the_same() {
        let yaml = parse("game.yaml", ONE).unwrap();
        let json = serde_json::to_string(&yaml[0]).unwrap();
        assert_eq!(parse("game.json", &json).unwrap(), yaml);
        assert_eq!(parse("-", &json).unwrap(), yaml, "by its first character");
        let several = format!(r#"{{"businesses": [{json}]}}"#);
        assert_eq!(parse("-", &several).unwrap(), yaml);
        assert_eq!(parse("x.yml", &to_yaml(&yaml[0]).unwrap()).unwrap(), yaml);
    }

    #[test]
    fn an_error_names_its_place() {
        let wrong = |file: &str, text: &str| parse(file, text).unwrap_err();
        let text = wrong("a.yaml", &ONE.replace("start_cmd", "startcmd"));
        assert!(
            text.contains("startcmd") && text.contains("line 11"),
            "{text}"
        );
        let text = wrong(
            "a.json",
            r#"{"bk_biz_id": 2, "sets": [{"bk_set_nam": "x"}]}"#,
        );
        assert!(
            text.contains("sets[0]") && text.contains("bk_set_nam"),
            "{text}"
        );
        let text = wrong("a.yaml", &ONE.replace("10.0.0.1", "nowhere"));
        assert!(text.contains("sets[0].modules[0].hosts[0]"), "{text}");
        let text = wrong("a.yaml", "businesses: []");
        assert!(text.contains("is empty"), "{text}");
        let twice = "businesses: [{bk_biz_id: 2}, {bk_biz_id: 2}]";
        let text = wrong("a.yaml", twice);
        assert!(text.starts_with("businesses[1].bk_biz_id"), "{text}");
        assert!(parse("a.yaml", "- 1").is_err());
        assert!(parse("a.yaml", "bk_biz_id: [").is_err());
    }
}
