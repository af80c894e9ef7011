//! pm2: `ecosystem.json`.

use std::path::Path;

use model::spec::restart::GiveUp;
use serde_json::{Map, Value};

use super::draft::{Draft, ONE_SHOT, RESIDENT, scalar};
use super::ledger::{EntryId, Ledger};
use super::{Imported, PidSource, Settings, pm2_command, words};
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
        let mut draft = Draft::new(process, head);
        if instances.unwrap_or(1) > 1 {
            draft
                .runtime()
                .env
                .insert("NODE_APP_INSTANCE".to_owned(), index.to_string());
        }
        draft.policy().auto_type = Some(RESIDENT);
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
        let (user, folder) = super::caller(file);
        draft.fill_in(settings, user.as_deref(), folder.as_deref(), file, ledger);
        let namespace = settings.namespace.as_deref().unwrap_or("imported");
        let finished = draft.finish(settings, namespace, PidSource::Pm2(name.clone()), ledger);
        imported.processes.extend(finished);
    }
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
        let is_off = matches!(value, Value::Bool(false) | Value::Null);
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
                draft.policy().auto_type = Some(ONE_SHOT);
                draft.carry(self.ledger, id, "monitor_policy.auto_type");
            }
            "autorestart" => draft.carry(self.ledger, id, "monitor_policy.auto_type"),
            "max_memory_restart" => match words::bytes(&text) {
                Ok(bytes) => {
                    draft.runtime().memory_max = Some(bytes);
                    draft.carry(self.ledger, id, "runtime.memory_max");
                }
                Err(rule) => self.ledger.not_carried(id, rule),
            },
            "cron_restart" | "cron" if text == "0" || is_off => self.ledger.no_effect(id, "is off"),
            "cron_restart" | "cron" => self.ledger.not_carried(
                id,
                "Muster restarts nothing by the clock; a job or cron can run muster restart",
            ),
            "restart_delay"
            | "exp_backoff_restart_delay"
            | "max_restarts"
            | "min_uptime"
            | "kill_timeout" => {
                self.times(draft, key, &text, id);
            }
            _ if key.starts_with("env") => self.variable(draft, key, value, id),
            _ => self.output_or_other(draft, key, value, id),
        }
    }

    fn times(&mut self, draft: &mut Draft, key: &str, text: &str, id: EntryId) {
        // pm2 counts milliseconds where there is no unit.
        let secs = words::seconds(text, 1);
        match (key, secs) {
            ("max_restarts", _) => match text.parse::<u32>() {
                Ok(n) => {
                    draft.restart().give_up = Some(GiveUp::After(n));
                    draft.carry(self.ledger, id, "restart.give_up");
                }
                Err(_) => self.ledger.not_carried(id, "is no number"),
            },
            (_, Err(rule)) => self.ledger.not_carried(id, rule),
            ("restart_delay", Ok(0)) => self.ledger.no_effect(id, "is the default"),
            ("restart_delay", Ok(secs)) => {
                let restart = draft.restart();
                (restart.delay, restart.factor, restart.jitter) = (Some(secs), Some(1.0), Some(0));
                draft.carry(self.ledger, id, "restart.delay");
            }
            ("exp_backoff_restart_delay", Ok(secs)) => {
                let restart = draft.restart();
                // pm2 multiplies by 1.5 up to 15 seconds, and begins anew after 30.
                (restart.delay, restart.factor) = (Some(secs.max(1)), Some(1.5));
                (restart.delay_max, restart.reset) = (Some(secs.max(15)), Some(30));
                draft.carry(self.ledger, id, "restart.delay");
            }
            ("min_uptime", Ok(secs)) => {
                draft.restart().reset = Some(secs.max(1));
                draft.carry(self.ledger, id, "restart.reset");
            }
            (_, Ok(secs)) => {
                draft.grace(secs.max(1));
                draft.carry(self.ledger, id, "stop.grace");
            }
        }
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
        let is_off = matches!(value, Value::Bool(false) | Value::Null);
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
            "listen_timeout" | "wait_ready" => {
                self.ledger.not_carried(
                    id,
                    "Muster does not wait for a message, but for monitor_policy.start_check_secs",
                );
            }
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
