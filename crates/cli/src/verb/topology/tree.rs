//! Businesses in a list, and one as a tree of sets and modules with what runs in them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::{Context, no_business, rows};
use crate::client::{BusinessRow, ViewFilter, ViewRow};
use crate::failure::{Exit, Failure, Kind};
use crate::show::{age, clean, count, counted, now};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

pub(super) fn businesses(context: &Context) -> Result<Exit, Failure> {
    let out = &context.out;
    let answer = context.client()?.businesses()?;
    if out.is_json() {
        out.json(&answer)?;
        return Ok(Exit::Ok);
    }
    let now = now();
    let mut table = Table::new([
        Column::number("BIZ"),
        Column::elastic("NAME"),
        Column::text("FROM"),
        Column::number("SETS"),
        Column::number("MODULES"),
        Column::number("PROCESSES"),
        Column::number("COMPARED"),
        Column::number("LEFT OUT"),
    ]);
    for row in rows::<BusinessRow>(&answer, "businesses")? {
        let tone = match row.troubles.is_empty() {
            true => Tone::Dim,
            false => Tone::Warn,
        };
        table.row([
            Cell::from(row.id.to_string()),
            row.name.into(),
            row.origin.into(),
            count(row.sets).into(),
            count(row.modules).into(),
            count(row.processes).into(),
            age(row.refreshed_at, now).into(),
            Cell::toned(tone, count(row.troubles.len() as u64)),
        ]);
    }
    match table.is_empty() {
        true => out.note("no businesses: muster topology import FILE makes some"),
        false => out.table(&table)?,
    }
    Ok(Exit::Ok)
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize)]
struct Sums {
    processes: u64,
    running: u64,
    managed: u64,
    instances: u64,
}

impl Sums {
    fn add(&mut self, row: &ViewRow) {
        self.processes += 1;
        self.running += u64::from(row.status == "running");
        self.managed += u64::from(row.managed);
        self.instances += row.instances.len() as u64;
    }

    fn words(self) -> String {
        format!(
            "{} ({}), {} running, {} managed",
            counted(self.processes, "process"),
            counted(self.instances, "instance"),
            count(self.running),
            count(self.managed)
        )
    }

    fn tone(self) -> Tone {
        match self.running {
            running if running == self.processes => Tone::Good,
            0 => Tone::Dim,
            _ => Tone::Warn,
        }
    }
}

#[derive(Debug, Default)]
struct Set {
    name: String,
    env: String,
    sums: Sums,
    modules: BTreeMap<u32, (String, Sums)>,
}

pub(super) fn business(context: &Context, id: u32) -> Result<Exit, Failure> {
    let client = context.client()?;
    let all = rows::<BusinessRow>(&client.businesses()?, "businesses")?;
    let business = all.into_iter().find(|row| row.id == id).ok_or_else(|| {
        no_business(Failure::new(
            Kind::NotFound,
            format!("business {id} is not known"),
        ))
    })?;
    let filter = ViewFilter {
        business: id,
        ..ViewFilter::default()
    };
    let page = client.view::<ViewRow>(&filter, 0, None)?;
    let (sums, sets) = gather(&page.rows);
    let out = &context.out;
    if out.is_json() {
        out.json(
            &json!({"id": id, "name": business.name, "counts": sums, "sets": to_json(&sets)}),
        )?;
        return Ok(Exit::Ok);
    }
    let name = clean(&business.name);
    out.line(format!("business {id} {name}: {}", sums.words()))?;
    for (is_last, set) in with_last(sets.values()) {
        let (branch, below) = match is_last {
            true => ("└─", "  "),
            false => ("├─", "│ "),
        };
        let words = out.paint(set.sums.tone(), &set.sums.words());
        out.line(format!(
            "{branch} {} ({}): {words}",
            clean(&set.name),
            clean(&set.env)
        ))?;
        for (is_last, (name, sums)) in with_last(set.modules.values()) {
            let branch = match is_last {
                true => "└─",
                false => "├─",
            };
            let words = out.paint(sums.tone(), &sums.words());
            out.line(format!("{below} {branch} {}: {words}", clean(name)))?;
        }
    }
    if !business.troubles.is_empty() {
        let rows = counted(business.troubles.len() as u64, "row");
        out.warn(format!("{rows} left out:"));
        for trouble in &business.troubles {
            let (row, reason) = (clean(&trouble.row), clean(&trouble.reason));
            out.note(format!("  {row}: {reason}"));
        }
    }
    Ok(Exit::Ok)
}

fn gather(rows: &[ViewRow]) -> (Sums, BTreeMap<u32, Set>) {
    let mut sums = Sums::default();
    let mut sets: BTreeMap<u32, Set> = BTreeMap::new();
    for row in rows {
        sums.add(row);
        let set = sets.entry(row.set.id).or_insert_with(|| Set {
            name: row.set.name.clone(),
            env: row.env.clone(),
            ..Set::default()
        });
        set.sums.add(row);
        let module = set
            .modules
            .entry(row.module.id)
            .or_insert_with(|| (row.module.name.clone(), Sums::default()));
        module.1.add(row);
    }
    (sums, sets)
}

fn to_json(sets: &BTreeMap<u32, Set>) -> Value {
    let module = |(id, (name, sums)): (&u32, &(String, Sums))| json!({"id": id, "name": name, "counts": sums});
    let set = |(id, set): (&u32, &Set)| {
        let modules: Vec<Value> = set.modules.iter().map(module).collect();
        json!({"id": id, "name": set.name, "env": set.env, "counts": set.sums, "modules": modules})
    };
    Value::Array(sets.iter().map(set).collect())
}

fn with_last<T>(items: impl ExactSizeIterator<Item = T>) -> impl Iterator<Item = (bool, T)> {
    let last = items.len().saturating_sub(1);
    let items = items.enumerate();
    items.map(move |(index, item)| (index == last, item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_counted_in_their_module_their_set_and_the_whole() {
        let row = |set: u32, module: u32, status: &str| -> ViewRow {
            serde_json::from_value(json!({
                "set": {"id": set, "name": format!("s{set}")}, "module": {"id": module, "name": "m"},
                "status": status, "managed": true, "instances": [{}, {}],
            }))
            .unwrap()
        };
        let rows = [
            row(1, 1, "running"),
            row(1, 2, "stopped"),
            row(2, 3, "running"),
        ];
        let (sums, sets) = gather(&rows);
        assert_eq!(
            sums.words(),
            "3 processes (6 instances), 2 running, 3 managed"
        );
        assert_eq!(sets[&1].modules.len(), 2);
        assert_eq!(sets[&1].sums.tone(), Tone::Warn);
        assert_eq!(sets[&2].modules[&3].1.tone(), Tone::Good);
        assert_eq!(to_json(&sets)[1]["modules"][0]["counts"]["instances"], 2);
    }
}
