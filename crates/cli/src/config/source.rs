//! The places that a setting may come from: flag, else environment variable, else file; complaints name the place.

use std::io::Read;
use std::path::{Path, PathBuf};

use model::Invalid;

use crate::failure::Failure;

/// The largest configuration file that is read.
const MAX_FILE: u64 = 1024 * 1024;

/// One setting: its key in the file, and its variable in the environment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) env: &'static str,
}

/// Environment and file, ready to be asked.
pub(super) struct Sources<'a> {
    env: &'a dyn Fn(&str) -> Option<String>,
    file: Option<File>,
}

struct File {
    path: PathBuf,
    /// The tables that are ours, the most specific first; the top of the file comes last.
    tables: Vec<toml::Table>,
}

impl<'a> Sources<'a> {
    /// `sections` are the tables of the file that are read, `keys` all that may stand in them.
    pub(super) fn open(
        flag: Option<&str>,
        env: &'a dyn Fn(&str) -> Option<String>,
        sections: &[&str],
        keys: &[Key],
    ) -> Result<Self, Failure> {
        let (path, named_by) = match (flag, env("MUSTER_CONFIG").filter(|p| !p.is_empty())) {
            (Some(path), _) => (PathBuf::from(path), "--config"),
            (None, Some(path)) => (PathBuf::from(path), "MUSTER_CONFIG"),
            (None, None) => return Ok(Self { env, file: None }),
        };
        let text = read(&path).map_err(|e| {
            Failure::usage(format!(
                "{named_by} {}: cannot be read: {e}",
                path.display()
            ))
        })?;
        let file = Some(File::parse(path, &text, sections, keys)?);
        Ok(Self { env, file })
    }

    /// The first source that has this setting, checked by `parse`. An empty variable counts as absent.
    pub(super) fn pick<T>(
        &self,
        key: Key,
        flag: Option<&str>,
        parse: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Result<Option<T>, Failure> {
        let (place, text) = if let Some(text) = flag {
            (format!("--{}", key.name.replace('_', "-")), text.to_owned())
        } else if let Some(text) = (self.env)(key.env).filter(|text| !text.is_empty()) {
            (format!("environment variable {}", key.env), text)
        } else if let Some(file) = &self.file
            && let Some(value) = file.tables.iter().find_map(|table| table.get(key.name))
        {
            let place = file.place(key.name);
            let text = to_text(value).map_err(|rule| Failure::usage(format!("{place}: {rule}")))?;
            (place, text)
        } else {
            return Ok(None);
        };
        parse(&text)
            .map(Some)
            .map_err(|invalid| Failure::usage(format!("{place}: {}", invalid.rule)))
    }
}

impl File {
    fn parse(path: PathBuf, text: &str, sections: &[&str], keys: &[Key]) -> Result<Self, Failure> {
        let mut top: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let start = e.span().map_or(0, |span| span.start);
            let line = 1 + text.get(..start).unwrap_or_default().matches('\n').count();
            // Only the message: the error's own text would quote the line, which may hold a secret.
            Failure::usage(format!(
                "{} line {line}: is no TOML: {}",
                path.display(),
                e.message()
            ))
        })?;
        let mut tables = Vec::new();
        for section in sections {
            if let Some(toml::Value::Table(table)) = top.remove(*section) {
                tables.push(table);
            }
        }
        // Other tables belong to others.
        top.retain(|_, value| !value.is_table());
        tables.push(top);
        let file = Self { path, tables };
        let is_known = |name: &str| keys.iter().any(|key| key.name == name);
        match file
            .tables
            .iter()
            .flat_map(toml::Table::keys)
            .find(|name| !is_known(name))
        {
            Some(name) => {
                let known: Vec<&str> = keys.iter().map(|key| key.name).collect();
                let place = file.place(name);
                Err(Failure::usage(format!(
                    "{place}: is no setting: {}",
                    known.join(", ")
                )))
            }
            None => Ok(file),
        }
    }

    fn place(&self, key: &str) -> String {
        format!("{} key `{key}`", self.path.display())
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let n = std::fs::File::open(path)?
        .take(MAX_FILE + 1)
        .read_to_string(&mut text)?;
    match n as u64 > MAX_FILE {
        true => Err(std::io::Error::other("longer than 1 MiB")),
        false => Ok(text),
    }
}

/// A value of the file as it would be written in a flag.
fn to_text(value: &toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        other => Err(format!(
            "must be a text or a number, not a {}",
            other.type_str()
        )),
    }
}
