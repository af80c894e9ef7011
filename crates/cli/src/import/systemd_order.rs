//! `After=`, `Before=`, `Requires=` and their like between the units of one import.
//!
//! systemd has two things apart: the order of two starts (`After=`), and that one unit needs another (`Requires=`). A
//! dependency of Muster is both. So `After=` alone and with `Wants=` gets a patience, because systemd goes on when the other
//! unit fails; with `Requires=` and `BindsTo=` it waits without end and is restarted with the other unit. A need without an
//! order has no counterpart.

use super::ledger::{EntryId, Ledger};
use super::order::{Patience, Rule, Source, Wait, Wish};

/// What one setting of a unit says about another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    After,
    Before,
    Wants,
    /// `Requires=`, `BindsTo=`, `Requisite=`.
    Needs,
    /// `PartOf=`: is stopped and restarted with it.
    Follows,
}

/// One unit that a setting names.
#[derive(Debug, Clone)]
pub(super) struct UnitOrder {
    unit: String,
    relation: Relation,
    key: String,
    other: String,
    id: EntryId,
}

/// Takes down what a setting names. Targets say nothing about another process.
pub(super) fn note(
    unit: &str,
    key: &str,
    value: &str,
    id: EntryId,
    orders: &mut Vec<UnitOrder>,
    ledger: &mut Ledger,
) {
    let relation = match key {
        "After" => Relation::After,
        "Before" => Relation::Before,
        "Wants" | "Upholds" => Relation::Wants,
        "Requires" | "BindsTo" | "Requisite" => Relation::Needs,
        "PartOf" => Relation::Follows,
        _ => return ledger.not_carried(id, "Muster stops no process when another is started"),
    };
    let units = value.split_whitespace();
    let units: Vec<&str> = units.filter(|unit| !unit.ends_with(".target")).collect();
    if units.is_empty() {
        ledger.no_effect(id, "the agent itself starts after such targets");
    }
    orders.extend(units.into_iter().map(|other| UnitOrder {
        unit: unit.to_owned(),
        relation,
        key: key.to_owned(),
        other: other.to_owned(),
        id,
    }));
}

/// The orders between units; a need goes with the order of the same two.
pub(super) fn wishes(orders: &[UnitOrder]) -> Vec<Wish> {
    let mut wishes: Vec<Wish> = Vec::new();
    for order in orders {
        let (dependent, dependency) = match order.relation {
            Relation::After => (&order.unit, &order.other),
            Relation::Before => (&order.other, &order.unit),
            Relation::Wants | Relation::Needs | Relation::Follows => continue,
        };
        let (dependent, dependency) = (source(dependent), source(dependency));
        let same = |wish: &&mut Wish| wish.dependent == dependent && wish.dependency == dependency;
        match wishes.iter_mut().find(same) {
            Some(known) => known.entries.push((order.id, None)),
            None => wishes.push(Wish {
                entries: vec![(order.id, None)],
                dependent,
                dependency,
                rule: Rule {
                    wait: Wait::StartOver,
                    patience: Patience::OfItsStart,
                    restart: false,
                },
            }),
        }
    }
    let mut alone = Vec::new();
    for need in orders {
        let lost = match need.relation {
            Relation::After | Relation::Before => continue,
            Relation::Wants => format!(
                "{}= also starts {}, which Muster does not",
                need.key, need.other
            ),
            Relation::Needs | Relation::Follows => {
                format!("a stop of {} does not stop it", need.other)
            }
        };
        let (dependent, dependency) = (source(&need.unit), source(&need.other));
        let same = |wish: &&mut Wish| wish.dependent == dependent && wish.dependency == dependency;
        let Some(order) = wishes.iter_mut().find(same) else {
            alone.push(Wish {
                entries: vec![(need.id, None)],
                dependent,
                dependency,
                rule: Rule::of(Wait::Unordered),
            });
            continue;
        };
        match need.relation {
            Relation::Needs => {
                order.rule.patience = Patience::Endless;
                order.rule.restart = true;
            }
            Relation::Follows => order.rule.restart = true,
            Relation::Wants | Relation::After | Relation::Before => {}
        }
        order.entries.push((need.id, Some(lost)));
    }
    wishes.extend(alone);
    wishes
}

fn source(unit: &str) -> Source {
    Source::new("", unit)
}
