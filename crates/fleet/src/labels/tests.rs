//! Random fleets with labels on processes and hosts, compared with each row's labels.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::access::{Caller, Grant, Role};
use model::change::{
    Changes, DefinitionId, DefinitionRow, HostId, HostRow, NameId, NameRow, ProcessId, ProcessRow,
    Revision,
};
use model::selector::LabelSelector;
use model::topology::BkProcessId;
use model::{Flag, Host, Labels, Namespace, UnixMillis};
use proptest::prelude::*;

use crate::tests::spec;
use crate::{Filter, Fleet};

const HOSTS: u32 = 4;
const NAMES: u32 = 3;
const PER_NAME: u32 = 3;

fn labels() -> impl Strategy<Value = Labels> {
    prop::collection::btree_map("[a-c]|bk_process_id", "[x-z12]?", 0..3)
        .prop_map(|pairs| Labels::parse(pairs).unwrap())
}

fn selector() -> impl Strategy<Value = String> {
    let key = "[a-d]|bk_process_id";
    let value = || "[x-z12]?";
    let test = prop_oneof![
        (key, value()).prop_map(|(key, value)| format!("{key}={value}")),
        (key, value()).prop_map(|(key, value)| format!("{key}!={value}")),
        (key, value()).prop_map(|(key, value)| format!("{key} in (x,{value})")),
        (key, value()).prop_map(|(key, value)| format!("{key} notin (x,{value})")),
        key.prop_map(|key| key),
        key.prop_map(|key| format!("!{key}")),
    ];
    prop::collection::vec(test, 1..4).prop_map(|tests| tests.join(","))
}

#[derive(Debug, Clone)]
enum Step {
    Put {
        host: u32,
        definition: u32,
        owner: Option<u32>,
    },
    Remove {
        host: u32,
        name: u32,
    },
    LabelHost {
        host: u32,
        labels: Labels,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..HOSTS, 0..NAMES * PER_NAME, prop::option::of(1_u32..3)).prop_map(|(host, definition, owner)| {
            Step::Put { host, definition, owner }
        }),
        1 => (0..HOSTS, 0..NAMES).prop_map(|(host, name)| Step::Remove { host, name }),
        2 => (0..HOSTS, labels()).prop_map(|(host, labels)| Step::LabelHost { host, labels }),
    ];
    prop::collection::vec(step, 0..40)
}

fn host_row(id: u32, labels: Labels) -> HostRow {
    let host: Host = format!("10.0.0.{}", id + 1).parse().unwrap();
    HostRow {
        labels,
        ..HostRow::new(HostId(id), host)
    }
}

/// Every name has several definitions, which differ in their labels.
fn furnished(definitions: Vec<Labels>) -> Fleet {
    let mut fleet = Fleet::new();
    let changes = Changes {
        hosts: (0..HOSTS)
            .map(|id| host_row(id, Labels::default()))
            .collect(),
        names: (0..NAMES)
            .map(|id| NameRow {
                id: NameId(id),
                name: format!("web/{id}").parse().unwrap(),
            })
            .collect(),
        definitions: (0..)
            .zip(definitions)
            .map(|(id, labels)| DefinitionRow {
                id: DefinitionId(id),
                name: NameId(id / PER_NAME),
                spec: Arc::new(spec("./run")),
                labels: Arc::new(labels),
            })
            .collect(),
        ..Changes::default()
    };
    fleet.apply(Revision(1), &changes);
    fleet
}

fn step(fleet: &mut Fleet, step: Step) {
    let mut changes = Changes::default();
    match step {
        Step::Put {
            host,
            definition,
            owner,
        } => {
            let name = NameId(definition / PER_NAME);
            let known = fleet.process(HostId(host), name).map(|row| row.id());
            changes.processes.push(ProcessRow {
                id: known.unwrap_or_else(|| fleet.fresh_ids().process()),
                host: HostId(host),
                name,
                definition: DefinitionId(definition),
                flag: Flag::Running,
                managed: true,
                registered_at: UnixMillis::NEVER,
                incarnation: Revision(1),
                owner: owner.map(BkProcessId),
            });
        }
        Step::Remove { host, name } => {
            let known = fleet.process(HostId(host), NameId(name));
            changes.processes_gone.extend(known.map(|row| row.id()));
        }
        Step::LabelHost { host, labels } => changes.hosts.push(host_row(host, labels)),
    }
    fleet.apply(fleet.revision().next(), &changes);
}

/// Every process whose own labels, or else whose host's, pass.
fn naive(fleet: &Fleet, selector: &LabelSelector) -> Vec<u32> {
    let all = (0..fleet.columns.next_id()).filter_map(|id| fleet.row(ProcessId(id)));
    let passing = all.filter(|row| {
        let mut pairs: BTreeMap<String, String> = BTreeMap::new();
        for labels in [row.host().labels, &*row.labels()] {
            pairs.extend(labels.iter().map(|(k, v)| (k.to_owned(), v.to_owned())));
        }
        selector.matches(|key| pairs.get(key))
    });
    passing.map(|row| row.id().0).collect()
}

proptest! {
    #[test]
    fn the_index_finds_what_each_row_says(
        definitions in prop::collection::vec(labels(), (NAMES * PER_NAME) as usize),
        steps in steps(),
        selectors in prop::collection::vec(selector(), 8),
    ) {
        let mut fleet = furnished(definitions);
        for one in steps {
            step(&mut fleet, one);
        }
        for text in selectors {
            let selector = LabelSelector::parse(&text).unwrap();
            let filter = Filter { labels: Some(selector.clone()), ..Filter::default() };
            let found: Vec<u32> = fleet.matching(&filter).iter().collect();
            prop_assert_eq!(found, naive(&fleet, &selector), "{}", text);
        }
    }

    /// What a caller may see by labels narrows every filter.
    #[test]
    fn a_scope_by_labels_shows_what_it_includes(
        definitions in prop::collection::vec(labels(), (NAMES * PER_NAME) as usize),
        steps in steps(),
        grants in prop::collection::vec(("[a-c]=[xy]|[a-c]", prop::bool::ANY), 0..3),
        selector in selector(),
    ) {
        let mut fleet = furnished(definitions);
        for one in steps {
            step(&mut fleet, one);
        }
        let grants: Vec<Grant> = grants.into_iter().map(|(labels, is_web)| {
            let name = if is_web { "web" } else { "db" };
            let namespaces = vec![Namespace::parse(name).unwrap()];
            let grant = Grant::new(Role::Viewer, namespaces, Vec::new()).unwrap();
            grant.with_labels(labels.parse().unwrap()).unwrap()
        }).collect();
        let scope = Caller::system().with_grants(&grants).visible_processes();
        let selector = LabelSelector::parse(&selector).unwrap();
        let mut expected = naive(&fleet, &selector);
        expected.retain(|id| {
            let row = fleet.row(ProcessId(*id)).unwrap();
            scope.includes(&row.name().namespace, |key| row.label(key))
        });
        let filter = Filter { visible: Some(scope), labels: Some(selector), ..Filter::default() };
        let found: Vec<u32> = fleet.matching(&filter).iter().collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn the_index_forgets_what_is_gone(
        definitions in prop::collection::vec(labels(), (NAMES * PER_NAME) as usize),
        steps in steps(),
    ) {
        let mut fleet = furnished(definitions);
        for one in steps {
            step(&mut fleet, one);
        }
        let processes_gone = fleet.names.all_processes().iter().map(ProcessId).collect();
        let removed = |id| HostRow { removed_at: Some(UnixMillis(9)), ..host_row(id, Labels::default()) };
        let hosts = (0..HOSTS).map(removed).collect();
        fleet.apply(fleet.revision().next(), &Changes { processes_gone, hosts, ..Changes::default() });
        prop_assert_eq!(fleet.process_labels.n_keys(), 0);
        prop_assert_eq!(fleet.host_labels.n_keys(), 0);
    }
}
