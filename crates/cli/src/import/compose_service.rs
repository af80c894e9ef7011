//! One service of a compose file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use model::spec::restart::GiveUp;
use serde_json::Value;

use super::compose::ServiceSetting;
use super::draft::{Draft, ONE_SHOT, RESIDENT, scalar};
use super::ledger::{EntryId, Ledger};
use super::order::Source;
use super::{Imported, PidSource, Settings, compose_depends, compose_health, environment, words};

/// More replicas of one service are refused.
const MAX_REPLICAS: u64 = 1000;
const NOT_IMAGES: &str = "Muster runs programs of the host, not images";

/// What only a container has.
const OF_CONTAINERS: [&str; 39] = [
    "build",
    "cap_add",
    "cap_drop",
    "cgroup",
    "cgroup_parent",
    "configs",
    "container_name",
    "credential_spec",
    "devices",
    "dns",
    "dns_opt",
    "dns_search",
    "domainname",
    "expose",
    "external_links",
    "extra_hosts",
    "gpus",
    "group_add",
    "hostname",
    "image",
    "init",
    "ipc",
    "isolation",
    "logging",
    "mac_address",
    "network_mode",
    "networks",
    "pid",
    "platform",
    "ports",
    "privileged",
    "pull_policy",
    "read_only",
    "secrets",
    "security_opt",
    "shm_size",
    "sysctls",
    "tmpfs",
    "volumes",
];

pub(super) struct ServiceReader<'r> {
    pub(super) file: &'r str,
    pub(super) namespace: &'r str,
    pub(super) settings: &'r Settings,
    pub(super) variables: &'r BTreeMap<String, String>,
    /// The services that others wait for to complete.
    pub(super) completing: BTreeSet<&'r str>,
}

impl ServiceReader<'_> {
    /// Whether it is imported.
    pub(super) fn read(
        &mut self,
        name: &str,
        head: EntryId,
        entries: &[ServiceSetting],
        imported: &mut Imported,
    ) -> bool {
        let number = |key: &str| {
            entries
                .iter()
                .find(|one| one.key == key)
                .and_then(|one| one.value.as_u64())
        };
        let replicas = number("scale")
            .or_else(|| number("deploy.replicas"))
            .unwrap_or(1);
        let files = self.env_files(entries, &mut imported.ledger);
        for index in 0..replicas.clamp(1, MAX_REPLICAS) {
            let ledger = &mut imported.ledger;
            let process = match replicas {
                0 | 1 => name.to_owned(),
                _ => format!("{name}-{}", index + 1),
            };
            let mut draft = Draft::new(process, head, Source::new(self.file, name));
            draft.policy().auto_type = Some(RESIDENT);
            // compose kills what does not stop within ten seconds.
            draft.stop().grace = Some(10);
            for one in &files {
                draft
                    .runtime()
                    .env
                    .insert(one.key.clone(), one.value.clone());
                draft.carry(ledger, one.id, &format!("runtime.env.{}", one.key));
            }
            self.command(&mut draft, entries, ledger);
            for one in entries {
                self.setting(&mut draft, one, replicas, ledger);
            }
            compose_health::health_check(&mut draft, entries, ledger);
            let has_restart = entries
                .iter()
                .any(|one| one.key == "restart" || one.key.starts_with("deploy.restart_policy"));
            if !has_restart && self.completing.contains(name) {
                draft.policy().auto_type = Some(ONE_SHOT);
                ledger.note(format!("{}: {name} runs once (one-shot): others wait for it to complete, and compose does not restart it", self.file));
            } else if !has_restart {
                ledger.note(format!("{}: compose does not restart {name} (restart is no by default); Muster restarts a resident process", self.file));
            }
            if draft.control().start_cmd.is_none() {
                ledger.not_carried(head, format!("{name} is not imported: it has no command, and what its image runs is not known"));
                for one in entries {
                    ledger.not_carried(one.id, format!("{name} is not imported"));
                }
                return false;
            }
            let (user, folder) = super::caller(self.file);
            draft.fill_in(
                self.settings,
                user.as_deref(),
                folder.as_deref(),
                self.file,
                ledger,
            );
            let pid = PidSource::Nowhere("it runs in a container, which Muster does not take over");
            let finished = draft.finish(self.settings, self.namespace, pid, ledger);
            imported.processes.extend(finished);
        }
        true
    }

    /// The variables of `env_file`, which are read where the files are beside the compose file.
    fn env_files(
        &self,
        entries: &[ServiceSetting],
        ledger: &mut Ledger,
    ) -> Vec<environment::Variable> {
        let mut found = Vec::new();
        let Some(setting) = entries.iter().find(|one| one.key == "env_file") else {
            return found;
        };
        let items = match &setting.value {
            Value::Array(items) => items.clone(),
            one => vec![one.clone()],
        };
        for item in items {
            let file = scalar(&item)
                .or_else(|| item.get("path").and_then(scalar))
                .unwrap_or_default();
            let path = Path::new(self.file).with_file_name("").join(&file);
            let shown = path.display().to_string();
            match std::fs::read_to_string(&path) {
                Ok(text) => {
                    ledger.carried(setting.id, "runtime.env");
                    found.extend(environment::read(&shown, &text, ledger));
                }
                Err(e) => ledger.not_carried(setting.id, format!("{shown}: cannot be read: {e}")),
            }
        }
        found
    }

    /// `entrypoint` and `command`, both lists or texts without a shell.
    fn command(&self, draft: &mut Draft, entries: &[ServiceSetting], ledger: &mut Ledger) {
        let mut all = Vec::new();
        for key in ["entrypoint", "command"] {
            let Some(one) = entries.iter().find(|one| one.key == key) else {
                continue;
            };
            let read = match &one.value {
                Value::Null => {
                    ledger.no_effect(one.id, "is empty");
                    continue;
                }
                Value::Array(items) => items
                    .iter()
                    .map(|item| scalar(item).ok_or_else(|| "must be texts".to_owned()))
                    .collect(),
                other => scalar(other)
                    .ok_or_else(|| "must be a text or a list".to_owned())
                    .and_then(|text| words::split(&text)),
            };
            match read {
                Ok(words) => {
                    all.extend(words);
                    draft.carry(ledger, one.id, "control.start_cmd");
                }
                Err(rule) => ledger.not_carried(one.id, rule),
            }
        }
        if !all.is_empty() {
            draft.control().start_cmd = Some(words::join(&all));
        }
    }

    fn setting(&self, draft: &mut Draft, one: &ServiceSetting, replicas: u64, ledger: &mut Ledger) {
        let (id, value) = (one.id, &one.value);
        let text = scalar(value).unwrap_or_default();
        match one.key.as_str() {
            "command" | "entrypoint" | "env_file" => {}
            "working_dir" => {
                draft.identity().setup_path = Some(text);
                draft.carry(ledger, id, "identity.setup_path");
            }
            "user" => match text.split_once(':') {
                Some(_) => ledger.not_carried(
                    id,
                    "Muster takes the groups of the user: name the user alone",
                ),
                None => {
                    draft.identity().user = Some(text);
                    draft.carry(ledger, id, "identity.user");
                }
            },
            "restart" | "deploy.restart_policy.condition" => restart(draft, &text, id, ledger),
            "deploy.restart_policy.delay" => match ledger.seconds(id, &text, 1000, 1) {
                Ok(secs) => {
                    draft.same_delay(secs);
                    draft.carry(ledger, id, "restart.delay");
                }
                Err(rule) => ledger.not_carried(id, rule),
            },
            "deploy.restart_policy.max_attempts" => match text.parse() {
                Ok(n) => {
                    draft.restart().give_up = Some(GiveUp::After(n));
                    draft.carry(ledger, id, "restart.give_up");
                }
                Err(_) => ledger.not_carried(id, "is no number"),
            },
            "stop_signal" => draft.stop_signal(ledger, id, &text),
            "stop_grace_period" => match ledger.seconds(id, &text, 1000, 0) {
                Ok(secs) if secs > 0 => {
                    draft.grace(secs);
                    draft.carry(ledger, id, "stop.grace");
                }
                _ => ledger.not_carried(id, "must be a time above 0"),
            },
            "mem_limit" | "deploy.resources.limits.memory" => match words::bytes(&text) {
                Ok(bytes) => {
                    draft.runtime().memory_max = Some(bytes);
                    draft.carry(ledger, id, "runtime.memory_max");
                }
                Err(rule) => ledger.not_carried(id, rule),
            },
            "pids_limit" | "deploy.resources.limits.pids" => match text.parse::<i64>() {
                Ok(n) => {
                    draft.runtime().pids_max = Some(n);
                    draft.carry(ledger, id, "runtime.pids_max");
                }
                Err(_) => ledger.not_carried(id, "is no number"),
            },
            "cpus" | "deploy.resources.limits.cpus" => self.cpus(draft, &text, id, ledger),
            "scale" | "deploy.replicas" => match replicas {
                1..=MAX_REPLICAS => ledger.carried(id, "one definition for each replica"),
                0 => ledger.not_carried(
                    id,
                    "none is to run: the definition is written, and starts nothing by itself",
                ),
                _ => ledger.not_carried(id, format!("more than {MAX_REPLICAS}")),
            },
            key if key == "depends_on" || key.starts_with(compose_depends::EACH) => {}
            key if key.starts_with("healthcheck") => {}
            "links" => ledger.not_carried(
                id,
                "Muster runs programs of the host, not containers; depends_on orders the starts",
            ),
            key if key.starts_with("ulimits.") => {
                limit(draft, &key["ulimits.".len()..], value, id, ledger)
            }
            key if key.starts_with("environment.") => {
                self.variable(draft, &key["environment.".len()..], value, id, ledger)
            }
            key if key.starts_with("labels.") => {
                draft.labels.insert(key["labels.".len()..].to_owned(), text);
                draft.carry(ledger, id, key);
            }
            "init" | "tty" | "stdin_open" if value == &Value::Bool(false) => {
                ledger.no_effect(id, "is the default")
            }
            "tty" | "stdin_open" => {
                ledger.not_carried(id, "a process of Muster has no terminal and no input")
            }
            "profiles" => ledger.not_carried(
                id,
                "Muster has no profiles: leave the process out, or stop it",
            ),
            key if OF_CONTAINERS.contains(&key) => ledger.not_carried(id, NOT_IMAGES),
            key if key.starts_with("x-") => ledger.no_effect(id, "counts for other programs"),
            _ => {}
        }
    }

    fn cpus(&self, draft: &mut Draft, text: &str, id: EntryId, ledger: &mut Ledger) {
        match (text.parse::<f64>(), self.settings.cores) {
            (Ok(share), Some(cores)) if cores > 0 => {
                draft.runtime().cpu_max = Some((share * 100.0 / f64::from(cores)).min(100.0));
                draft.carry(ledger, id, "runtime.cpu_max");
            }
            (Ok(_), _) => ledger.not_carried(
                id,
                "counts cores, runtime.cpu_max the whole machine: --cores N says how many it has",
            ),
            (Err(_), _) => ledger.not_carried(id, "is no number"),
        }
    }

    /// A variable without a value is that of the caller.
    fn variable(
        &self,
        draft: &mut Draft,
        name: &str,
        value: &Value,
        id: EntryId,
        ledger: &mut Ledger,
    ) {
        let text = match value {
            Value::Null => self.variables.get(name).cloned(),
            value => scalar(value),
        };
        match text {
            Some(text) => {
                draft.runtime().env.insert(name.to_owned(), text);
                draft.carry(ledger, id, &format!("runtime.env.{name}"));
            }
            None => ledger.not_carried(
                id,
                "has no value here: compose takes it from its own environment",
            ),
        }
    }
}

fn restart(draft: &mut Draft, text: &str, id: EntryId, ledger: &mut Ledger) {
    match text {
        "always" | "unless-stopped" | "any" => draft.carry(ledger, id, "monitor_policy.auto_type"),
        "no" | "none" | "false" => {
            draft.policy().auto_type = Some(ONE_SHOT);
            draft.carry(ledger, id, "monitor_policy.auto_type");
        }
        _ if text.starts_with("on-failure") => {
            if let Some(n) = text
                .strip_prefix("on-failure:")
                .and_then(|n| n.parse().ok())
            {
                draft.restart().give_up = Some(GiveUp::After(n));
            }
            ledger.not_carried(
                id,
                "Muster restarts a resident process after any exit, also after a good one",
            );
        }
        _ => ledger.not_carried(id, "is no value of restart"),
    }
}

fn limit(draft: &mut Draft, name: &str, value: &Value, id: EntryId, ledger: &mut Ledger) {
    let number = match value {
        Value::Object(table) => match (table.get("soft"), table.get("hard")) {
            (Some(soft), Some(hard)) if soft == hard => soft.as_i64(),
            _ => {
                ledger.not_carried(id, "Muster sets soft and hard limit alike");
                return;
            }
        },
        value => value.as_i64(),
    };
    let Some(number) = number else {
        ledger.not_carried(id, "is no number");
        return;
    };
    let runtime = draft.runtime();
    match name {
        "nofile" => runtime.nofile = Some(number),
        "nproc" => runtime.nproc = Some(number),
        "core" => runtime.core = Some(number),
        _ => {
            ledger.not_carried(id, "Muster has no such limit");
            return;
        }
    }
    draft.carry(ledger, id, &format!("runtime.{name}"));
}
