//! compose: the services of a `compose.yaml`, as far as a program of the host can do what a container did.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::compose_service::ServiceReader;
use super::draft::scalar;
use super::environment;
use super::ledger::{EntryId, Ledger};
use super::{Imported, Settings, compose_depends};
use crate::declare::document;
use crate::declare::lines::{Lines, member};
use crate::failure::Failure;

/// How far `extends` is followed.
const MAX_EXTENDS: usize = 8;

/// A setting of a service, with its place.
#[derive(Debug, Clone)]
pub(super) struct ServiceSetting {
    /// `deploy.resources.limits.memory`
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) id: EntryId,
}

pub fn read(
    file: &str,
    text: &str,
    settings: &Settings,
    imported: &mut Imported,
) -> Result<(), Failure> {
    let value = document::yaml(text)
        .map_err(|(line, what)| Failure::usage(format!("{file}:{line}: is no YAML: {what}")))?;
    let Value::Object(top) = value else {
        return Err(Failure::usage(format!(
            "{file}:1: must be a table with services"
        )));
    };
    let lines = Lines::of_yaml(text);
    let variables = interpolation(file, &mut imported.ledger);
    let services = match top.get("services") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(services)) => services.clone(),
        Some(_) => {
            let line = lines.line("services");
            return Err(Failure::usage(format!(
                "{file}:{line}: services: must be a table"
            )));
        }
    };
    let mut name = None;
    for (key, value) in &top {
        let id = enter(&mut imported.ledger, file, &lines, text, key, key, value);
        let ledger = &mut imported.ledger;
        match key.as_str() {
            "services" => ledger.no_effect(id, "holds the services"),
            "version" => ledger.no_effect(id, "compose itself ignores it"),
            "name" => match settings.namespace {
                Some(_) => ledger.no_effect(id, "--namespace is given"),
                None => {
                    name = scalar(value).map(|name| name.replace(['/', ':'], "-"));
                    ledger.carried(id, "namespace");
                }
            },
            _ if key.starts_with("x-") => {
                ledger.no_effect(id, "counts only where a service takes it")
            }
            "volumes" | "networks" | "secrets" | "configs" | "include" => {
                ledger.not_carried(id, "Muster runs programs of the host, not containers");
            }
            _ => {}
        }
    }
    let namespace = settings
        .namespace
        .clone()
        .or(name)
        .unwrap_or_else(|| "imported".to_owned());
    let mut read = Vec::new();
    for (name, service) in &services {
        let path = format!("services.{name}");
        let head = enter(
            &mut imported.ledger,
            file,
            &lines,
            text,
            &path,
            name,
            service,
        );
        let Value::Object(own) = service else {
            imported.ledger.not_carried(head, "must be a table");
            continue;
        };
        imported.ledger.no_effect(head, "begins a service");
        let mut entries = Vec::new();
        let mut place = Entering {
            file,
            lines: &lines,
            text,
            ledger: &mut imported.ledger,
            variables: &variables,
        };
        place.enter(&path, "", own, &mut entries);
        let mut whole = extended(own, &services, &mut entries, &mut place, 0);
        entries.append(&mut whole);
        read.push((name, head, entries));
    }
    let of_all = read.iter().map(|(_, _, entries)| entries);
    let completing = of_all.flat_map(|entries| compose_depends::completing(entries));
    let mut reader = ServiceReader {
        file,
        namespace: &namespace,
        settings,
        variables: &variables,
        completing: completing.collect(),
    };
    for (name, head, entries) in &read {
        if reader.read(name, *head, entries, imported) {
            let wishes = compose_depends::wishes(file, name, entries, &mut imported.ledger);
            imported.wishes.extend(wishes);
        }
    }
    Ok(())
}

fn enter(
    ledger: &mut Ledger,
    file: &str,
    lines: &Lines,
    text: &str,
    path: &str,
    key: &str,
    value: &Value,
) -> EntryId {
    let line = lines.line(path);
    let shown = match value {
        Value::Object(_) | Value::Array(_) => "…".to_owned(),
        _ if path.contains(".environment") => "…".to_owned(),
        value => scalar(value).unwrap_or_default(),
    };
    // What holds settings of its own is one line; they follow.
    let last = match value {
        Value::Object(_)
            if path == "services"
                || path.matches('.').count() == 1 && path.starts_with("services.") =>
        {
            line
        }
        _ if TABLES.contains(&key) => line,
        _ => last_line(text, line),
    };
    let text = match shown.is_empty() {
        true => key.to_owned(),
        false => format!("{key}: {shown}"),
    };
    ledger.enter(file, (line, last), &text)
}

/// The last line of the block that begins at a line: those that follow and are indented further, or are items.
fn last_line(text: &str, line: usize) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let Some(first) = lines.get(line - 1) else {
        return line;
    };
    let own = indent(first);
    let rest = lines[line..].iter().take_while(|next| {
        let is_blank = next.trim().is_empty() || next.trim_start().starts_with('#');
        let is_item = next.trim_start().starts_with("- ")
            && indent(next) == own
            && !first.trim_start().starts_with("- ");
        is_blank || indent(next) > own || is_item || next.trim() == "]" || next.trim() == "}"
    });
    line + rest.count()
}

/// The variables of `.env` beside the file, with which compose fills in `${NAME}`.
fn interpolation(file: &str, ledger: &mut Ledger) -> BTreeMap<String, String> {
    let path = Path::new(file).with_file_name(".env");
    let shown = path.display().to_string();
    let Ok(text) = std::fs::read_to_string(&path) else {
        return BTreeMap::new();
    };
    let variables = environment::read(&shown, &text, ledger);
    for one in &variables {
        ledger.no_effect(one.id, "fills in ${…} of the compose file");
    }
    environment::table(&variables)
}

/// Enters the settings of a service.
pub(super) struct Entering<'e> {
    file: &'e str,
    lines: &'e Lines,
    text: &'e str,
    ledger: &'e mut Ledger,
    variables: &'e BTreeMap<String, String>,
}

/// Tables whose members are settings of their own.
const TABLES: [&str; 9] = [
    "environment",
    "depends_on",
    "deploy",
    "deploy.resources",
    "deploy.resources.limits",
    "deploy.restart_policy",
    "healthcheck",
    "ulimits",
    "labels",
];

impl Entering<'_> {
    fn enter(
        &mut self,
        path: &str,
        outer: &str,
        table: &Map<String, Value>,
        entries: &mut Vec<ServiceSetting>,
    ) {
        if let Some(line) = self.lines.exact(&member(path, "<<")) {
            let id = self.ledger.enter(self.file, (line, line), "<<");
            self.ledger.no_effect(id, "what it names is taken");
        }
        for (key, value) in table {
            let path = member(path, key);
            let key = member(outer, key);
            let id = enter(
                self.ledger,
                self.file,
                self.lines,
                self.text,
                &path,
                &key,
                value,
            );
            match value {
                Value::Object(inner) if key == "depends_on" => {
                    self.ledger.no_effect(id, "holds settings");
                    for (name, value) in inner {
                        let path = member(&path, name);
                        let id = enter(
                            self.ledger,
                            self.file,
                            self.lines,
                            self.text,
                            &path,
                            name,
                            value,
                        );
                        self.push(entries, &format!("{key}.{name}"), value, id);
                    }
                }
                Value::Object(inner) if TABLES.contains(&key.as_str()) => {
                    self.ledger.no_effect(id, "holds settings");
                    self.enter(&path, &key, inner, entries);
                }
                Value::Array(items)
                    if matches!(key.as_str(), "environment" | "labels" | "depends_on") =>
                {
                    self.ledger.no_effect(id, "holds settings");
                    for (index, item) in items.iter().enumerate() {
                        let path = format!("{path}[{index}]");
                        let text = scalar(item).unwrap_or_default();
                        let (name, value) = text
                            .split_once('=')
                            .map_or((text.as_str(), Value::Null), |(name, value)| {
                                (name, value.into())
                            });
                        let id = enter(
                            self.ledger,
                            self.file,
                            self.lines,
                            self.text,
                            &path,
                            name,
                            &Value::Null,
                        );
                        self.push(entries, &format!("{key}.{name}"), &value, id);
                    }
                }
                value => self.push(entries, &key, value, id),
            }
        }
    }

    /// With `${…}` filled in.
    fn push(&mut self, entries: &mut Vec<ServiceSetting>, key: &str, value: &Value, id: EntryId) {
        match filled_in(value, self.variables) {
            Ok(value) => entries.push(ServiceSetting {
                key: key.to_owned(),
                value,
                id,
            }),
            Err(rule) => self.ledger.not_carried(id, rule),
        }
    }
}

/// The settings that a service takes from another one of the same file, where it has none of its own.
fn extended(
    own: &Map<String, Value>,
    services: &Map<String, Value>,
    entries: &mut Vec<ServiceSetting>,
    place: &mut Entering<'_>,
    depth: usize,
) -> Vec<ServiceSetting> {
    let Some(index) = entries.iter().position(|one| one.key == "extends") else {
        return Vec::new();
    };
    let setting = entries.remove(index);
    let base = match own.get("extends") {
        Some(Value::String(name)) => Some(name.clone()),
        Some(Value::Object(table)) if !table.contains_key("file") => {
            table.get("service").and_then(scalar)
        }
        _ => None,
    };
    let found = base
        .as_ref()
        .and_then(|name| services.get(name))
        .and_then(Value::as_object);
    let (Some(name), Some(table), true) = (base.as_ref(), found, depth < MAX_EXTENDS) else {
        let why = "is not followed: only services of the same file are";
        place.ledger.not_carried(setting.id, why);
        return Vec::new();
    };
    place
        .ledger
        .carried(setting.id, "the settings of that service");
    let mut inherited = Vec::new();
    place.enter(&format!("services.{name}"), "", table, &mut inherited);
    let more = extended(table, services, &mut inherited, place, depth + 1);
    inherited.extend(more);
    let is_own = |key: &str| entries.iter().any(|one| one.key == key);
    let (taken, hidden): (Vec<_>, Vec<_>) =
        inherited.into_iter().partition(|one| !is_own(&one.key));
    for one in hidden {
        place
            .ledger
            .no_effect(one.id, "the service that extends it has its own");
    }
    taken
}

/// Fills in variables of all texts in a value.
fn filled_in(value: &Value, variables: &BTreeMap<String, String>) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => interpolate(text, variables)?.into(),
        Value::Array(items) => {
            let items: Result<Vec<Value>, String> = items
                .iter()
                .map(|item| filled_in(item, variables))
                .collect();
            items?.into()
        }
        Value::Object(table) => {
            let mut done = Map::new();
            for (key, value) in table {
                done.insert(key.clone(), filled_in(value, variables)?);
            }
            done.into()
        }
        other => other.clone(),
    })
}

/// `$NAME`, `${NAME}`, `${NAME:-default}`, `${NAME-default}`, `${NAME:?error}`, `${NAME:+other}`; `$$` is `$`.
fn interpolate(text: &str, variables: &BTreeMap<String, String>) -> Result<String, String> {
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        done.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            done.push('$');
            rest = after;
        } else if let Some(inner) = rest.strip_prefix('{') {
            let (inside, after) = inner.split_once('}').ok_or("${ is not closed")?;
            if inside.contains("${") {
                return Err("nested ${…} are not followed".to_owned());
            }
            let end = inside.find([':', '-', '?', '+']).unwrap_or(inside.len());
            let (name, form) = inside.split_at(end);
            let value = variables.get(name);
            let filled = value.filter(|value| !value.is_empty());
            let unset =
                || format!("the variable {name} has no value: put it into .env beside the file");
            done.push_str(&match (form.get(..2), form.get(..1)) {
                (Some(":-"), _) => filled.cloned().unwrap_or_else(|| form[2..].to_owned()),
                (Some(":?"), _) => filled.cloned().ok_or_else(unset)?,
                (Some(":+"), _) => filled.map(|_| form[2..].to_owned()).unwrap_or_default(),
                (_, Some("-")) => value.cloned().unwrap_or_else(|| form[1..].to_owned()),
                (_, Some("?")) => value.cloned().ok_or_else(unset)?,
                (_, Some("+")) => value.map(|_| form[1..].to_owned()).unwrap_or_default(),
                (_, None) => value.cloned().ok_or_else(unset)?,
                _ => return Err(format!("${{{inside}}} is no form of a variable")),
            });
            rest = after;
        } else {
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.is_empty() {
                return Err("a $ names no variable; $$ is a dollar".to_owned());
            }
            let value = variables.get(name);
            let unset =
                || format!("the variable {name} has no value: put it into .env beside the file");
            done.push_str(value.ok_or_else(unset)?);
            rest = after;
        }
    }
    done.push_str(rest);
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in() {
        let variables =
            [("A", "1"), ("E", "")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        let variables = BTreeMap::from(variables);
        let fill = |text| interpolate(text, &variables);
        for (text, expected) in [
            ("x${A}y$A", "x1y1"),
            ("${B:-b} ${B-c} ${E:-e} ${E-f}", "b c e "),
            ("${A:+set}${B:+set} $$A", "set $A"),
        ] {
            assert_eq!(fill(text), Ok(expected.to_owned()), "{text}");
        }
        for text in ["${B}", "$B", "${B:?needed}", "${A", "$", "${A:-${B}}"] {
            assert!(fill(text).is_err(), "{text}");
        }
    }
}
