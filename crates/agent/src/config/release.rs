//! Whether, and where, the server may write and read configuration files on this host.

use std::path::PathBuf;

use model::Invalid;
use supervisor::Allowed;

use super::source::{ConfigError, Sources};
use super::{AgentArgs, RELEASE, RELEASE_PATHS};

pub(super) fn pick(sources: &Sources<'_>, args: &AgentArgs) -> Result<Allowed, ConfigError> {
    let is_on = sources.pick(RELEASE, args.release.as_deref(), parse_switch)?;
    let given = (!args.release_paths.is_empty()).then(|| args.release_paths.join(","));
    let paths = sources.pick(RELEASE_PATHS, given.as_deref(), parse_paths)?;
    Ok(match (is_on.unwrap_or(true), paths) {
        (false, _) => Allowed::Nowhere,
        (true, None) => Allowed::Anywhere,
        (true, Some(paths)) => Allowed::Below(paths),
    })
}

fn parse_switch(text: &str) -> Result<bool, Invalid> {
    match text.trim() {
        "on" => Ok(true),
        "off" => Ok(false),
        other => Err(Invalid::new(
            "release",
            format!("must be on or off, not {other:?}"),
        )),
    }
}

fn parse_paths(text: &str) -> Result<Vec<PathBuf>, Invalid> {
    text.split(',').map(str::trim).map(parse_path).collect()
}

fn parse_path(text: &str) -> Result<PathBuf, Invalid> {
    match text.starts_with('/') && text.split('/').all(|part| part != "..") {
        true => Ok(text.into()),
        false => Err(Invalid::new(
            "release_paths",
            format!(
                "must be absolute paths of folders without `..`, separated by commas, not {text:?}"
            ),
        )),
    }
}

pub(super) fn show(allowed: &Allowed, table: &mut toml::Table) {
    let is_on = match allowed {
        Allowed::Nowhere => "off",
        Allowed::Anywhere | Allowed::Below(_) => "on",
    };
    table.insert("release".into(), is_on.into());
    if let Allowed::Below(paths) = allowed {
        let paths = paths.iter().map(|p| p.display().to_string().into());
        table.insert("release_paths".into(), toml::Value::Array(paths.collect()));
    }
}
