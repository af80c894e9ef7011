//! pm2: `ecosystem.json`.

use std::path::Path;

use model::spec::schedule::Overlap;
use serde_json::{Map, Value};

use super::draft::{Draft, ONE_SHOT, PERIODIC, RESIDENT, scalar};
use super::ledger::{EntryId, Ledger};
use super::order::Source;
use super::{Imported, PidSource, Settings, pm2_command, pm2_restart, words};
use crate::declare::lines::{Lines, member};
use crate::failure::Failure;

/// More instances of one app are refused.
const MAX_INSTANCES: u64 = 1000;

pub fn read(
    file: &str,
    text: &str,
    settings: &Settings,
    imported: &mut Imported,
) -> Result<(), Failure> {
    let value: Value = serde_json::from_str(text).map_err(|e| {
        Failure::usage(format!("{file}:{}: is no JSON: {e}", e.line()))
            .advise("of ecosystem.config.js: node -p 'JSON.stringify(require(\"./ecosystem.config.js\"))' > ecosystem.json")
    })?;
    let lines = Lines::of_json(text);
    if let Some((path, line)) = lines.repeated.first() {
        return Err(Failure::usage(format!(
            "{file}:{line}: {path}: stands twice"
        )));
    }
    let (apps, prefix) = match &value {
        Value::Array(apps) => (apps.clone(), ""),
        Value::Object(top) if top.contains_key("apps") => {
            for (key, value) in top.iter().filter(|(key, _)| *key != "apps") {
                let id = enter(&mut imported.ledger, file, &lines, key, value);
                imported
                    .ledger
                    .not_carried(id, "is no app: Muster deploys nothing");
            }
            match &top["apps"] {
                Value::Array(apps) => (apps.clone(), "apps"),
                Value::Object(_) => (vec![top["apps"].clone()], "apps"),
                _ => return Err(Failure::usage(format!("{file}:1: apps: must be a list"))),
            }
        }
        Value::Object(_) => (vec![value.clone()], ""),
        _ => {
            return Err(Failure::usage(format!(
                "{file}:1: must be an object with apps"
            )));
        }
    };
    let is_list = value.is_array() || value.get("apps").is_some_and(Value::is_array);
    for (index, app) in apps.iter().enumerate() {
        let path = match is_list {
            true => format!("{prefix}[{index}]"),
            false => prefix.to_owned(),
        };
        let Value::Object(app) = app else {
            let line = lines.line(&path);
            return Err(Failure::usage(format!(
                "{file}:{line}: {path}: must be an object"
            )));
        };
        let mut entries = Vec::new();
        for (key, value) in app {
            let inner = member(&path, key);
            let is_table = value.is_object() && (key == "env" || key.starts_with("env_"));
            let place = match is_table {
                true => (lines.line(&inner), lines.line(&inner)),
                false => (lines.line(&inner), lines.last(&inner)),
            };
            let id = enter_at(&mut imported.ledger, file, place, key, value);
            if is_table {
                for (name, value) in value.as_object().into_iter().flatten() {
                    let inner = member(&inner, name);
                    let place = (lines.line(&inner), lines.last(&inner));
                    let name = format!("{key}.{name}");
                    let id = enter_at(&mut imported.ledger, file, place, &name, value);
                    entries.push((name, value.clone(), id));
                }
            }
            entries.push((key.clone(), value.clone(), id));
        }
        let line = lines.line(&path);
        let head = imported.ledger.enter(file, (line, line), "an app");
        imported.ledger.no_effect(head, "begins an app");
        self::app(file, app, &entries, head, settings, imported);
    }
    Ok(())
}

fn enter(ledger: &mut Ledger, file: &str, lines: &Lines, key: &str, value: &Value) -> EntryId {
    enter_at(ledger, file, (lines.line(key), lines.last(key)), key, value)
}

fn enter_at(
    ledger: &mut Ledger,
    file: &str,
    lines: (usize, usize),
    key: &str,
    value: &Value,
) -> EntryId {
    // Values of variables may be secrets.
    let shown = match key.contains('.') || value.is_object() {
        true => "…".to_owned(),
        false => value.to_string(),
    };
    ledger.enter(file, lines, &format!("{key}: {shown}"))
}

fn app(
    file: &str,
    app: &Map<String, Value>,
    entries: &[(String, Value, EntryId)],
    head: EntryId,
    settings: &Settings,
    imported: &mut Imported,
) {
    let text = |key: &str| app.get(key).and_then(scalar);
    let script = text("script").unwrap_or_default();
    let stem = Path::new(&script).file_stem().unwrap_or_default();
    let name = text("name").unwrap_or_else(|| stem.to_string_lossy().into_owned());
    let instances = match app.get("instances") {
        None => Some(1),
        Some(value) => {
            let number = value
                .as_i64()
                .or_else(|| value.as_str().and_then(|text| text.parse().ok()));
            number
                .and_then(|n| u64::try_from(n).ok())
                .filter(|n| (1..=MAX_INSTANCES).contains(n))
        }
    };
    for index in 0..instances.unwrap_or(1) {
        let ledger = &mut imported.ledger;
        let process = match instances.unwrap_or(1) {
            1 => name.clone(),
            _ => format!("{name}-{index}"),
        };
        let mut draft = Draft::new(process, head, Source::new(file, &name));
        if instances.unwrap_or(1) > 1 {
            draft
                .runtime()
                .env
                .insert("NODE_APP_INSTANCE".to_owned(), index.to_string());
        }
        // pm2 sends SIGINT, and SIGKILL 1.6 seconds later.
        draft.stop().signals = Some(vec![model::spec::stop::StopSignal::Int]);
        draft.stop().grace = Some(2);
        pm2_command::command(&mut draft, app, &script, ledger, entries);
        let mut reader = Reader {
            settings,
            app,
            instances,
            ledger,
        };
        for (key, value, id) in entries {
            reader.setting(&mut draft, key, value, *id);
        }
        let is_restarted = *draft.policy().auto_type.get_or_insert(RESIDENT) == RESIDENT;
        pm2_restart::restarts(&mut draft, entries, is_restarted, ledger);
        let (user, folder) = super::caller(file);
        draft.fill_in(settings, user.as_deref(), folder.as_deref(), file, ledger);
        let namespace = settings.namespace.as_deref().unwrap_or("imported");
        let finished = draft.finish(settings, namespace, PidSource::Pm2(name.clone()), ledger);
        imported.processes.extend(finished);
    }
}

/// Whether a setting says no.
fn is_off(value: Option<&Value>) -> bool {
    matches!(value, Some(Value::Bool(false) | Value::Null))
}

struct Reader<'a, 'l> {
    settings: &'a Settings,
    app: &'a Map<String, Value>,
    instances: Option<u64>,
    ledger: &'l mut Ledger,
}

impl Reader<'_, '_> {
    fn setting(&mut self, draft: &mut Draft, key: &str, value: &Value, id: EntryId) {
        let text = scalar(value).unwrap_or_default();
        let is_off = is_off(Some(value));
        match key {
            "name" => draft.carry(self.ledger, id, "name"),
            "script" | "args" | "interpreter" | "exec_interpreter" | "interpreter_args"
            | "interpreterArgs" | "node_args" | "nodeArgs" => {
                draft.carry(self.ledger, id, "control.start_cmd")
            }
            "cwd" if text.starts_with('/') => {
                draft.identity().setup_path = Some(text);
                draft.carry(self.ledger, id, "identity.setup_path");
            }
            "cwd" => self
                .ledger
                .not_carried(id, "is no absolute path; the folder of the file is taken"),
            "uid" | "user" => {
                draft.identity().user = Some(text);
                draft.carry(self.ledger, id, "identity.user");
            }
            "pid_file" | "pid" if text.starts_with('/') => {
                draft.identity().pid_path = Some(text);
                draft.carry(self.ledger, id, "identity.pid_path");
            }
            "instances" => match self.instances {
                Some(_) => self.ledger.carried(id, "one definition for each instance"),
                None => self.ledger.not_carried(
                    id,
                    "is no number: as many as there are cores, or nothing; one is taken",
                ),
            },
            "exec_mode" => match (text.as_str(), self.instances) {
                ("fork" | "fork_mode", _) | (_, Some(1)) => {
                    self.ledger.no_effect(id, "one program, as Muster runs it")
                }
                _ => self.ledger.not_carried(
                    id,
                    "the instances do not share a port: give each its own, or use a proxy",
                ),
            },
            "env" => self.ledger.no_effect(id, "holds variables"),
            "autorestart" if is_off => {
                // Unless it has a schedule.
                draft.policy().auto_type.get_or_insert(ONE_SHOT);
                draft.carry(self.ledger, id, "monitor_policy.auto_type");
            }
            "autorestart" => draft.carry(self.ledger, id, "monitor_policy.auto_type"),
            "max_memory_restart" => match words::bytes(&text) {
                Ok(bytes) => {
                    draft.runtime().memory_max = Some(bytes);
                    draft.carry(self.ledger, id, "runtime.memory_max");
                    self.ledger.note(format!(
                        "{}: pm2 looks every 30 s and restarts with its signals; here the kernel kills what exceeds runtime.memory_max, and the agent starts it again",
                        self.ledger.place(id)
                    ));
                }
                Err(rule) => self.ledger.not_carried(id, rule),
            },
            "cron_restart" | "cron" if text == "0" || is_off => self.ledger.no_effect(id, "is off"),
            "cron_restart" | "cron" => self.schedule(draft, &text, id),
            "kill_timeout" => match self.ledger.seconds(id, &text, 1, 1) {
                Ok(secs) => {
                    draft.grace(secs);
                    draft.carry(self.ledger, id, "stop.grace");
                }
                Err(rule) => self.ledger.not_carried(id, rule),
            },
            key if pm2_restart::SETTINGS.contains(&key) => {}
            _ if key.starts_with("env") => self.variable(draft, key, value, id),
            _ => self.output_or_other(draft, key, value, id),
        }
    }

    fn waits_for_a_message(&self) -> bool {
        let mode = self.app.get("exec_mode").and_then(Value::as_str);
        !is_off(self.app.get("wait_ready").or(Some(&Value::Null)))
            || mode.is_some_and(|mode| mode.starts_with("cluster"))
    }

    /// pm2 starts an app anew at these times, also one that has ended. That is a schedule if it restarts it at no other time.
    fn schedule(&mut self, draft: &mut Draft, text: &str, id: EntryId) {
        if !is_off(self.app.get("autorestart")) {
            self.ledger.not_carried(
                id,
                "Muster restarts a resident process at no time of the clock; a job or cron can run muster restart",
            );
            return;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let rule = match words.as_slice() {
            ["0", five @ ..] if five.len() == 5 => five.join(" "),
            words => words.join(" "),
        };
        draft.policy().auto_type = Some(PERIODIC);
        draft.policy().crontab_rule = Some(rule);
        draft.carry(self.ledger, id, "monitor_policy.crontab_rule");
        // What still runs is started anew.
        draft.spec.schedule.get_or_insert_default().overlap = Some(Overlap::Kill);
        draft.carry(self.ledger, id, "schedule.overlap");
    }

    fn variable(&mut self, draft: &mut Draft, key: &str, value: &Value, id: EntryId) {
        let chosen = self.settings.environment.as_deref();
        let Some((table, name)) = key.split_once('.') else {
            match key.strip_prefix("env_") {
                Some(name) if chosen == Some(name) => self.ledger.no_effect(id, "holds variables"),
                Some(name) => self
                    .ledger
                    .not_carried(id, format!("--env {name} takes these variables")),
                None => {}
            }
            return;
        };
        if table != "env" && table.strip_prefix("env_") != chosen {
            self.ledger.no_effect(id, "belongs to another environment");
            return;
        }
        // What the environment says wins over `env`, in whatever order the two stand.
        let is_hidden = table == "env"
            && chosen.is_some_and(|chosen| {
                let own = self.app.get(&format!("env_{chosen}"));
                own.is_some_and(|own| own.get(name).is_some())
            });
        match scalar(value) {
            _ if is_hidden => self.ledger.no_effect(id, "the environment replaces it"),
            Some(text) => {
                draft.runtime().env.insert(name.to_owned(), text);
                draft.carry(self.ledger, id, &format!("runtime.env.{name}"));
            }
            None => self
                .ledger
                .not_carried(id, "must be a text, a number, true or false"),
        }
    }

    fn output_or_other(&mut self, draft: &mut Draft, key: &str, value: &Value, id: EntryId) {
        let text = scalar(value).unwrap_or_default();
        let is_off = is_off(Some(value));
        let other = |keys: &[&str]| {
            keys.iter()
                .find_map(|key| self.app.get(*key))
                .and_then(scalar)
        };
        let out = other(&["out_file", "output", "log_file", "log"]);
        match key {
            "out_file" | "output" | "log_file" | "log"
                if out.as_deref() == Some(&text) && text.starts_with('/') =>
            {
                draft.identity().log_path = Some(text);
                draft.carry(self.ledger, id, "identity.log_path");
            }
            "out_file" | "output" | "log_file" | "log" | "error_file" | "error" => {
                match out.as_deref() == Some(&text) && key.starts_with("error") {
                    true => self
                        .ledger
                        .no_effect(id, "output and errors go into one log"),
                    false if !text.starts_with('/') => self.ledger.not_carried(
                        id,
                        "is no absolute path: the agent keeps the output of the last runs",
                    ),
                    false => self
                        .ledger
                        .not_carried(id, "output and errors go into one log"),
                }
            }
            "merge_logs" | "combine_logs" => self.ledger.no_effect(id, "each process has one log"),
            "watch" | "ignore_watch" | "watch_delay" | "watch_options" if is_off => {
                self.ledger.no_effect(id, "is off")
            }
            "watch" | "ignore_watch" | "watch_delay" | "watch_options" => {
                self.ledger
                    .not_carried(id, "Muster does not restart when files change");
            }
            "wait_ready" if is_off => self.ledger.no_effect(id, "is off"),
            "wait_ready" => self.ledger.not_carried(
                id,
                "Muster hears no process.send('ready'): a ready probe (probes.ready) asks the program instead",
            ),
            "listen_timeout" if self.waits_for_a_message() => self.ledger.not_carried(
                id,
                "Muster waits for no message; with a ready probe, a start waits for monitor_policy.op_timeout",
            ),
            "listen_timeout" => self
                .ledger
                .no_effect(id, "counts only with wait_ready or in cluster mode"),
            "stop_exit_codes" => self
                .ledger
                .not_carried(id, "Muster restarts a resident process after any exit"),
            "namespace" => {
                draft.labels.insert("namespace".to_owned(), text);
                draft.carry(self.ledger, id, "labels.namespace");
            }
            "treekill" if is_off => self
                .ledger
                .not_carried(id, "Muster ends the process with its descendants"),
            "treekill" | "version" | "vizion" | "force" | "instance_var" | "automation" | "pmx" => {
                self.ledger.no_effect(id, "changes nothing here");
            }
            _ if is_off => self.ledger.no_effect(id, "is off"),
            _ => {}
        }
    }
}
