//! Reads the documents of files and folders: YAML, JSON and TOML, each table with its lines.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Place;
use super::lines::Lines;
use crate::failure::Failure;
use crate::input::read_text;

const MAX_FILE: u64 = 64 * 1024 * 1024;
/// The files of a folder that are read.
const ENDINGS: [&str; 4] = ["yaml", "yml", "json", "toml"];
/// How deep folders are followed.
const MAX_FOLDERS: usize = 32;

/// One document of a file.
#[derive(Debug)]
pub struct Document {
    pub file: Arc<str>,
    /// Lines of the file before it.
    pub offset: usize,
    pub lines: Lines,
    pub table: Map<String, Value>,
}

impl Document {
    pub fn place(&self, path: &str) -> Place {
        Place {
            file: Arc::clone(&self.file),
            line: self.offset + self.lines.line(path),
        }
    }

    /// An error about a part of it: `FILE:LINE: PATH: RULE`.
    pub fn wrong(&self, path: &str, rule: impl std::fmt::Display) -> Failure {
        let place = self.place(path);
        match path.is_empty() {
            true => Failure::usage(format!("{place}: {rule}")),
            false => Failure::usage(format!("{place}: {path}: {rule}")),
        }
    }
}

/// Every document of files and folders; `-` is standard input.
pub fn read_all(sources: &[String]) -> Result<Vec<Document>, Failure> {
    let mut documents = Vec::new();
    for source in sources {
        let path = Path::new(source);
        if source != "-" && path.is_dir() {
            let mut files = Vec::new();
            list(path, 0, &mut files)?;
            if files.is_empty() {
                return Err(Failure::usage(format!(
                    "{source}: holds no file that ends in .yaml, .yml, .json or .toml"
                )));
            }
            for file in files {
                read_file(&file, &mut documents)?;
            }
        } else {
            read_file(source, &mut documents)?;
        }
    }
    Ok(documents)
}

/// The files of a folder and of those in it, in the order of their names.
fn list(folder: &Path, depth: usize, files: &mut Vec<String>) -> Result<(), Failure> {
    let failed = |e| Failure::usage(format!("{}: cannot be read: {e}", folder.display()));
    let entries = fs::read_dir(folder).map_err(failed)?;
    let entries = entries.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let mut paths: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    for path in paths {
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let ending = path
            .extension()
            .map(|end| end.to_string_lossy().to_lowercase());
        if is_hidden {
            continue;
        }
        if path.is_dir() {
            if depth >= MAX_FOLDERS {
                let shown = path.display();
                return Err(Failure::usage(format!(
                    "{shown}: folders are nested too deep"
                )));
            }
            list(&path, depth + 1, files)?;
        } else if ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) {
            let text = path.to_str().ok_or_else(|| {
                Failure::usage(format!("{}: its name is no UTF-8", path.display()))
            })?;
            files.push(text.to_owned());
        }
    }
    Ok(())
}

fn read_file(file: &str, documents: &mut Vec<Document>) -> Result<(), Failure> {
    let text = read_text(file, MAX_FILE)
        .map_err(|e| Failure::usage(format!("{file}: cannot be read: {e}")))?;
    let found = parse(file, &text)?;
    if found.is_empty() {
        return Err(Failure::usage(format!("{file}: is empty")));
    }
    documents.extend(found);
    Ok(())
}

/// The documents of a text.
pub fn parse(file: &str, text: &str) -> Result<Vec<Document>, Failure> {
    let name: Arc<str> = file.into();
    let document = |offset: usize, lines: Lines, value: Value| {
        let mut document = Document {
            file: Arc::clone(&name),
            offset,
            lines,
            table: Map::new(),
        };
        match value {
            Value::Object(table) => document.table = table,
            Value::Null => return Ok(None),
            _ => return Err(document.wrong("", "must be a table: processes, groups, …")),
        }
        if let Some((path, line)) = document.lines.repeated.first() {
            let line = document.offset + line;
            return Err(Failure::usage(format!(
                "{file}:{line}: {path}: stands twice"
            )));
        }
        Ok(Some(document))
    };
    let lower = file.to_lowercase();
    if lower.ends_with(".toml") {
        let value = toml::from_str(text).map_err(|e| {
            let start = e.span().map_or(0, |span| span.start);
            let line = 1 + text.get(..start).unwrap_or_default().matches('\n').count();
            Failure::usage(format!("{file}:{line}: is no TOML: {}", e.message()))
        })?;
        // The parser refuses repeated keys; the lines of inline tables are not known.
        let mut lines = Lines::of_toml(text);
        lines.repeated.clear();
        return Ok(Vec::from_iter(document(0, lines, value)?));
    }
    if lower.ends_with(".json") || text.trim_start().starts_with('{') && !lower.ends_with("ml") {
        let value: Value = serde_json::from_str(text).map_err(|e| {
            let (line, what) = (e.line(), e.to_string());
            let what = what.split(" at line ").next().unwrap_or_default();
            Failure::usage(format!("{file}:{line}: is no JSON: {what}"))
        })?;
        return Ok(Vec::from_iter(document(0, Lines::of_json(text), value)?));
    }
    let mut documents = Vec::new();
    for (offset, part) in yaml_documents(text) {
        let value = yaml(&part).map_err(|(line, what)| {
            Failure::usage(format!("{file}:{}: is no YAML: {what}", offset + line))
        })?;
        // The parser refuses repeated keys.
        let mut lines = Lines::of_yaml(&part);
        lines.repeated.clear();
        documents.extend(document(offset, lines, value)?);
    }
    Ok(documents)
}

/// One YAML document as JSON; else the line and what is wrong.
pub fn yaml(text: &str) -> Result<Value, (usize, String)> {
    let wrong = |e: serde_norway::Error| {
        let line = e.location().map_or(1, |at| at.line());
        let what = e.to_string();
        let what = what
            .split(" at line ")
            .next()
            .unwrap_or_default()
            .to_owned();
        (line, what)
    };
    let mut value: serde_norway::Value = serde_norway::from_str(text).map_err(wrong)?;
    value.apply_merge().map_err(wrong)?;
    serde_json::to_value(&value).map_err(|e| (1, e.to_string()))
}

/// The documents between `---` marks, with the number of lines before each.
fn yaml_documents(text: &str) -> Vec<(usize, String)> {
    let mut parts: Vec<(usize, String)> = vec![(0, String::new())];
    for (number, line) in text.lines().enumerate() {
        let is_mark = line == "---" || line.starts_with("--- ");
        if is_mark {
            parts.push((number, String::new()));
        }
        let (_, part) = parts.last_mut().expect("there is a first one");
        match (is_mark, line == "..." || line.starts_with('%')) {
            (true, _) => part.push_str(&line.replacen("---", "   ", 1)),
            (false, true) => {}
            (false, false) => part.push_str(line),
        }
        part.push('\n');
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_one_file_know_their_lines() {
        let text = "# first\na: 1\n---\nb:\n  - c: 2\n--- {d: 3}\n";
        let documents = parse("x.yaml", text).unwrap();
        let places: Vec<usize> = [("a", 0), ("b[0].c", 1), ("d", 2)]
            .into_iter()
            .map(|(path, index)| documents[index].place(path).line)
            .collect();
        assert_eq!(places, [2, 5, 6]);
    }

    #[test]
    fn a_text_that_cannot_be_read_names_its_line() {
        for (file, text, expected) in [
            ("x.yaml", "a: 1\nb: [\n", "x.yaml:3: is no YAML"),
            ("x.yaml", "a: 1\n---\nb: 1\nb: 2\n", "x.yaml:"),
            (
                "x.json",
                "{\"a\": 1,\n \"a\": 2}",
                "x.json:2: a: stands twice",
            ),
            ("x.json", "{\n\"a\": }", "x.json:2: is no JSON"),
            ("x.toml", "a = 1\nb = \n", "x.toml:2: is no TOML"),
            ("x.yaml", "- a\n", "x.yaml:1: must be a table"),
        ] {
            let failure = parse(file, text).unwrap_err().to_string();
            assert!(failure.contains(expected), "{text:?}: {failure}");
        }
    }
}
