//! A definition that grows while a file is read, and gives up the fields that Muster refuses.

use std::collections::BTreeMap;

use model::FullName;
use model::spec::RawSpec;
use model::spec::raw::{RawCommands, RawIdentity, RawPolicy};
use model::spec::restart::RawRestart;
use model::spec::runtime::RawRuntime;
use model::spec::stop::{RawStop, StopSignal};
use serde_json::Value;

use super::ledger::{EntryId, Ledger};
use super::order::Source;
use super::{ImportedProcess, PidSource, Settings, words};
use crate::definition::{Definition, Exported};

/// The auto types of a policy.
pub const PERIODIC: i64 = 0;
pub const RESIDENT: i64 = 1;
pub const ONE_SHOT: i64 = 2;
/// The default of `op_timeout`.
const OP_TIMEOUT: i64 = 60;

#[derive(Debug, Clone)]
pub struct Draft {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub spec: RawSpec,
    /// What became which field.
    fields: Vec<(EntryId, String)>,
    /// Where it begins, for messages.
    pub head: EntryId,
    /// What the file calls it.
    source: Source,
}

impl Draft {
    pub fn new(name: impl Into<String>, head: EntryId, source: Source) -> Self {
        Self {
            name: name.into(),
            labels: BTreeMap::new(),
            spec: RawSpec::default(),
            fields: Vec::new(),
            head,
            source,
        }
    }

    pub fn identity(&mut self) -> &mut RawIdentity {
        self.spec.identity.get_or_insert_default()
    }

    pub fn control(&mut self) -> &mut RawCommands {
        self.spec.control.get_or_insert_default()
    }

    pub fn policy(&mut self) -> &mut RawPolicy {
        self.spec.monitor_policy.get_or_insert_default()
    }

    pub fn runtime(&mut self) -> &mut RawRuntime {
        self.spec.runtime.get_or_insert_default()
    }

    pub fn restart(&mut self) -> &mut RawRestart {
        self.spec.restart.get_or_insert_default()
    }

    pub fn stop(&mut self) -> &mut RawStop {
        self.spec.stop.get_or_insert_default()
    }

    /// Records that a setting became a field.
    pub fn carry(&mut self, ledger: &mut Ledger, id: EntryId, field: &str) {
        ledger.carried(id, field);
        self.fields.push((id, field.to_owned()));
    }

    /// A signal by its name; one that Muster does not send is reported.
    pub fn stop_signal(&mut self, ledger: &mut Ledger, id: EntryId, text: &str) {
        match StopSignal::parse(text.trim()) {
            Ok(signal) => {
                self.stop().signals = Some(vec![signal]);
                self.carry(ledger, id, "stop.signals");
            }
            Err(rule) => ledger.not_carried(id, rule),
        }
    }

    /// The same wait before each attempt.
    pub fn same_delay(&mut self, secs: i64) {
        let restart = self.restart();
        (restart.delay, restart.factor, restart.jitter) = (Some(secs), Some(1.0), Some(0));
    }

    /// How long a stop waits before it kills; `op_timeout` grows with it.
    pub fn grace(&mut self, secs: i64) {
        self.stop().grace = Some(secs);
        if secs > OP_TIMEOUT {
            let timeout = self.policy().op_timeout.unwrap_or(OP_TIMEOUT).max(secs);
            self.policy().op_timeout = Some(timeout);
        }
    }

    /// The definition. None where it cannot be one, which is reported for its first line.
    pub fn finish(
        mut self,
        settings: &Settings,
        namespace: &str,
        pid: PidSource,
        ledger: &mut Ledger,
    ) -> Option<ImportedProcess> {
        let plain = self.name.replace(['/', ':'], "-");
        if plain != self.name {
            let place = ledger.place(self.head);
            ledger.note(format!(
                "{place}: {:?} is called {plain:?}: names have no / and :",
                self.name
            ));
        }
        let name = match FullName::parse(namespace, plain.trim()) {
            Ok(name) => name,
            Err(invalid) => return self.give_up(ledger, &invalid.to_string()),
        };
        if self.control().start_cmd.is_none() {
            return self.give_up(ledger, "it has no command that could be read");
        }
        self.name_program();
        // Each round gives up one field, so that there are not more rounds than fields.
        for _ in 0..64 {
            let definition = Definition {
                labels: self.labels.clone(),
                spec: self.spec.clone(),
                ..Definition::default()
            };
            match definition.complete(&name) {
                Ok((spec, labels)) => {
                    let definition = Exported {
                        name,
                        hosts: settings.hosts.clone(),
                        labels,
                        spec,
                    };
                    return Some(ImportedProcess {
                        definition,
                        pid,
                        source: self.source,
                    });
                }
                Err(failure) => {
                    let what = failure.what().to_owned();
                    if !self.drop_field(ledger, &what) {
                        return self.give_up(ledger, &what);
                    }
                }
            }
        }
        self.give_up(ledger, "too many of its fields are wrong")
    }

    /// The program that a reader did not name: the first one of the command. A command that only a shell understands is that
    /// shell's, unless it ends by executing another program.
    fn name_program(&mut self) {
        let command = self.control().start_cmd.clone().unwrap_or_default();
        let identity = self.identity();
        if identity.proc_name.is_some() || command.is_empty() {
            return;
        }
        let words = match words::is_compound(&command) {
            false => words::split(&command).unwrap_or_default(),
            true => match command.rsplit_once("&& exec ") {
                Some((_, last)) if !words::is_compound(last) => {
                    words::split(last).unwrap_or_default()
                }
                _ => Vec::new(),
            },
        };
        identity.proc_name = Some(words::program(&words).unwrap_or_else(|| "sh".to_owned()));
    }

    /// Gives up the field that a message names: `spec.runtime.nice: must be …`.
    fn drop_field(&mut self, ledger: &mut Ledger, what: &str) -> bool {
        let (field, rule) = what.split_once(": ").unwrap_or((what, ""));
        let field = field.strip_prefix("spec.").unwrap_or(field);
        if let Some(begin) = field.strip_prefix("labels.") {
            // The message has the beginning of a long key.
            let mut keys = self.labels.keys();
            let Some(key) = keys.find(|key| key.starts_with(begin)).cloned() else {
                return false;
            };
            self.labels.remove(&key);
            self.report(ledger, &format!("labels.{key}"), rule);
            return true;
        }
        let Ok(mut spec) = serde_json::to_value(&self.spec) else {
            return false;
        };
        let mut at = &mut spec;
        let parts: Vec<&str> = field.splitn(3, '.').collect();
        let Some((last, outer)) = parts.split_last() else {
            return false;
        };
        for part in outer {
            match at.get_mut(*part) {
                Some(inner) => at = inner,
                None => return false,
            }
        }
        let removed = at.as_object_mut().and_then(|table| table.remove(*last));
        let is_required = outer.first() == Some(&"identity")
            && matches!(*last, "proc_name" | "setup_path" | "pid_path" | "user");
        if removed.is_none_or(|value| value.is_null()) || is_required {
            return false;
        }
        self.report(ledger, field, rule);
        match serde_json::from_value::<RawSpec>(spec) {
            Ok(fewer) => {
                self.spec = fewer;
                true
            }
            Err(_) => false,
        }
    }

    /// Reports the settings that became a field, else the first line of the process.
    fn report(&self, ledger: &mut Ledger, field: &str, rule: &str) {
        let is_it = |known: &str| known == field || field.starts_with(&format!("{known}."));
        let why = format!("{field}: {rule}");
        let mut ids: Vec<EntryId> = self
            .fields
            .iter()
            .filter(|(_, known)| is_it(known))
            .map(|(id, _)| *id)
            .collect();
        if ids.is_empty() {
            ids.push(self.head);
        }
        for id in ids {
            ledger.not_carried(id, &why);
        }
    }

    fn give_up(self, ledger: &mut Ledger, why: &str) -> Option<ImportedProcess> {
        let why = format!("{} is not imported: {why}", self.name);
        for (id, _) in &self.fields {
            ledger.not_carried(*id, &why);
        }
        ledger.not_carried(self.head, &why);
        None
    }

    /// User and folder where the file names none.
    pub fn fill_in(
        &mut self,
        settings: &Settings,
        user: Option<&str>,
        directory: Option<&str>,
        file: &str,
        ledger: &mut Ledger,
    ) {
        let name = self.name.clone();
        let identity = self.identity();
        if identity.user.is_none() {
            let taken = settings.user.as_deref().or(user);
            identity.user = taken.map(str::to_owned);
            if settings.user.is_none()
                && let Some(user) = taken
            {
                ledger.note(format!(
                    "{file}: {name}: no user is named; {user} is taken (--user changes it)"
                ));
            }
        }
        if identity.setup_path.is_none() {
            let taken = settings.directory.as_deref().or(directory);
            identity.setup_path = taken.map(str::to_owned);
            if settings.directory.is_none()
                && let Some(directory) = taken
            {
                ledger.note(format!("{file}: {name}: no folder is named; {directory} is taken (--directory changes it)"));
            }
        }
        // A pid file in the root of the file system would surprise.
        if identity.pid_path.is_none() && identity.setup_path.as_deref() == Some("/") {
            identity.pid_path = Some(format!("/run/{}.pid", name.replace(['/', ':', ' '], "-")));
        }
    }
}

/// A JSON scalar as a variable has it.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
