//! Contexts: the servers that a user works with, each under a name, with its login or its app.
//!
//! They are in one file of the user, `contexts.toml`, mode 0600. [`crate::account`] reads it, `muster login`, `logout` and
//! `context` change it. The file holds tokens and secrets of apps, and never a password.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use model::UnixMillis;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::account::is_exposed;
use crate::failure::Failure;
use crate::home;

const MAX_NAME: usize = 64;

/// A server, and how to call it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerContext {
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// Who logged in last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UnixMillis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_secret: Option<String>,
}

/// Tokens and secrets stay out of logs and panics.
impl std::fmt::Debug for ServerContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerContext")
            .field("url", &self.url)
            .field("user", &self.user)
            .field("app_code", &self.app_code)
            .finish_non_exhaustive()
    }
}

impl ServerContext {
    pub fn has_credentials(&self) -> bool {
        self.token.is_some() || self.app_secret.is_some()
    }
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contexts {
    /// The context in use where neither flag nor environment names a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    #[serde(default)]
    pub contexts: BTreeMap<String, ServerContext>,
}

impl Contexts {
    pub fn find(&self, name: &str) -> Result<&ServerContext, Failure> {
        self.contexts.get(name).ok_or_else(|| unknown(name))
    }

    /// The context in use with its name.
    pub fn current(&self) -> Option<(&str, &ServerContext)> {
        let name = self.current.as_deref()?;
        Some((name, self.contexts.get(name)?))
    }
}

pub fn unknown(name: &str) -> Failure {
    Failure::usage(format!("there is no context {name:?}"))
        .advise("muster context list shows those there are; muster login URL --user NAME makes one")
}

/// The file, read, and whether other users can read it.
#[derive(Debug, Default)]
pub struct ReadContexts {
    pub contexts: Contexts,
    pub path: PathBuf,
    pub is_exposed: bool,
}

/// The contexts of this user; none where there is no file.
pub fn read(env: &dyn Fn(&str) -> Option<String>) -> Result<ReadContexts, Failure> {
    match home::config(env) {
        Some(directory) => read_in(&directory),
        None => Ok(ReadContexts::default()),
    }
}

fn read_in(directory: &Path) -> Result<ReadContexts, Failure> {
    let path = directory.join("contexts.toml");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if is_absent(&error) => {
            return Ok(ReadContexts {
                path,
                ..ReadContexts::default()
            });
        }
        Err(error) => {
            let what = format!("{} cannot be read: {error}", path.display());
            return Err(Failure::usage(what)
                .advise("the file holds your contexts: make it yours again (chown, chmod 600)"));
        }
    };
    // Only the message: the full error quotes the line, which may hold a token.
    let contexts = toml::from_str(&text).map_err(|e| {
        Failure::usage(format!("{}: {}", path.display(), e.message()))
            .advise("correct the file, or remove it and log in again")
    })?;
    Ok(ReadContexts {
        contexts,
        is_exposed: is_exposed(&path),
        path,
    })
}

fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Changes the file. Two commands at a time change it one after the other.
pub fn change<T>(
    env: &dyn Fn(&str) -> Option<String>,
    change: impl FnOnce(&mut Contexts) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let directory = home::config(env).ok_or_else(|| {
        Failure::usage("there is no place for contexts: HOME is not set")
            .advise("set HOME or XDG_CONFIG_HOME, or use MUSTER_URL and MUSTER_TOKEN")
    })?;
    let bad = |error: io::Error| {
        Failure::usage(format!(
            "{} cannot be written: {error}",
            directory.display()
        ))
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .map_err(bad)?;
    let lock = File::open(&directory).map_err(bad)?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|errno| bad(errno.into()))?;
    let mut read = read_in(&directory)?;
    let changed = change(&mut read.contexts)?;
    let text = toml::to_string(&read.contexts).expect("contexts are strings and numbers");
    server::boot::replace_private(&read.path, &text).map_err(bad)?;
    Ok(changed)
}

/// Checks the name of a new context.
pub fn parse_name(text: &str) -> Result<String, Failure> {
    let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '@');
    let is_good = !text.is_empty()
        && text.chars().count() <= MAX_NAME
        && !text.starts_with('-')
        && text.chars().all(is_allowed);
    match is_good {
        true => Ok(text.to_owned()),
        false => Err(Failure::usage(format!(
            "{text:?} is not a name for a context: write at most {MAX_NAME} letters, digits, '-', '_', '.', ':' or '@'"
        ))),
    }
}

/// The name of a context that the user did not name: the server's host and port.
pub fn name_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or(rest);
    let is_allowed = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let name: String = host.chars().filter(is_allowed).take(MAX_NAME).collect();
    match name.trim_start_matches('-') {
        "" => "server".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_named_after_the_host_of_its_server() {
        for (url, name) in [
            ("https://muster.example.org", "muster.example.org"),
            ("http://127.0.0.1:7100", "127.0.0.1:7100"),
            (
                "https://muster.example.org:7100/prefix",
                "muster.example.org:7100",
            ),
            ("http://[::1]:7100", "::1:7100"),
        ] {
            assert_eq!(name_of(url), name);
            assert!(parse_name(&name_of(url)).is_ok());
        }
        for bad in ["", "-x", "a b", "a/b", "a\nb"] {
            assert!(parse_name(bad).is_err(), "{bad:?}");
        }
    }
}
