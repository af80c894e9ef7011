//! Whether, and where, the server may write and read configuration files on this host.

use std::path::PathBuf;

use model::Invalid;
use supervisor::AllowedPaths;

use super::source::{ConfigError, Sources};
use super::{AgentArgs, RELEASE, RELEASE_PATHS};

pub(super) fn pick(sources: &Sources<'_>, args: &AgentArgs) -> Result<AllowedPaths, ConfigError> {
    let is_on = sources.pick(RELEASE, args.release.as_deref(), parse_switch)?;
    let given = (!args.release_paths.is_empty()).then(|| args.release_paths.join(","));
    let paths = sources.pick(RELEASE_PATHS, given.as_deref(), parse_paths)?;
    Ok(match (is_on.unwrap_or(true), paths) {
        (false, _) => AllowedPaths::Nowhere,
        (true, None) => AllowedPaths::Anywhere,
        (true, Some(paths)) => AllowedPaths::Below(paths),
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

pub(super) fn show(allowed: &AllowedPaths, table: &mut toml::Table) {
    let is_on = match allowed {
        AllowedPaths::Nowhere => "off",
        AllowedPaths::Anywhere | AllowedPaths::Below(_) => "on",
    };
    table.insert("release".into(), is_on.into());
    if let AllowedPaths::Below(paths) = allowed {
        let paths = paths.iter().map(|p| p.display().to_string().into());
        table.insert("release_paths".into(), toml::Value::Array(paths.collect()));
    }
}
