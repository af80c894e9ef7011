//! Filters and facets of processes, and facets of the view, against counting row by row.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::access::ProcessScope;
use model::change::{
    Changes, DefinitionId, DefinitionRow, HostId, NameId, NameRow, ProcessId, ProcessRow, Revision,
};
use model::scope::{Scope, Selection, ViewFilter};
use model::topology::{BkProcessId, BusinessId, SetEnv};
use model::{Flag, FullName, Labels, Namespace, ProcessName, ProcessState, UnixMillis};
use proptest::prelude::*;

use super::naive::everything;
use super::random::{filters as view_filters, processes};
use super::world::*;
use crate::view::ViewFacetKey;
use crate::{AgentInfo, Facet, FacetKey, Filter, Fleet, Link, OrderKey, Row, RowOrder};

/// Ids of what belongs to no business.
const PLAIN: u32 = 5000;
const NAMES: [&str; 3] = ["web/nginx", "web/API", "db/nginx"];

/// A fleet with instances of the view and plain processes; some hosts are connected.
fn fleet(instances: &[Plain], plain: &[(u32, usize, bool, bool)], up: &[bool]) -> Fleet {
    let mut fleet = fleet_of(&[], instances);
    let mut changes = Changes::default();
    for machine in 1..=N_MACHINES {
        let host = model::Host::parse(i64::from(cloud_of(machine)), &ip_of(machine)).unwrap();
        let row = model::change::HostRow::new(HostId(machine), host);
        changes.hosts.push(row);
    }
    for (index, name) in NAMES.iter().enumerate() {
        let id = PLAIN + index as u32;
        changes.names.push(NameRow {
            id: NameId(id),
            name: name.parse().unwrap(),
        });
        let labels = BTreeMap::from([("tier".to_owned(), format!("Front-{index}"))]);
        changes.definitions.push(DefinitionRow {
            id: DefinitionId(id),
            name: NameId(id),
            spec: Arc::new(crate::tests::spec("true")),
            labels: Arc::new(Labels::parse(labels).unwrap()),
        });
    }
    let mut places = BTreeSet::new();
    for (id, (machine, name, runs, managed)) in (PLAIN..).zip(plain) {
        if !places.insert((machine, name)) {
            continue;
        }
        changes.processes.push(ProcessRow {
            id: ProcessId(id),
            host: HostId(*machine),
            name: NameId(PLAIN + *name as u32),
            definition: DefinitionId(PLAIN + *name as u32),
            flag: if *runs { Flag::Running } else { Flag::Stopped },
            managed: *managed,
            registered_at: UnixMillis::from_secs(i64::from(id)),
            incarnation: Revision(3),
            owner: None,
        });
    }
    fleet.apply(Revision(3), &changes);
    for (machine, up) in (1..=N_MACHINES).zip(up) {
        if *up {
            let since = UnixMillis(1);
            fleet.set_link(HostId(machine), Link::Up { since });
            let info = AgentInfo {
                version: format!("1.{}", machine % 2),
                hostname: format!("Node-{machine}"),
                ..AgentInfo::default()
            };
            fleet.set_agent_info(HostId(machine), info);
        }
    }
    fleet
}

fn rows(fleet: &Fleet) -> Vec<Row<'_>> {
    let ids = 0..PLAIN + 1000;
    ids.filter_map(|id| fleet.row(ProcessId(id))).collect()
}

/// The value of a key, taken from the row.
fn value(fleet: &Fleet, row: &Row<'_>, key: FacetKey) -> Option<String> {
    let view_row = || fleet.view_row(row.owner()?);
    Some(match key {
        FacetKey::Namespace => row.name().namespace.to_string(),
        FacetKey::Name => row.name().name.to_string(),
        FacetKey::Business => view_row()?.business.id.to_string(),
        FacetKey::Env => view_row()?.set.env.as_str().to_owned(),
        FacetKey::Set => view_row()?.set.id.to_string(),
        FacetKey::Module => view_row()?.module.id.to_string(),
        FacetKey::State => row.process_state().as_str().to_owned(),
        FacetKey::Wanted => row.flag().as_str().to_owned(),
        FacetKey::Managed => row.managed().to_string(),
        FacetKey::Connected => row.host().link.is_up().to_string(),
        FacetKey::Cloud => row.host().host.cloud.to_string(),
        FacetKey::Version => row.host().info?.version.clone(),
    })
}

/// The values that a filter asks for, by key.
fn asked(filter: &Filter, key: FacetKey) -> Option<Vec<String>> {
    fn texts<T: ToString>(list: Option<&Vec<T>>) -> Option<Vec<String>> {
        list.map(|list| list.iter().map(T::to_string).collect())
    }
    match key {
        FacetKey::Namespace => texts(filter.namespaces.as_ref()),
        FacetKey::Name => texts(filter.names.as_ref()),
        FacetKey::Business => texts(filter.businesses.as_ref()),
        FacetKey::Env => (filter.envs.as_ref())
            .map(|list| list.iter().map(|env| env.as_str().to_owned()).collect()),
        FacetKey::Set | FacetKey::Module => None,
        FacetKey::State => (filter.states.as_ref())
            .map(|list| list.iter().map(|state| state.as_str().to_owned()).collect()),
        FacetKey::Wanted => (filter.wanted.as_ref())
            .map(|list| list.iter().map(|flag| flag.as_str().to_owned()).collect()),
        FacetKey::Managed => texts(filter.managed.map(|one| vec![one]).as_ref()),
        FacetKey::Connected => texts(filter.connected.map(|one| vec![one]).as_ref()),
        FacetKey::Cloud => texts(filter.clouds.as_ref()),
        FacetKey::Version => filter.versions.clone(),
    }
}

/// Whether a row matches, without the part of the filter for one key.
fn matches(fleet: &Fleet, row: &Row<'_>, filter: &Filter, except: Option<FacetKey>) -> bool {
    let hostname = row.host().info.map_or("", |info| info.hostname.as_str());
    let labels: Vec<String> = row.labels().iter().map(|(_, v)| v.to_lowercase()).collect();
    FacetKey::ALL.into_iter().all(|key| {
        except == Some(key)
            || asked(filter, key).is_none_or(|wanted| {
                value(fleet, row, key).is_some_and(|value| wanted.contains(&value))
            })
    }) && (filter.visible.as_ref())
        .is_none_or(|scope| scope.includes(&row.name().namespace, |key| row.label(key)))
        && filter.words.iter().all(|word| {
            let word = word.to_lowercase();
            row.name().to_string().to_lowercase().contains(&word)
                || row.host().host.to_string().contains(&word)
                || hostname.to_lowercase().contains(&word)
                || labels.iter().any(|value| value.contains(&word))
        })
}

fn flat(facet: &Facet) -> BTreeMap<String, u64> {
    let values = facet.values.iter();
    values.map(|one| (one.value.clone(), one.count)).collect()
}

fn filters() -> impl Strategy<Value = Filter> {
    let pick = |words: &[&'static str]| {
        let words = prop::sample::select(words.to_vec());
        prop::option::weighted(0.2, prop::collection::vec(words, 1..3))
    };
    let namespaces = pick(&["web", "db", "GSEKIT_BIZ_2", "none"]);
    let places = (
        namespaces.clone(),
        namespaces,
        pick(&["nginx", "API", "no"]),
        pick(&["1.0", "1.1", "2.0"]),
        prop::collection::vec(
            prop::sample::select(vec!["NGI", "node-1", "10.0.1", "front", "b/a", "7", "边"]),
            0..2,
        ),
    );
    let states = prop::sample::select(ProcessState::ALL.to_vec());
    let rest = (
        prop::option::weighted(0.2, prop::collection::vec(states, 1..4)),
        prop::option::weighted(0.2, any::<bool>()),
        prop::option::weighted(0.2, any::<bool>()),
        prop::option::weighted(0.2, any::<bool>()),
        prop::option::weighted(0.2, prop::collection::vec(0..3_u32, 1..3)),
        prop::option::weighted(0.2, prop::collection::vec(1..4_u32, 1..2)),
        prop::option::weighted(
            0.2,
            prop::collection::vec(prop::sample::select(SetEnv::ALL.to_vec()), 1..2),
        ),
    );
    (places, rest).prop_map(
        |(
            (visible, namespaces, names, versions, words),
            (states, wanted, managed, connected, clouds, businesses, envs),
        )| {
            let parse = |list: Vec<&str>| -> Vec<Namespace> {
                let list = list.into_iter();
                list.map(|text| Namespace::parse(text).unwrap()).collect()
            };
            let texts = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect();
            let name = |text| ProcessName::parse(text).unwrap();
            Filter {
                visible: visible.map(parse).map(ProcessScope::of_namespaces),
                namespaces: namespaces.map(parse),
                names: names.map(|list| list.into_iter().map(name).collect()),
                versions: versions.map(texts),
                words: texts(words),
                states,
                wanted: wanted.map(|runs| vec![if runs { Flag::Running } else { Flag::Stopped }]),
                managed,
                connected,
                clouds,
                businesses: businesses.map(|list| list.into_iter().map(BusinessId).collect()),
                envs,
                ..Filter::default()
            }
        },
    )
}

fn plain() -> impl Strategy<Value = Vec<(u32, usize, bool, bool)>> {
    let one = (
        1..N_MACHINES + 1,
        0..NAMES.len(),
        any::<bool>(),
        any::<bool>(),
    );
    prop::collection::vec(one, 0..20)
}

fn links() -> impl Strategy<Value = Vec<bool>> {
    prop::collection::vec(any::<bool>(), N_MACHINES as usize)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn facets_count_what_the_rows_show(
        instances in processes(),
        plain in plain(),
        up in links(),
        filters in prop::collection::vec(filters(), 1..8),
    ) {
        let fleet = fleet(&instances, &plain, &up);
        let rows = rows(&fleet);
        prop_assert_eq!(rows.len(), fleet.n_processes());
        for filter in filters {
            let found: Vec<u32> = fleet.matching(&filter).iter().collect();
            let meant = rows.iter().filter(|row| matches(&fleet, row, &filter, None));
            let meant: Vec<u32> = meant.map(|row| row.id().0).collect();
            prop_assert_eq!(&found, &meant, "{:?}", filter);
            let (count, facets) = fleet.facets(&filter, &FacetKey::ALL, 1000);
            prop_assert_eq!(count, found.len() as u64);
            for (key, facet) in FacetKey::ALL.into_iter().zip(&facets) {
                let wider = rows.iter().filter(|row| matches(&fleet, row, &filter, Some(key)));
                let mut meant: BTreeMap<String, u64> = BTreeMap::new();
                for value in wider.filter_map(|row| value(&fleet, row, key)) {
                    *meant.entry(value).or_default() += 1;
                }
                prop_assert_eq!(flat(facet), meant, "{:?} of {:?}", key, &filter);
            }
        }
    }

    #[test]
    fn facets_of_the_view_count_what_the_filter_finds(
        instances in processes(),
        up in links(),
        filters in prop::collection::vec(view_filters(), 1..6),
    ) {
        let fleet = fleet(&instances, &[], &up);
        for mut filter in filters {
            filter.connected = up.first().copied();
            let (count, facets) = fleet.view_facets(&filter, &ViewFacetKey::ALL, 1000);
            prop_assert_eq!(count, fleet.view_matching(&filter).len());
            // The sum of these is what is found without their own part: each process has exactly one value.
            for (key, facet) in ViewFacetKey::ALL.into_iter().zip(&facets) {
                let wider = match (&filter.selection, key) {
                    (_, ViewFacetKey::Status) => ViewFilter { statuses: None, ..filter.clone() },
                    (_, ViewFacetKey::Managed) => ViewFilter { is_auto: None, ..filter.clone() },
                    (_, ViewFacetKey::Connected) => ViewFilter { connected: None, ..filter.clone() },
                    (_, ViewFacetKey::Cloud) => ViewFilter { clouds: None, ..filter.clone() },
                    (Selection::Expression { .. }, ViewFacetKey::Set | ViewFacetKey::Module) => filter.clone(),
                    (Selection::Scope(scope), ViewFacetKey::Set) => {
                        let scope = Scope { sets: None, ..scope.clone() };
                        ViewFilter { selection: Selection::Scope(scope), ..filter.clone() }
                    }
                    (Selection::Scope(scope), ViewFacetKey::Service) => {
                        let scope = Scope { services: None, ..scope.clone() };
                        ViewFilter { selection: Selection::Scope(scope), ..filter.clone() }
                    }
                    _ => continue,
                };
                let found = fleet.view_matching(&wider);
                let mut meant: BTreeMap<String, u64> = BTreeMap::new();
                for row in fleet.view_rows(found.iter().map(BkProcessId)) {
                    let host = fleet.find_host(&row.machine.host);
                    let value = match key {
                        ViewFacetKey::Status => row.status().as_str().to_owned(),
                        ViewFacetKey::Managed => row.is_auto().to_string(),
                        ViewFacetKey::Connected => host.is_some_and(|host| host.link.is_up()).to_string(),
                        ViewFacetKey::Cloud => row.machine.host.cloud.to_string(),
                        ViewFacetKey::Set => row.set.id.to_string(),
                        ViewFacetKey::Module => row.module.id.to_string(),
                        _ => row.process.service.to_string(),
                    };
                    *meant.entry(value).or_default() += 1;
                }
                prop_assert_eq!(flat(facet), meant, "{:?} of {:?}", key, &filter);
            }
        }
    }
}

fn small() -> Fleet {
    let process = |id, service, state| Plain {
        id,
        service,
        alias: id as usize % 2,
        states: vec![(state, true)],
    };
    let instances = [
        process(1, 0, model::State::Running),
        process(2, 1, model::State::Stopped),
        process(3, 6, model::State::Running),
    ];
    let plain = [
        (1, 0, true, true),
        (2, 1, false, false),
        (3, 2, true, false),
    ];
    fleet(&instances, &plain, &[true; N_MACHINES as usize])
}

#[test]
fn the_most_frequent_values_come_first_and_the_rest_is_counted() {
    let fleet = small();
    let keys = [FacetKey::Namespace, FacetKey::Business];
    let (count, facets) = fleet.facets(&Filter::default(), &keys, 1);
    assert_eq!(count, 6);
    let first = &facets[0].values[0];
    assert_eq!((first.value.as_str(), first.count), ("GSEKIT_BIZ_2", 3));
    assert_eq!((facets[0].values.len(), facets[0].more), (1, 2));
    assert_eq!(facets[1].values[0].name.as_deref(), Some("game"));
}

#[test]
fn a_caller_does_not_see_the_values_of_other_namespaces() {
    let fleet = small();
    let namespace = |text| vec![Namespace::parse(text).unwrap()];
    let filter = Filter {
        visible: Some(ProcessScope::of_namespaces(namespace("web"))),
        namespaces: Some(namespace("web")),
        ..Filter::default()
    };
    let (count, facets) = fleet.facets(&filter, &[FacetKey::Namespace], 9);
    assert_eq!(count, 2);
    assert_eq!(flat(&facets[0]), BTreeMap::from([("web".to_owned(), 2)]));
}

#[test]
fn the_tree_counts_processes_and_those_that_run() {
    let fleet = small();
    let tree = fleet.view().tree(BUSINESS, None).unwrap();
    assert_eq!(tree.len(), N_SETS as usize);
    let set = tree.iter().find(|set| set.row.id.0 == set_of(1)).unwrap();
    assert_eq!((set.count, set.running), (2, 2), "services 0 and 6");
    let modules: Vec<(u32, u64, u64)> = set
        .modules
        .iter()
        .map(|(module, count, running)| (module.id.0, *count, *running))
        .collect();
    assert!(modules.contains(&(1, 2, 2)), "{modules:?}");
    let env = env_of(set_of(1));
    let some = fleet.view().tree(BUSINESS, Some(env)).unwrap();
    assert!(some.iter().all(|set| set.row.env == env) && some.len() < tree.len());
    assert!(fleet.view().tree(BusinessId(99), None).is_none());
}

#[test]
fn rows_are_sorted_by_name_host_and_registration() {
    let fleet = small();
    let filter = Filter {
        namespaces: Some(vec![
            Namespace::parse("web").unwrap(),
            Namespace::parse("db").unwrap(),
        ]),
        ..Filter::default()
    };
    let names = |key, descending| -> Vec<FullName> {
        let page = fleet.page(&filter, &[RowOrder { key, descending }], 0, 2);
        assert_eq!(page.count, 3);
        page.rows.iter().map(|row| row.name().clone()).collect()
    };
    let texts =
        |names: Vec<FullName>| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
    assert_eq!(texts(names(OrderKey::Name, false)), ["db/nginx", "web/API"]);
    assert_eq!(texts(names(OrderKey::Name, true)), ["web/nginx", "web/API"]);
    // Cloud 0 first: machine 2.
    assert_eq!(texts(names(OrderKey::Host, false))[0], "web/API");
    assert_eq!(
        texts(names(OrderKey::Registered, true)),
        ["db/nginx", "web/API"]
    );
}

#[test]
fn a_word_is_found_in_the_names_of_what_a_process_belongs_to() {
    let fleet = small();
    let found = |word: &str| -> Vec<u32> {
        let filter = ViewFilter {
            words: vec![word.to_owned()],
            ..everything()
        };
        fleet.view_matching(&filter).iter().collect()
    };
    assert_eq!(found("SERVICE6"), [3]);
    assert_eq!(found("gse_DATA"), [1, 3]);
    assert_eq!(found(&set_name(set_of(1)).to_uppercase()), [1, 3]);
    assert_eq!(found("边缘").len(), 2, "machines 1 and 7");
    assert_eq!(found("no such"), [0_u32; 0]);
}
