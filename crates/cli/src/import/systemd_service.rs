//! The settings of a systemd service.

use super::draft::{Draft, ONE_SHOT, RESIDENT};
use super::ledger::{EntryId, Ledger};
use super::systemd_exec::assignments;
use super::systemd_unit::{Setting, Unit, expand};
use super::words;

/// What systemd waits before it kills, in seconds.
const STOP_TIMEOUT: i64 = 90;

/// Reads one service, with the names of its instance filled in.
pub(super) struct ServiceReader<'u, 'l> {
    pub(super) unit: &'u Unit,
    pub(super) file: &'u str,
    pub(super) name: String,
    pub(super) instance: Option<&'u str>,
    pub(super) pid_file: String,
    pub(super) cores: Option<u32>,
    pub(super) ledger: &'l mut Ledger,
}

impl ServiceReader<'_, '_> {
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        self.unit.value("Service", key)
    }

    pub(super) fn service(&mut self, draft: &mut Draft) {
        let plain = self.name.trim_end_matches(".service").to_owned();
        self.pid_file = match self.value("PIDFile") {
            Some(path) if path.starts_with('/') => path.to_owned(),
            Some(path) => format!("/run/{path}"),
            None => format!("/run/{plain}.pid"),
        };
        let is_one_shot = self.value("Type") == Some("oneshot");
        draft.policy().auto_type = Some(match is_one_shot {
            true => ONE_SHOT,
            false => RESIDENT,
        });
        // systemd kills what does not stop in time.
        draft.grace(STOP_TIMEOUT);
        let settings = self.unit.settings.clone();
        for setting in &settings {
            match expand(&setting.value, &self.name, self.instance) {
                Ok(value) => self.setting(draft, setting, &value),
                Err(rule) => self.ledger.not_carried(setting.id, rule),
            }
        }
        self.commands(draft, &settings);
        if draft.identity().pid_path.is_none() {
            draft.identity().pid_path = Some(self.pid_file.clone());
        }
        if !is_one_shot && self.value("Restart").is_none() {
            self.ledger.note(format!(
                "{}: systemd does not restart it (Restart=no is the default); Muster restarts a resident process, and runs one with auto_type one-shot once",
                self.file
            ));
        }
    }

    pub(super) fn setting(&mut self, draft: &mut Draft, setting: &Setting, value: &str) {
        let id = setting.id;
        match setting.section.as_str() {
            "Unit" => self.unit_setting(draft, &setting.key, value, id),
            "Service" => self.service_setting(draft, &setting.key, value, id),
            "Install" => match (setting.key.as_str(), value) {
                ("WantedBy", "multi-user.target" | "default.target" | "graphical.target") => self
                    .ledger
                    .no_effect(id, "the agent starts managed processes with its host"),
                _ => self
                    .ledger
                    .not_carried(id, "Muster has no targets and no other names of a process"),
            },
            "Timer" => self
                .ledger
                .not_carried(id, "a timer is imported from its own file"),
            _ => self.ledger.not_carried(id, "stands in an unknown section"),
        }
    }

    pub(super) fn unit_setting(&mut self, draft: &mut Draft, key: &str, value: &str, id: EntryId) {
        match key {
            "Description" | "Documentation" => self.ledger.no_effect(id, "describes the unit"),
            "After" | "Before" | "Requires" | "Wants" | "BindsTo" | "PartOf" | "Requisite"
            | "Conflicts" => {
                order_of_units(self.ledger, id, value);
            }
            "StartLimitBurst" => self.number(draft, id, value, "monitor_policy.start_retries"),
            "StartLimitIntervalSec" | "StartLimitInterval" => match value {
                "0" => {
                    draft.restart().give_up = Some(model::spec::restart::GiveUp::Never);
                    draft.carry(self.ledger, id, "restart.give_up");
                }
                _ => self
                    .ledger
                    .not_carried(id, "Muster counts failed attempts in a row, not in a time"),
            },
            _ if key.starts_with("Condition") || key.starts_with("Assert") => {
                self.ledger
                    .not_carried(id, "Muster starts a process without conditions");
            }
            _ => {}
        }
    }

    pub(super) fn service_setting(
        &mut self,
        draft: &mut Draft,
        key: &str,
        value: &str,
        id: EntryId,
    ) {
        match key {
            "Type" => self.kind(draft, value, id),
            "User" => {
                draft.identity().user = Some(value.to_owned());
                draft.carry(self.ledger, id, "identity.user");
            }
            "Group" => match self.value("User") == Some(value) {
                true => self.ledger.no_effect(id, "is the group of the user"),
                false => self.ledger.not_carried(id, "Muster takes the groups of identity.user"),
            },
            "WorkingDirectory" => match value.trim_start_matches('-') {
                path if path.starts_with('/') => {
                    draft.identity().setup_path = Some(path.to_owned());
                    draft.carry(self.ledger, id, "identity.setup_path");
                }
                _ => self.ledger.not_carried(id, "is no absolute path"),
            },
            "PIDFile" => {
                draft.identity().pid_path = Some(self.pid_file.clone());
                draft.carry(self.ledger, id, "identity.pid_path");
            }
            "Environment" => match assignments(value) {
                Ok(pairs) => {
                    draft.runtime().env.extend(pairs);
                    draft.carry(self.ledger, id, "runtime.env");
                }
                Err(rule) => self.ledger.not_carried(id, rule),
            },
            "EnvironmentFile" => self.ledger.not_carried(
                id,
                "the file is read on the host: put its variables into runtime.env (muster register --env-file reads one)",
            ),
            "UMask" => {
                draft.runtime().umask = Some(value.to_owned());
                draft.carry(self.ledger, id, "runtime.umask");
            }
            "Nice" => self.number(draft, id, value, "runtime.nice"),
            "Restart" => self.restart(draft, value, id),
            "RestartSec" => match words::seconds(value, 1000) {
                Ok(secs) => {
                    let restart = draft.restart();
                    (restart.delay, restart.factor, restart.jitter) = (Some(secs.max(1)), Some(1.0), Some(0));
                    draft.carry(self.ledger, id, "restart.delay");
                }
                Err(rule) => self.ledger.not_carried(id, rule),
            },
            "StartLimitBurst" | "StartLimitInterval" | "StartLimitIntervalSec" => {
                self.unit_setting(draft, key, value, id);
            }
            "RemainAfterExit" | "GuessMainPID" | "SendSIGHUP" if is_no(value) => {
                self.ledger.no_effect(id, "changes nothing here");
            }
            "RemainAfterExit" => self.ledger.not_carried(id, "a one-shot process that has ended is completed"),
            "ExecStart" | "ExecStartPre" | "ExecReload" | "ExecStop" => {}
            "ExecStartPost" | "ExecStopPost" | "ExecCondition" => {
                self.ledger.not_carried(id, "Muster runs no command at this moment");
            }
            _ if key.starts_with("Limit") => self.limit(draft, key, value, id),
            _ => self.stop_or_output(draft, key, value, id),
        }
    }

    pub(super) fn kind(&mut self, draft: &mut Draft, value: &str, id: EntryId) {
        match value {
            "simple" | "exec" => self.ledger.no_effect(id, "a program in the foreground, as Muster takes it"),
            "oneshot" => draft.carry(self.ledger, id, "monitor_policy.auto_type"),
            "forking" if self.value("PIDFile").is_some() => {
                self.ledger.no_effect(id, "a daemon with a pid file, as Muster takes it");
            }
            "forking" => self.ledger.not_carried(
                id,
                "a daemon needs a pid file: set identity.pid_path to the file that it writes, or run it in the foreground",
            ),
            "notify" | "notify-reload" => self.ledger.not_carried(
                id,
                "Muster does not wait for the program's message that it is ready, but for monitor_policy.start_check_secs",
            ),
            _ => self.ledger.not_carried(id, "Muster takes programs in the foreground and daemons"),
        }
    }

    pub(super) fn restart(&mut self, draft: &mut Draft, value: &str, id: EntryId) {
        match value {
            "always" => draft.carry(self.ledger, id, "monitor_policy.auto_type"),
            "no" => {
                draft.policy().auto_type = Some(ONE_SHOT);
                draft.carry(self.ledger, id, "monitor_policy.auto_type");
            }
            "on-failure" | "on-success" | "on-abnormal" | "on-abort" | "on-watchdog" => self
                .ledger
                .not_carried(id, "Muster restarts a resident process after any exit"),
            _ => self.ledger.not_carried(id, "is no value of Restart"),
        }
    }

    pub(super) fn number(&mut self, draft: &mut Draft, id: EntryId, value: &str, field: &str) {
        let Ok(number) = value.trim().parse::<i64>() else {
            self.ledger
                .not_carried(id, "is no number that Muster takes");
            return;
        };
        let number = Some(number);
        match field {
            "runtime.nice" => draft.runtime().nice = number,
            "runtime.pids_max" => draft.runtime().pids_max = number,
            _ => draft.policy().start_retries = number,
        }
        draft.carry(self.ledger, id, field);
    }
}

pub(super) fn is_no(value: &str) -> bool {
    matches!(value.to_lowercase().as_str(), "no" | "false" | "off" | "0")
}

/// `After=`, `Requires=` and their like. Targets say nothing about another process.
pub(super) fn order_of_units(ledger: &mut Ledger, id: EntryId, value: &str) {
    match value
        .split_whitespace()
        .all(|unit| unit.ends_with(".target"))
    {
        true => ledger.no_effect(id, "the agent itself starts after such targets"),
        false => ledger.not_carried(
            id,
            "the order of starts and what depends on what are not carried over",
        ),
    }
}
