//! The schedule of a systemd timer.

use super::draft::{Draft, PERIODIC};
use super::systemd_calendar::crontab;
use super::systemd_service::{ServiceReader, is_no};
use super::systemd_unit::Unit;

impl ServiceReader<'_, '_> {
    pub(super) fn timer(&mut self, draft: &mut Draft, timer: &Unit) {
        for setting in &timer.settings {
            let id = setting.id;
            match (setting.section.as_str(), setting.key.as_str()) {
                ("Timer", "OnCalendar") if draft.policy().crontab_rule.is_some() => {
                    self.ledger.not_carried(
                        id,
                        "a process has one rule: register another process for this one",
                    )
                }
                ("Timer", "OnCalendar") => match crontab(&setting.value) {
                    Ok(rule) => {
                        draft.policy().auto_type = Some(PERIODIC);
                        draft.policy().crontab_rule = Some(rule);
                        draft.carry(self.ledger, id, "monitor_policy.crontab_rule");
                    }
                    Err(rule) => self.ledger.not_carried(id, rule),
                },
                ("Timer", "Persistent") if is_no(&setting.value) => {
                    self.ledger.no_effect(id, "is the default")
                }
                ("Timer", "Persistent") => {
                    let rules = draft.spec.schedule.get_or_insert_default();
                    rules.missed = Some(model::spec::schedule::Missed::Once);
                    draft.carry(self.ledger, id, "schedule.missed");
                }
                ("Timer", "RandomizedDelaySec") => {
                    match self.ledger.seconds(id, &setting.value, 1000, 0) {
                        Ok(secs) => {
                            draft.spec.schedule.get_or_insert_default().jitter = Some(secs);
                            draft.carry(self.ledger, id, "schedule.jitter");
                        }
                        Err(rule) => self.ledger.not_carried(id, rule),
                    }
                }
                ("Timer", "AccuracySec" | "Unit") => {
                    self.ledger.no_effect(id, "changes nothing here")
                }
                ("Timer", _) => self
                    .ledger
                    .not_carried(id, "a rule of Muster names times of the clock"),
                ("Unit", "Description" | "Documentation") => {
                    self.ledger.no_effect(id, "describes the unit")
                }
                ("Install", "WantedBy") => self
                    .ledger
                    .no_effect(id, "a managed schedule is active with its agent"),
                _ => {}
            }
        }
        if draft.policy().crontab_rule.is_none() {
            draft.spec.schedule = None;
        }
    }
}
