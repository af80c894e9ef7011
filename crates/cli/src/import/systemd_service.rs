//! The settings of a systemd service.

use super::draft::{Draft, ONE_SHOT, RESIDENT};
use super::ledger::{EntryId, Ledger};
use super::systemd_exec::assignments;
use super::systemd_order::{self, UnitOrder};
use super::systemd_restart;
use super::systemd_unit::{Setting, Unit, expand};

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
    pub(super) orders: &'l mut Vec<UnitOrder>,
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
        self.restarts(draft);
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
            "Unit" => self.unit_setting(&setting.key, value, id),
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

    pub(super) fn unit_setting(&mut self, key: &str, value: &str, id: EntryId) {
        match key {
            "Description" | "Documentation" => self.ledger.no_effect(id, "describes the unit"),
            "After" | "Before" | "Requires" | "Wants" | "Upholds" | "BindsTo" | "PartOf"
            | "Requisite" | "Conflicts" => {
                let (orders, ledger) = (&mut *self.orders, &mut *self.ledger);
                systemd_order::note(&self.name, key, value, id, orders, ledger);
            }
            "StartLimitAction" if value == "none" => self.ledger.no_effect(id, "is the default"),
            key if systemd_restart::is_one(key) => {}
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
            key if systemd_restart::is_one(key) => {}
            "WatchdogSec" if matches!(value, "0" | "infinity") => {
                self.ledger.no_effect(id, "is the default");
            }
            "WatchdogSec" => self.ledger.not_carried(
                id,
                "Muster waits for no messages of the program: a live probe (probes.live) asks it instead",
            ),
            "NotifyAccess" => self.ledger.no_effect(id, "Muster takes no messages of the program"),
            "SuccessExitStatus" | "RestartPreventExitStatus" | "RestartForceExitStatus" => self
                .ledger
                .not_carried(id, "Muster restarts a resident process after any exit"),
            "RestartMode" if value == "normal" => self.ledger.no_effect(id, "is the default"),
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

    pub(super) fn number(&mut self, draft: &mut Draft, id: EntryId, value: &str, field: &str) {
        let Ok(number) = value.trim().parse::<i64>() else {
            self.ledger
                .not_carried(id, "is no number that Muster takes");
            return;
        };
        let number = Some(number);
        match field {
            "runtime.nice" => draft.runtime().nice = number,
            _ => draft.runtime().pids_max = number,
        }
        draft.carry(self.ledger, id, field);
    }
}

pub(super) fn is_no(value: &str) -> bool {
    matches!(value.to_lowercase().as_str(), "no" | "false" | "off" | "0")
}
