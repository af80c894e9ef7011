//! Limits, signals, timeouts and output of a systemd service.

use super::draft::Draft;
use super::ledger::EntryId;
use super::systemd_service::{ServiceReader, is_no};
use super::words;

impl ServiceReader<'_, '_> {
    pub(super) fn limit(&mut self, draft: &mut Draft, key: &str, value: &str, id: EntryId) {
        let (soft, hard) = value.split_once(':').unwrap_or((value, value));
        if soft != hard {
            self.ledger
                .not_carried(id, "Muster sets soft and hard limit alike");
            return;
        }
        let field = match key {
            "LimitNOFILE" => "runtime.nofile",
            "LimitNPROC" => "runtime.nproc",
            "LimitCORE" => "runtime.core",
            _ => {
                self.ledger.not_carried(id, "Muster has no such limit");
                return;
            }
        };
        if soft == "infinity" {
            self.ledger.not_carried(id, "Muster takes a number");
            return;
        }
        match words::bytes(soft) {
            Ok(number) => {
                let runtime = draft.runtime();
                match field {
                    "runtime.nofile" => runtime.nofile = Some(number),
                    "runtime.nproc" => runtime.nproc = Some(number),
                    _ => runtime.core = Some(number),
                }
                draft.carry(self.ledger, id, field);
            }
            Err(rule) => self.ledger.not_carried(id, rule),
        }
    }

    pub(super) fn stop_or_output(
        &mut self,
        draft: &mut Draft,
        key: &str,
        value: &str,
        id: EntryId,
    ) {
        match key {
            "KillSignal" => draft.stop_signal(self.ledger, id, value),
            "KillMode" => match value {
                "control-group" => self
                    .ledger
                    .no_effect(id, "Muster ends the process with its descendants"),
                _ => self
                    .ledger
                    .not_carried(id, "Muster ends the process with its descendants"),
            },
            "FinalKillSignal" if value == "SIGKILL" => self.ledger.no_effect(id, "is the default"),
            "FinalKillSignal" => self.ledger.not_carried(id, "Muster kills with SIGKILL"),
            "RestartKillSignal" => self
                .ledger
                .not_carried(id, "a restart stops it as a stop does"),
            "SendSIGHUP" => self.ledger.not_carried(
                id,
                "Muster waits after each signal: add SIGHUP to stop.signals where that fits",
            ),
            "SendSIGKILL" if is_no(value) && self.value("KillSignal").is_none() => {
                draft.spec.stop = None;
                draft.carry(self.ledger, id, "stop");
            }
            "SendSIGKILL" if is_no(value) => self
                .ledger
                .not_carried(id, "Muster kills after the last signal"),
            "SendSIGKILL" => self
                .ledger
                .no_effect(id, "Muster kills after the last signal"),
            "TimeoutStopSec" | "TimeoutSec" | "TimeoutStartSec" => {
                self.timeout(draft, key, value, id)
            }
            "MemoryMax" | "MemoryLimit" => match (value, words::bytes(value)) {
                ("infinity", _) => self.ledger.no_effect(id, "there is no limit without one"),
                (_, Ok(bytes)) => {
                    draft.runtime().memory_max = Some(bytes);
                    draft.carry(self.ledger, id, "runtime.memory_max");
                }
                (_, Err(rule)) => self.ledger.not_carried(id, format!("{rule}; give bytes")),
            },
            "TasksMax" => match value {
                "infinity" => self.ledger.no_effect(id, "there is no limit without one"),
                _ => self.number(draft, id, value, "runtime.pids_max"),
            },
            "CPUQuota" => self.cpu(draft, value, id),
            "StandardOutput" | "StandardError" => self.output(draft, key, value, id),
            "StandardInput" if value == "null" => {
                self.ledger.no_effect(id, "input is empty here, too")
            }
            "SyslogIdentifier" | "SyslogFacility" | "SyslogLevel" => {
                self.ledger
                    .no_effect(id, "the output does not go to syslog");
            }
            _ if key.ends_with("Directory") && !key.starts_with("Root") => self.ledger.not_carried(
                id,
                "the folder is not made: make it with tmpfiles.d or a package",
            ),
            _ => {}
        }
    }

    pub(super) fn timeout(&mut self, draft: &mut Draft, key: &str, value: &str, id: EntryId) {
        if matches!(value, "infinity" | "0") {
            self.ledger.not_carried(id, "Muster always has a limit");
            return;
        }
        let secs = match self.ledger.seconds(id, value, 1000, 1) {
            Ok(secs) => secs,
            Err(rule) => {
                self.ledger.not_carried(id, rule);
                return;
            }
        };
        if key != "TimeoutStartSec" {
            draft.policy().op_timeout = None;
            draft.grace(secs);
            draft.carry(self.ledger, id, "stop.grace");
        }
        if key != "TimeoutStopSec" {
            let grace = draft.stop().grace.unwrap_or(0);
            draft.policy().op_timeout = Some(secs.max(grace));
            draft.carry(self.ledger, id, "monitor_policy.op_timeout");
        }
    }

    /// `50%` is half a core; Muster's limit is a share of the whole machine.
    pub(super) fn cpu(&mut self, draft: &mut Draft, value: &str, id: EntryId) {
        let percent = value.trim_end_matches('%').trim().parse::<f64>();
        match (percent, self.cores) {
            (Ok(percent), Some(cores)) if cores > 0 => {
                draft.runtime().cpu_max = Some((percent / f64::from(cores)).min(100.0));
                draft.carry(self.ledger, id, "runtime.cpu_max");
            }
            (Ok(_), _) => self.ledger.not_carried(
                id,
                "is a share of one core, runtime.cpu_max one of the whole machine: --cores N says how many it has",
            ),
            (Err(_), _) => self.ledger.not_carried(id, "is no percentage"),
        }
    }

    pub(super) fn output(&mut self, draft: &mut Draft, key: &str, value: &str, id: EntryId) {
        let kept = "the agent keeps the output of the last runs; muster logs shows it";
        let file = value
            .strip_prefix("append:")
            .or_else(|| value.strip_prefix("file:"));
        match (key, file) {
            ("StandardOutput", Some(path)) if path.starts_with('/') => {
                draft.identity().log_path = Some(path.to_owned());
                draft.carry(self.ledger, id, "identity.log_path");
            }
            ("StandardError", Some(_)) if self.value("StandardOutput") == Some(value) => {
                self.ledger
                    .no_effect(id, "output and errors go into one log");
            }
            ("StandardError", Some(_)) => self
                .ledger
                .not_carried(id, "output and errors go into one log"),
            _ if matches!(value, "journal" | "inherit" | "syslog" | "journal+console") => {
                self.ledger.no_effect(id, kept);
            }
            _ => self.ledger.not_carried(id, kept),
        }
    }
}
