//! The commands of a systemd service, joined to those of a definition.

use super::draft::Draft;
use super::ledger::EntryId;
use super::systemd_exec::{Exec, parse};
use super::systemd_service::ServiceReader;
use super::systemd_unit::{Setting, expand};

impl ServiceReader<'_, '_> {
    /// The commands, in their order: those before the start are part of it.
    pub(super) fn commands(&mut self, draft: &mut Draft, settings: &[Setting]) {
        let read = |reader: &mut Self, key: &str| -> Vec<(EntryId, Exec)> {
            let of_key = settings
                .iter()
                .filter(|one| one.section == "Service" && one.key == key);
            let each = of_key.filter_map(|one| {
                let parsed = expand(&one.value, &reader.name, reader.instance)
                    .and_then(|value| parse(&value, &reader.pid_file));
                match parsed {
                    Ok(exec) => {
                        for lost in &exec.lost {
                            reader.ledger.not_carried(one.id, lost);
                        }
                        Some((one.id, exec))
                    }
                    Err(rule) => {
                        reader.ledger.not_carried(one.id, rule);
                        None
                    }
                }
            });
            each.collect()
        };
        let before = read(self, "ExecStartPre");
        let start = read(self, "ExecStart");
        let stop = read(self, "ExecStop");
        let reload = read(self, "ExecReload");
        let mut command = String::new();
        for (id, exec) in &before {
            let then = if exec.may_fail { ";" } else { " &&" };
            command.push_str(&format!("{}{then} ", exec.command));
            draft.carry(self.ledger, *id, "control.start_cmd");
        }
        let is_forking = self.value("Type") == Some("forking");
        for (index, (id, exec)) in start.iter().enumerate() {
            let is_last = index + 1 == start.len();
            if is_last && !command.is_empty() && !is_forking && !exec.may_fail {
                command.push_str("exec ");
            }
            command.push_str(&exec.command);
            match (is_last, exec.may_fail) {
                (true, false) => {}
                (true, true) => self
                    .ledger
                    .not_carried(*id, "- ignores its failure: Muster reports it"),
                (false, true) => command.push_str("; "),
                (false, false) => command.push_str(" && "),
            }
            draft.carry(self.ledger, *id, "control.start_cmd");
        }
        if let Some((_, last)) = start.last() {
            draft.identity().proc_name = last.program.clone();
        }
        if !command.is_empty() && !start.is_empty() {
            draft.control().start_cmd = Some(command);
        }
        if !stop.is_empty() {
            draft.control().stop_cmd = Some(self.joined(draft, &stop, "control.stop_cmd"));
        }
        if !reload.is_empty() {
            let joined = self.joined(draft, &reload, "control.reload_cmd");
            draft.control().reload_cmd = Some(joined);
        }
    }

    pub(super) fn joined(
        &mut self,
        draft: &mut Draft,
        list: &[(EntryId, Exec)],
        field: &str,
    ) -> String {
        for (id, _) in list {
            draft.carry(self.ledger, *id, field);
        }
        let commands: Vec<String> = list
            .iter()
            .map(|(_, exec)| match exec.may_fail {
                true => format!("{{ {} || true; }}", exec.command),
                false => exec.command.clone(),
            })
            .collect();
        commands.join(" && ")
    }
}
