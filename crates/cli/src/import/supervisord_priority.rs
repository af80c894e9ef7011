//! `priority` of programs and groups: supervisord starts the lower ones first.
//!
//! It waits for none of them, so that a program that does not start holds nothing up. A dependency with a short patience
//! comes closest to that. Programs that supervisord does not start by itself, and those that run once, order nothing.

use super::ledger::{EntryId, Ledger};
use super::order::{Patience, Rule, Source, Wait, Wish};

/// The priority of what names none.
const DEFAULT: i64 = 999;
/// How much longer than its start check a program is waited for, in seconds.
const PATIENCE: u32 = 10;

/// One `priority=`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Priority {
    pub(super) id: EntryId,
    pub(super) value: i64,
}

impl Priority {
    pub(super) fn read(id: EntryId, text: &str, ledger: &mut Ledger) -> Option<Self> {
        match text.trim().parse() {
            Ok(value) => Some(Self { id, value }),
            Err(_) => {
                ledger.not_carried(id, "is no number");
                None
            }
        }
    }
}

/// What decides when supervisord starts a program.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) source: Source,
    pub(super) group: Option<String>,
    pub(super) group_priority: Option<Priority>,
    pub(super) priority: Option<Priority>,
    /// Why its priority orders nothing.
    pub(super) unordered: Option<&'static str>,
}

impl Program {
    /// A program outside of groups is a group of its own, with its own priority.
    fn in_groups(&self) -> i64 {
        let own = if self.group.is_some() {
            self.group_priority
        } else {
            self.priority
        };
        own.map_or(DEFAULT, |priority| priority.value)
    }

    fn in_its_group(&self) -> i64 {
        self.priority.map_or(DEFAULT, |priority| priority.value)
    }

    fn is_before(&self, other: &Self) -> bool {
        let is_same_group = self.group.is_some() && self.group == other.group;
        match is_same_group {
            true => self.in_its_group() < other.in_its_group(),
            false => self.in_groups() < other.in_groups(),
        }
    }

    fn ids(&self) -> impl Iterator<Item = EntryId> {
        let both = [self.group_priority, self.priority];
        both.into_iter().flatten().map(|priority| priority.id)
    }
}

/// Each program waits for those right before it.
pub(super) fn wishes(file: &str, programs: &[Program], ledger: &mut Ledger) -> Vec<Wish> {
    let (ordered, unordered): (Vec<&Program>, Vec<&Program>) =
        programs.iter().partition(|one| one.unordered.is_none());
    for program in unordered {
        if let (Some(priority), Some(why)) = (program.priority, program.unordered) {
            match priority.value {
                DEFAULT => ledger.no_effect(priority.id, "is the default"),
                _ => ledger.not_carried(priority.id, why),
            }
        }
    }
    let mut wishes = Vec::new();
    for later in &ordered {
        let before = ordered.iter().filter(|one| one.is_before(later));
        for earlier in before {
            let is_between = |one: &&&Program| earlier.is_before(one) && one.is_before(later);
            if ordered.iter().any(|one| is_between(&one)) {
                continue;
            }
            wishes.push(Wish {
                entries: earlier
                    .ids()
                    .chain(later.ids())
                    .map(|id| (id, None))
                    .collect(),
                dependent: later.source.clone(),
                dependency: earlier.source.clone(),
                rule: Rule {
                    wait: Wait::Started,
                    patience: Patience::BeyondItsCheck(PATIENCE),
                    restart: false,
                },
            });
        }
    }
    if !wishes.is_empty() {
        ledger.note(format!(
            "{file}: supervisord starts programs by their priority, and waits for none; here each waits for those before it to be up, until patience is over"
        ));
    }
    let ids = programs.iter().flat_map(Program::ids);
    for id in ids.filter(|id| !wishes.iter().any(|wish| wish.names(*id))) {
        ledger.no_effect(id, "orders nothing: no other program has another priority");
    }
    wishes
}
