//! supervisord: programs of `supervisord.conf` and of the files that it includes.

use std::collections::BTreeMap;

use super::draft::{Draft, ONE_SHOT, RESIDENT};
use super::ledger::{EntryId, Ledger};
use super::order::Source;
use super::supervisord_file::{Section, environment, expand, with_includes};
use super::supervisord_priority::{self, Priority, Program};
use super::{Imported, PidSource, Settings, words};
use crate::failure::Failure;

/// More processes of one program are refused.
const MAX_PROCESSES: usize = 1000;

/// Sections about supervisord itself.
const OWN: [&str; 4] = [
    "supervisorctl",
    "unix_http_server",
    "inet_http_server",
    "supervisord",
];

pub fn read(
    file: &str,
    text: &str,
    settings: &Settings,
    imported: &mut Imported,
) -> Result<(), Failure> {
    let ledger = &mut imported.ledger;
    let sections = with_includes(file, text, ledger);
    let groups = groups(&sections, ledger);
    let daemon = sections
        .iter()
        .find(|section| section.name == "supervisord");
    let mut programs = Vec::new();
    for section in &sections {
        match section.name.split_once(':') {
            Some(("program", name)) => programs.push((name.trim().to_owned(), section)),
            Some(("group", _)) => {}
            Some(("rpcinterface", _)) => own(section, ledger),
            Some((kind @ ("eventlistener" | "fcgi-program"), _)) => {
                ledger.not_carried(section.head, format!("Muster has nothing like [{kind}]"));
                for option in &section.options {
                    ledger.not_carried(option.id, format!("stands in [{kind}]"));
                }
            }
            _ if section.name == "include" => {}
            _ if OWN.contains(&section.name.as_str()) => own(section, ledger),
            _ => {
                ledger.not_carried(section.head, "is no section of supervisord");
                for option in &section.options {
                    ledger.not_carried(option.id, "stands in an unknown section");
                }
            }
        }
    }
    let mut orders = Vec::new();
    for (name, section) in programs {
        let group = groups.get(&name);
        orders.push(order(file, &name, section, group, &mut imported.ledger));
        let source = Source::new(file, &name);
        let is_reached = |section: &Section| section.name == "supervisorctl";
        let config = sections.iter().any(is_reached).then_some(file);
        let group = group.map(|group| &group.name);
        program(
            &name, source, config, section, daemon, group, settings, imported,
        );
    }
    let wishes = supervisord_priority::wishes(file, &orders, &mut imported.ledger);
    imported.wishes.extend(wishes);
    Ok(())
}

fn own(section: &Section, ledger: &mut Ledger) {
    const INHERITED: [&str; 6] = [
        "environment",
        "umask",
        "user",
        "directory",
        "minfds",
        "minprocs",
    ];
    ledger.no_effect(section.head, "is about supervisord itself");
    for option in &section.options {
        let is_inherited =
            section.name == "supervisord" && INHERITED.contains(&option.key.as_str());
        if !is_inherited {
            ledger.no_effect(option.id, "is about supervisord itself");
        }
    }
}

#[derive(Debug, Clone)]
struct Group {
    name: String,
    priority: Option<Priority>,
}

/// The group of each program.
fn groups(sections: &[Section], ledger: &mut Ledger) -> BTreeMap<String, Group> {
    let mut groups = BTreeMap::new();
    for section in sections {
        let Some(name) = section.name.strip_prefix("group:") else {
            continue;
        };
        ledger.carried(section.head, "labels.group");
        let group = Group {
            name: name.trim().to_owned(),
            priority: priority(section, ledger),
        };
        for option in section.options.iter().filter(|one| one.key == "programs") {
            ledger.carried(option.id, "labels.group");
            for program in option.value.split(',').map(str::trim) {
                groups.insert(program.to_owned(), group.clone());
            }
        }
    }
    groups
}

/// The last `priority=` of a section.
fn priority(section: &Section, ledger: &mut Ledger) -> Option<Priority> {
    let mut written = section
        .options
        .iter()
        .rev()
        .filter(|one| one.key == "priority");
    let last = written.next()?;
    for one in written {
        ledger.no_effect(one.id, "a later line replaces it");
    }
    Priority::read(last.id, &last.value, ledger)
}

/// What decides when supervisord starts a program.
fn order(
    file: &str,
    name: &str,
    section: &Section,
    group: Option<&Group>,
    ledger: &mut Ledger,
) -> Program {
    let is = |key: &str, values: &[&str]| {
        let value = section.value(key).map(|value| value.trim().to_lowercase());
        value.is_some_and(|value| values.contains(&value.as_str()))
    };
    Program {
        source: Source::new(file, name),
        group: group.map(|group| group.name.clone()),
        group_priority: group.and_then(|group| group.priority),
        priority: priority(section, ledger),
        unordered: if is("autostart", &["false", "off", "no", "0"]) {
            Some("orders only what supervisord starts by itself, which autostart=false is not")
        } else if is("autorestart", &["false"]) {
            Some("the program runs once, and is not up when it has ended: nothing waits for it")
        } else {
            None
        },
    }
}

fn program(
    name: &str,
    source: Source,
    config: Option<&str>,
    section: &Section,
    daemon: Option<&Section>,
    group: Option<&String>,
    settings: &Settings,
    imported: &mut Imported,
) {
    let ledger = &mut imported.ledger;
    let number = |key: &str, default: usize| {
        let value = section.value(key).map(str::trim).unwrap_or_default();
        value.parse::<usize>().unwrap_or(default)
    };
    let (n, first) = (number("numprocs", 1), number("numprocs_start", 0));
    for option in &section.options {
        match option.key.as_str() {
            "numprocs" if n <= MAX_PROCESSES && option.value.trim().parse::<usize>().is_ok() => {
                ledger.carried(option.id, "one definition for each process");
            }
            "numprocs_start" => ledger.carried(option.id, "process_num"),
            "numprocs" => {
                ledger.not_carried(option.id, format!("must be a number up to {MAX_PROCESSES}"))
            }
            _ => {}
        }
    }
    let file = section.file.clone();
    let here = super::caller(&file).1.unwrap_or_default();
    for index in 0..n.min(MAX_PROCESSES) {
        let ledger = &mut imported.ledger;
        let mut values: BTreeMap<String, String> = [
            ("program_name", name.to_owned()),
            ("process_num", (first + index).to_string()),
            ("group_name", group.map_or(name, String::as_str).to_owned()),
            ("here", here.clone()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        values.insert("numprocs".to_owned(), n.to_string());
        let pattern = section.value("process_name").unwrap_or("%(program_name)s");
        let process = expand(pattern, &values).unwrap_or_else(|_| format!("{name}_{index}"));
        let process = match n > 1 && process == *name {
            true => format!("{name}_{}", first + index),
            false => process,
        };
        let mut draft = Draft::new(process.clone(), section.head, source.clone());
        draft.carry(ledger, section.head, "name");
        if let Some(group) = group {
            draft.labels.insert("group".to_owned(), group.clone());
        }
        inherit(&mut draft, daemon, &values, ledger);
        let mut reader = Reader {
            section,
            values: &values,
            ledger,
        };
        reader.read(&mut draft);
        // supervisord kills what does not stop within ten seconds.
        if draft.stop().grace.is_none() && section.value("stopwaitsecs").is_none() {
            draft.stop().grace = Some(10);
        }
        if section.value("autorestart").is_none() {
            ledger.note(format!(
                "{file}: supervisord restarts only after unexpected exit codes by default; Muster restarts a resident process after any exit"
            ));
        }
        draft.fill_in(settings, Some("root"), Some("/"), &file, ledger);
        let shown = match group {
            Some(group) => format!("{group}:{process}"),
            None if n > 1 => format!("{name}:{process}"),
            None => process,
        };
        let namespace = settings.namespace.as_deref().unwrap_or("imported");
        let pid = PidSource::Supervisorctl {
            config: config.map(str::to_owned),
            name: shown,
        };
        let finished = draft.finish(settings, namespace, pid, ledger);
        imported.processes.extend(finished);
    }
}

/// What programs get from `[supervisord]`.
fn inherit(
    draft: &mut Draft,
    daemon: Option<&Section>,
    values: &BTreeMap<String, String>,
    ledger: &mut Ledger,
) {
    for option in daemon.iter().flat_map(|section| &section.options) {
        let value = match expand(&option.value, values) {
            Ok(value) => value,
            Err(rule) => {
                ledger.not_carried(option.id, rule);
                continue;
            }
        };
        match option.key.as_str() {
            "environment" => variables(draft, option.id, &value, ledger),
            "umask" => {
                draft.runtime().umask = Some(value);
                draft.carry(ledger, option.id, "runtime.umask");
            }
            "user" => {
                draft.identity().user = Some(value);
                draft.carry(ledger, option.id, "identity.user");
            }
            "directory" => {
                draft.identity().setup_path = Some(value);
                draft.carry(ledger, option.id, "identity.setup_path");
            }
            "minfds" | "minprocs" => match value.trim().parse::<i64>() {
                Ok(number) if option.key == "minfds" => {
                    draft.runtime().nofile = Some(number);
                    draft.carry(ledger, option.id, "runtime.nofile");
                }
                Ok(number) => {
                    draft.runtime().nproc = Some(number);
                    draft.carry(ledger, option.id, "runtime.nproc");
                }
                Err(_) => ledger.not_carried(option.id, "is no number"),
            },
            _ => {}
        }
    }
}

fn variables(draft: &mut Draft, id: EntryId, value: &str, ledger: &mut Ledger) {
    match environment(value) {
        Ok(pairs) => {
            draft.runtime().env.extend(pairs);
            draft.carry(ledger, id, "runtime.env");
        }
        Err(rule) => ledger.not_carried(id, rule),
    }
}

struct Reader<'s, 'l> {
    section: &'s Section,
    values: &'s BTreeMap<String, String>,
    ledger: &'l mut Ledger,
}

impl Reader<'_, '_> {
    fn read(&mut self, draft: &mut Draft) {
        // Variables first: commands may use them.
        for option in &self.section.options {
            match expand(&option.value, self.values) {
                Ok(value) => self.option(draft, &option.key, value.trim(), option.id),
                Err(rule) => self.ledger.not_carried(option.id, rule),
            }
        }
    }

    fn option(&mut self, draft: &mut Draft, key: &str, value: &str, id: EntryId) {
        let is_true = matches!(value.to_lowercase().as_str(), "true" | "on" | "yes" | "1");
        match key {
            "command" => match words::command(value) {
                Ok(command) => {
                    draft.control().start_cmd = Some(command);
                    draft.carry(self.ledger, id, "control.start_cmd");
                }
                Err(rule) => self.ledger.not_carried(id, rule),
            },
            "process_name" => draft.carry(self.ledger, id, "name"),
            "directory" => self.text(draft, id, value, "identity.setup_path"),
            "user" => self.text(draft, id, value, "identity.user"),
            "umask" => self.text(draft, id, value, "runtime.umask"),
            "environment" => variables(draft, id, value, self.ledger),
            "priority" => {}
            "autostart" if is_true => self
                .ledger
                .no_effect(id, "the agent starts managed processes with its host"),
            "autostart" => self.ledger.not_carried(
                id,
                "a process that muster start has started begins with its host again",
            ),
            "startsecs" => self.number(draft, id, value, "monitor_policy.start_check_secs"),
            "startretries" => self.number(draft, id, value, "monitor_policy.start_retries"),
            "autorestart" => self.autorestart(draft, value, id),
            "exitcodes" => self.exit_codes(id),
            "stopsignal" => draft.stop_signal(self.ledger, id, value),
            "stopwaitsecs" => match value.parse::<i64>() {
                Ok(secs) if secs > 0 => {
                    draft.grace(secs);
                    draft.carry(self.ledger, id, "stop.grace");
                }
                _ => self
                    .ledger
                    .not_carried(id, "must be a number of seconds above 0"),
            },
            "stopasgroup" | "killasgroup" if is_true => self
                .ledger
                .no_effect(id, "Muster signals the whole process group"),
            "stopasgroup" | "killasgroup" => self
                .ledger
                .not_carried(id, "Muster signals the whole process group"),
            "numprocs" | "numprocs_start" => {}
            _ => self.output(draft, key, value, id),
        }
    }

    fn autorestart(&mut self, draft: &mut Draft, value: &str, id: EntryId) {
        match value.to_lowercase().as_str() {
            "true" => draft.policy().auto_type = Some(RESIDENT),
            "false" => draft.policy().auto_type = Some(ONE_SHOT),
            "unexpected" => {
                draft.policy().auto_type = Some(RESIDENT);
                let why =
                    "Muster restarts a resident process after any exit, also with an expected code";
                self.ledger.not_carried(id, why);
                return;
            }
            _ => {
                self.ledger
                    .not_carried(id, "must be true, false or unexpected");
                return;
            }
        }
        draft.carry(self.ledger, id, "monitor_policy.auto_type");
    }

    fn exit_codes(&mut self, id: EntryId) {
        let restarts = self.section.value("autorestart").map(str::to_lowercase);
        match restarts.as_deref().map(str::trim) {
            Some("true" | "false") => self
                .ledger
                .no_effect(id, "counts only with autorestart=unexpected"),
            _ => self
                .ledger
                .not_carried(id, "Muster restarts a resident process after any exit"),
        }
    }

    fn output(&mut self, draft: &mut Draft, key: &str, value: &str, id: EntryId) {
        let redirected = self.section.value("redirect_stderr").map(str::to_lowercase);
        let is_redirected =
            redirected.is_some_and(|value| matches!(value.trim(), "true" | "on" | "yes" | "1"));
        let is_file = value.starts_with('/') && !value.starts_with("/dev/");
        let is_zero = value.parse::<u64>() == Ok(0);
        let one_log = "output and errors go into one log";
        let kept = "the agent keeps the output of the last runs";
        match key {
            "redirect_stderr" if is_redirected => self.ledger.no_effect(id, one_log),
            "redirect_stderr" => self.ledger.not_carried(id, one_log),
            "stdout_logfile" if is_file => self.text(draft, id, value, "identity.log_path"),
            "stdout_logfile" if matches!(value.to_uppercase().as_str(), "AUTO" | "NONE" | "") => {
                self.ledger.no_effect(id, kept);
            }
            "stdout_logfile" if value == "/dev/null" => {
                self.text(draft, id, value, "identity.log_path")
            }
            "stdout_logfile" => self
                .ledger
                .not_carried(id, format!("is no absolute path of a file: {kept}")),
            "stdout_logfile_maxbytes" if is_zero => {
                self.ledger.not_carried(
                    id,
                    "a log without a limit: Muster rotates at runtime.log_max_bytes",
                );
            }
            "stdout_logfile_maxbytes" => match words::bytes(value) {
                Ok(bytes) => {
                    draft.runtime().log_max_bytes = Some(bytes);
                    draft.carry(self.ledger, id, "runtime.log_max_bytes");
                }
                Err(rule) => self.ledger.not_carried(id, rule),
            },
            "stdout_logfile_backups" => self.number(draft, id, value, "runtime.log_keep"),
            "stderr_logfile" if matches!(value.to_uppercase().as_str(), "AUTO" | "NONE" | "") => {
                self.ledger.no_effect(id, kept);
            }
            _ if key.starts_with("stderr_logfile") && is_redirected => {
                self.ledger
                    .no_effect(id, "errors go where the output goes (redirect_stderr)");
            }
            "stderr_logfile" => self.ledger.not_carried(id, one_log),
            "stderr_logfile_maxbytes" | "stderr_logfile_backups" => {
                self.ledger.not_carried(id, one_log);
            }
            "stdout_events_enabled"
            | "stderr_events_enabled"
            | "stdout_syslog"
            | "stderr_syslog"
                if matches!(value.to_lowercase().as_str(), "false" | "0" | "no" | "off") =>
            {
                self.ledger.no_effect(id, "is the default");
            }
            "stdout_capture_maxbytes" | "stderr_capture_maxbytes" if is_zero => {
                self.ledger.no_effect(id, "is the default");
            }
            "stdout_events_enabled"
            | "stderr_events_enabled"
            | "stdout_syslog"
            | "stderr_syslog"
            | "stdout_capture_maxbytes"
            | "stderr_capture_maxbytes" => {
                self.ledger
                    .not_carried(id, "Muster does nothing like it with output");
            }
            "serverurl" => self.ledger.no_effect(id, "is about supervisord itself"),
            _ => {}
        }
    }

    fn text(&mut self, draft: &mut Draft, id: EntryId, value: &str, field: &str) {
        let text = Some(value.to_owned());
        match field {
            "identity.setup_path" => draft.identity().setup_path = text,
            "identity.user" => draft.identity().user = text,
            "identity.log_path" => draft.identity().log_path = text,
            _ => draft.runtime().umask = text,
        }
        draft.carry(self.ledger, id, field);
    }

    fn number(&mut self, draft: &mut Draft, id: EntryId, value: &str, field: &str) {
        let Ok(number) = value.parse::<i64>() else {
            self.ledger.not_carried(id, "is no number");
            return;
        };
        let number = Some(number);
        match field {
            "monitor_policy.start_check_secs" => draft.policy().start_check_secs = number,
            "monitor_policy.start_retries" => draft.policy().start_retries = number,
            _ => draft.runtime().log_keep = number,
        }
        draft.carry(self.ledger, id, field);
    }
}
