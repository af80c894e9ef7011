//! Lists businesses, and shows one as a tree of sets and modules with how many processes run in each.

use std::collections::BTreeMap;

use api::{BusinessList, ViewProcess};
use serde_json::{Value, json};

use super::super::{Context, no_business};
use super::difference::left_out;
use crate::business::BusinessRef;
use crate::client::Path;
use crate::colors::Style;
use crate::failure::{Exit, Failure, Kind};
use crate::format::{age, clean, count, counted, now};
use crate::selection::SelectionArgs;
use crate::table::{Cell, TextTable};

pub(super) fn businesses(context: &Context) -> Result<Exit, Failure> {
    let out = &context.out;
    let response = context.client()?.get(&Path::new("businesses"))?;
    out.response(response, |list: BusinessList| {
        let hint = "no businesses: muster topology import FILE makes some";
        out.table_or(&table(&list), hint)
    })?;
    Ok(Exit::Ok)
}

fn table(list: &BusinessList) -> TextTable {
    let now = now();
    let mut table = TextTable::new(">BIZ|~NAME|FROM|>SETS|>MODULES|>PROCESSES|>COMPARED|>LEFT OUT");
    for row in &list.businesses {
        let style = match row.troubles.is_empty() {
            true => Style::Dim,
            false => Style::Warn,
        };
        table.row([
            Cell::from(row.id.to_string()),
            row.name.as_str().into(),
            (&*row.origin).into(),
            count(row.sets).into(),
            count(row.modules).into(),
            count(row.processes).into(),
            age(row.refreshed_at, now).into(),
            Cell::styled(style, count(row.troubles.len())),
        ]);
    }
    table
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize)]
struct Sums {
    processes: u64,
    running: u64,
    managed: u64,
    instances: u64,
}

impl Sums {
    fn add(&mut self, row: &ViewProcess) {
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

    fn style(self) -> Style {
        match self.running {
            running if running == self.processes => Style::Good,
            0 => Style::Dim,
            _ => Style::Warn,
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

pub(super) fn business(context: &Context, business: &BusinessRef) -> Result<Exit, Failure> {
    let client = context.client()?;
    let id = business.id(&client)?;
    let list: BusinessList = client.get(&Path::new("businesses"))?;
    let mut businesses = list.businesses.into_iter();
    let business = businesses.find(|row| row.id == id).ok_or_else(|| {
        let what = format!("business {id} is not known");
        no_business(Failure::new(Kind::NotFound, what))
    })?;
    let path = SelectionArgs::default().path(id)?;
    let page = client.pages::<ViewProcess>(&path, "processes", None)?;
    let (sums, sets) = gather(&page.rows);
    let out = &context.out;
    if out.is_document() {
        out.document(
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
        let words = out.paint(set.sums.style(), &set.sums.words());
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
            let words = out.paint(sums.style(), &sums.words());
            out.line(format!("{below} {branch} {}: {words}", clean(name)))?;
        }
    }
    left_out(out, &business.troubles);
    Ok(Exit::Ok)
}

fn gather(rows: &[ViewProcess]) -> (Sums, BTreeMap<u32, Set>) {
    let mut sums = Sums::default();
    let mut sets: BTreeMap<u32, Set> = BTreeMap::new();
    for row in rows {
        sums.add(row);
        let set = sets.entry(row.set.id).or_insert_with(|| Set {
            name: row.set.name.clone().into_owned(),
            env: row.env.clone().into_owned(),
            ..Set::default()
        });
        set.sums.add(row);
        let module = set
            .modules
            .entry(row.module.id)
            .or_insert_with(|| (row.module.name.clone().into_owned(), Sums::default()));
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
        let row = |set: u32, module: u32, status: &str| -> ViewProcess<'static> {
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
        assert_eq!(sets[&1].sums.style(), Style::Warn);
        assert_eq!(sets[&2].modules[&3].1.style(), Style::Good);
        assert_eq!(to_json(&sets)[1]["modules"][0]["counts"]["instances"], 2);
    }
}
