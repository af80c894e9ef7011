//! Puts the tasks of a new job into the order that its caller chose.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::IpAddr;

use fleet::Fleet;
use model::job::{JobTaskRow, TaskOrder};

use super::instance::row_of;

/// The tasks in this order, numbered anew. Their priorities become places in it, which begin one after the other.
pub(super) fn arrange(fleet: &Fleet, tasks: Vec<JobTaskRow>, order: &TaskOrder) -> Vec<JobTaskRow> {
    let mut tasks = match order {
        TaskOrder::Priority => by_own_priority(fleet, tasks),
        TaskOrder::Host => by_host(tasks),
        TaskOrder::Label(key) => by_label(fleet, tasks, key),
    };
    for (ordinal, task) in (0..).zip(&mut tasks) {
        task.ordinal = ordinal;
    }
    tasks
}

/// A registered process that is an instance of a business has the priority that it has there.
fn by_own_priority(fleet: &Fleet, mut tasks: Vec<JobTaskRow>) -> Vec<JobTaskRow> {
    for task in &mut tasks {
        let owner = row_of(fleet, task).and_then(|row| row.owner());
        let view = owner.and_then(|owner| fleet.view_row(owner));
        if let Some(view) = view {
            task.priority = view.program.priority.unwrap_or(0);
        }
    }
    tasks
}

/// One batch may have processes of several hosts, so all have the same place.
fn by_host(mut tasks: Vec<JobTaskRow>) -> Vec<JobTaskRow> {
    tasks.sort_by_cached_key(|task| {
        let address: Option<IpAddr> = task.label.bk_host_innerip.parse().ok();
        (task.label.bk_cloud_id, address)
    });
    for task in &mut tasks {
        task.priority = 0;
    }
    tasks
}

fn by_label(fleet: &Fleet, tasks: Vec<JobTaskRow>, key: &str) -> Vec<JobTaskRow> {
    let mut groups: BTreeMap<LabelValue, Vec<JobTaskRow>> = BTreeMap::new();
    for task in tasks {
        let row = row_of(fleet, &task);
        let value = row.and_then(|row| row.label(key).map(|value| value.into_owned()));
        groups.entry(LabelValue(value)).or_default().push(task);
    }
    let mut arranged = Vec::new();
    for (place, group) in (0..).zip(groups.into_values()) {
        arranged.extend(group.into_iter().map(|task| JobTaskRow {
            priority: place,
            ..task
        }));
    }
    arranged
}

/// Whole numbers by their size, then other values, then none.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LabelValue(Option<String>);

impl Ord for LabelValue {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |value: &Self| {
            let text = value.0.clone();
            let number: Option<u64> = text.as_deref().and_then(|text| text.parse().ok());
            (text.is_none(), number.is_none(), number, text)
        };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for LabelValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_ordered_as_people_count() {
        let mut values = ["b", "10", "9", "", "a"]
            .map(|text| LabelValue(Some(text.to_owned())))
            .to_vec();
        values.push(LabelValue(None));
        values.sort();
        let texts: Vec<_> = values.iter().map(|value| value.0.as_deref()).collect();
        assert_eq!(
            texts,
            [Some("9"), Some("10"), Some(""), Some("a"), Some("b"), None]
        );
    }
}
