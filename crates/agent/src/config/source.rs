//! The three places that a setting may come from, and complaints that name the place.

use std::path::{Path, PathBuf};

use model::Invalid;

/// The largest configuration file that is read.
const MAX_FILE: u64 = 1024 * 1024;
/// Every key that a file may hold.
const KEYS: [&str; 8] = [
    "server",
    "data",
    "ip",
    "cloud_id",
    "agent_id",
    "join",
    "log",
    "log_format",
];

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
    pub(super) fn missing(key: &str, env: &str) -> Self {
        Self::Bad {
            place: format!("{} (or {env}, or `{key}` in the file)", flag_of(key)),
            rule: "is required".into(),
        }
    }
}

/// Environment and file, ready to be asked.
pub(super) struct Sources<'a> {
    env: &'a dyn Fn(&str) -> Option<String>,
    file: Option<File>,
}

struct File {
    path: PathBuf,
    /// The table `[agent]`, where the file has one.
    section: Option<toml::Table>,
    top: toml::Table,
}

impl<'a> Sources<'a> {
    pub(super) fn open(
        flag: Option<&str>,
        env: &'a dyn Fn(&str) -> Option<String>,
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
        let file = Some(File::parse(path, &text)?);
        Ok(Self { env, file })
    }

    /// The first source that has this setting, checked by `parse`. An empty environment variable counts as absent.
    pub(super) fn pick<T>(
        &self,
        key: &str,
        env: &str,
        flag: Option<&str>,
        parse: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Result<Option<T>, ConfigError> {
        let (place, text) = if let Some(text) = flag {
            (flag_of(key), text.to_owned())
        } else if let Some(text) = (self.env)(env).filter(|text| !text.is_empty()) {
            (format!("environment variable {env}"), text)
        } else if let Some(file) = &self.file
            && let Some(value) = file.value(key)
        {
            (
                file.place(key),
                to_text(value).map_err(|rule| file.bad(key, rule))?,
            )
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
    fn parse(path: PathBuf, text: &str) -> Result<Self, ConfigError> {
        let mut top: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let line = 1 + text[..e.span().map_or(0, |s| s.start)]
                .matches('\n')
                .count();
            // Only the message: the error's own text would quote the line, which may hold the token.
            ConfigError::Bad {
                place: format!("{} line {line}", path.display()),
                rule: format!("is no TOML: {}", e.message()),
            }
        })?;
        let section = match top.remove("agent") {
            Some(toml::Value::Table(section)) => Some(section),
            Some(other) => {
                top.insert("agent".into(), other);
                None
            }
            None => None,
        };
        let file = Self { path, section, top };
        // Beside a table [agent] the rest of the file belongs to others; so does every other table.
        let unknown = match &file.section {
            Some(section) => section.keys().find(|key| !KEYS.contains(&key.as_str())),
            None => file
                .top
                .iter()
                .find(|(key, value)| !value.is_table() && !KEYS.contains(&key.as_str()))
                .map(|(key, _)| key),
        };
        match unknown {
            Some(key) => Err(file.bad(key, format!("is no setting: {}", KEYS.join(", ")))),
            None => Ok(file),
        }
    }

    fn value(&self, key: &str) -> Option<&toml::Value> {
        self.section
            .as_ref()
            .and_then(|section| section.get(key))
            .or_else(|| self.top.get(key))
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

fn flag_of(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
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

/// A value of the file as it would be written in a flag.
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
