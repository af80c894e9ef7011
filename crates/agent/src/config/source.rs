//! The sources of a setting: flag, else environment variable, else file. Errors name the source.
//!
//! `muster server` and `muster up` use it, too.

use std::path::{Path, PathBuf};

use model::Invalid;

/// The largest configuration file that is read.
const MAX_FILE: u64 = 1024 * 1024;

/// One setting: its key in the file, and its variable in the environment. The flag is spelt like the key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub name: &'static str,
    pub env: &'static str,
}

impl Key {
    pub const fn new(name: &'static str, env: &'static str) -> Self {
        Self { name, env }
    }

    fn flag(self) -> String {
        format!("--{}", self.name.replace('_', "-"))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{place}: {rule}")]
    Bad { place: String, rule: String },
    #[error("{place}: cannot be read")]
    File {
        place: String,
        source: std::io::Error,
    },
}

impl ConfigError {
    /// A required setting that no source has.
    pub fn missing(key: Key) -> Self {
        Self::Bad {
            place: format!(
                "{} (or {}, or `{}` in the file)",
                key.flag(),
                key.env,
                key.name
            ),
            rule: "is required".into(),
        }
    }
}

/// The environment and the opened file.
pub struct Sources<'a> {
    env: &'a dyn Fn(&str) -> Option<String>,
    file: Option<File>,
}

impl std::fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.file.as_ref().map(|file| &file.path);
        f.debug_struct("Sources")
            .field("file", &path)
            .finish_non_exhaustive()
    }
}

struct File {
    path: PathBuf,
    /// The sections to read, the most specific first; the top level comes last.
    tables: Vec<toml::Table>,
}

impl<'a> Sources<'a> {
    /// `sections` are the tables read beside the top level, `keys` the allowed keys.
    pub fn open(
        flag: Option<&str>,
        env: &'a dyn Fn(&str) -> Option<String>,
        sections: &[&str],
        keys: &[Key],
    ) -> Result<Self, ConfigError> {
        let (path, named_by) = match (flag, env("MUSTER_CONFIG").filter(|p| !p.is_empty())) {
            (Some(path), _) => (PathBuf::from(path), "--config"),
            (None, Some(path)) => (PathBuf::from(path), "MUSTER_CONFIG"),
            (None, None) => return Ok(Self { env, file: None }),
        };
        let text = read(&path).map_err(|source| ConfigError::File {
            place: format!("{named_by} {}", path.display()),
            source,
        })?;
        let file = Some(File::parse(path, &text, sections, keys)?);
        Ok(Self { env, file })
    }

    /// Parses the setting from the first source that has it. An empty variable counts as absent.
    pub fn pick<T>(
        &self,
        key: Key,
        flag: Option<&str>,
        parse: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Result<Option<T>, ConfigError> {
        let (place, text) = if let Some(text) = flag {
            (key.flag(), text.to_owned())
        } else if let Some(text) = (self.env)(key.env).filter(|text| !text.is_empty()) {
            (format!("environment variable {}", key.env), text)
        } else if let Some(file) = &self.file
            && let Some(value) = file.tables.iter().find_map(|table| table.get(key.name))
        {
            let text = to_text(value).map_err(|rule| file.bad(key.name, rule))?;
            (file.place(key.name), text)
        } else {
            return Ok(None);
        };
        parse(&text).map(Some).map_err(|invalid| ConfigError::Bad {
            place,
            rule: invalid.rule,
        })
    }
}

impl File {
    fn parse(
        path: PathBuf,
        text: &str,
        sections: &[&str],
        keys: &[Key],
    ) -> Result<Self, ConfigError> {
        let mut top: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let start = e.span().map_or(0, |span| span.start);
            let line = 1 + text.get(..start).unwrap_or_default().matches('\n').count();
            // Only the message: the whole error quotes the line, which may contain a secret.
            ConfigError::Bad {
                place: format!("{} line {line}", path.display()),
                rule: format!("is no TOML: {}", e.message()),
            }
        })?;
        let mut tables = Vec::new();
        for section in sections {
            if let Some(toml::Value::Table(table)) = top.get(*section) {
                tables.push(table.clone());
            }
        }
        // Other tables belong to other programs; so does the top level if there is a section of ours.
        top.retain(|_, value| !value.is_table());
        let n_ours = tables.len().max(1);
        tables.push(top);
        let is_known = |name: &str| keys.iter().any(|key| key.name == name);
        let names = tables.iter().take(n_ours).flat_map(toml::Table::keys);
        let unknown = names.into_iter().find(|name| !is_known(name)).cloned();
        let file = Self { path, tables };
        match unknown {
            Some(name) => {
                let known: Vec<&str> = keys.iter().map(|key| key.name).collect();
                Err(file.bad(&name, format!("is no setting: {}", known.join(", "))))
            }
            None => Ok(file),
        }
    }

    fn place(&self, key: &str) -> String {
        format!("{} key `{key}`", self.path.display())
    }

    fn bad(&self, key: &str, rule: String) -> ConfigError {
        ConfigError::Bad {
            place: self.place(key),
            rule,
        }
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    let read = std::fs::File::open(path)?
        .take(MAX_FILE + 1)
        .read_to_string(&mut text)?;
    match read as u64 > MAX_FILE {
        true => Err(std::io::Error::other("longer than 1 MiB")),
        false => Ok(text),
    }
}

/// Formats a value of the file as a flag.
fn to_text(value: &toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
            .map(|items| items.join(","))
            .ok_or_else(|| "must be a list of texts".into()),
        other => Err(format!(
            "must be a text or a number, not a {}",
            other.type_str()
        )),
    }
}
