//! Random fleets and filters: both implementations find the same.

use std::collections::BTreeMap;

use model::State;
use model::expression::Expression;
use model::scope::{ProcessStatus, Scope, Selection, ViewFilter};
use model::topology::{BkProcessId, ModuleId, ServiceId, SetEnv, SetId};
use proptest::prelude::*;

use super::naive::{everything, expected, is_auto, status_of};
use super::world::*;

pub(super) fn processes() -> impl Strategy<Value = Vec<Plain>> {
    let state = prop_oneof![
        Just(State::Unknown),
        Just(State::Running),
        Just(State::Stopped)
    ];
    let states = prop::collection::vec((state, any::<bool>()), 0..3);
    let process = (1..300_u32, 0..N_SERVICES, 0..ALIASES.len(), states);
    prop::collection::vec(process, 0..40).prop_map(|all| {
        let mut by_id = BTreeMap::new();
        for (id, service, alias, states) in all {
            let process = Plain {
                id,
                service,
                alias,
                states,
            };
            by_id.insert(id, process);
        }
        by_id.into_values().collect()
    })
}

fn selection() -> impl Strategy<Value = Selection> {
    let ids = |to: u32| prop::option::of(prop::collection::vec(0..to, 0..4));
    let env = || prop::option::of(prop::sample::select(SetEnv::ALL.to_vec()));
    let names = prop::option::of(prop::collection::vec(
        prop::sample::select(ALIASES.to_vec()),
        0..3,
    ));
    let scope = (
        env(),
        ids(5),
        ids(8),
        ids(14),
        names,
        prop::option::of(prop::collection::vec(0..300_u32, 0..60)),
    )
        .prop_map(|(env, sets, modules, services, names, processes)| {
            Selection::Scope(Scope {
                env,
                sets: sets.map(|l| l.into_iter().map(SetId).collect()),
                modules: modules.map(|l| l.into_iter().map(ModuleId).collect()),
                services: services.map(|l| l.into_iter().map(ServiceId).collect()),
                names: names.map(|l| l.into_iter().map(str::to_owned).collect()),
                processes: processes.map(|l| l.into_iter().map(BkProcessId).collect()),
            })
        });
    let part =
        |patterns: &[&'static str]| prop::option::of(prop::sample::select(patterns.to_vec()));
    let expression = (
        env(),
        part(&["*", "set-[1-2]", "set-3", "[set-1, x]"]),
        part(&["*", "module?", "module[0,3]"]),
        part(&["*", "10.0.1.*", "*service1?", "*[1-5]"]),
        part(&["gse_*", "nginx", "[中间件, gse_data]", "*"]),
        part(&[
            "*",
            "[0:3]",
            "[-4:]",
            "1*",
            "[10-90]",
            "[7, 8, 46]",
            "?[!2]",
        ]),
    )
        .prop_map(|(env, set, module, service, process, id)| {
            let parts = [set, module, service, process, id];
            Selection::Expression {
                env,
                expression: Box::new(Expression::parse_parts(parts).unwrap()),
            }
        });
    prop_oneof![scope, expression]
}

pub(super) fn filters() -> impl Strategy<Value = ViewFilter> {
    let statuses = vec![
        ProcessStatus::Unregistered,
        ProcessStatus::Running,
        ProcessStatus::Terminated,
    ];
    let terms = vec!["10.0", ".1.", "default", "边", "no such"];
    (
        selection(),
        prop::option::of(prop::collection::vec(0..3_u32, 0..2)),
        prop::option::of(prop::collection::vec(prop::sample::select(statuses), 0..3)),
        prop::option::of(prop::collection::vec(any::<bool>(), 0..2)),
        prop::option::of(prop::collection::vec(1..N_MACHINES + 2, 0..4)),
        prop::collection::vec(prop::sample::select(terms), 0..2),
    )
        .prop_map(
            |(selection, clouds, statuses, is_auto, ips, searches)| ViewFilter {
                clouds,
                statuses,
                is_auto,
                ips: ips.map(|l| l.into_iter().map(|m| ip_of(m).parse().unwrap()).collect()),
                searches: searches.into_iter().map(str::to_owned).collect(),
                ..ViewFilter::new(BUSINESS, selection)
            },
        )
}

proptest! {
    #[test]
    fn every_filter_finds_what_the_obvious_way_finds(
        before in processes(),
        processes in processes(),
        filters in prop::collection::vec(filters(), 1..8),
    ) {
        let fleet = fleet_of(&before, &processes);
        for filter in filters {
            let found: Vec<u32> = fleet.view().matching(&filter).iter().collect();
            prop_assert_eq!(&found, &expected(&processes, &filter), "{:?}", filter);
            let page = fleet.view_page(&filter, 1, 3);
            prop_assert_eq!(page.count, found.len() as u64);
            let shown: Vec<u32> = page.rows.iter().map(|row| row.id().0).collect();
            let rest: Vec<u32> = found.iter().skip(1).take(3).copied().collect();
            prop_assert_eq!(shown, rest);
        }
    }

    #[test]
    fn rows_show_what_filters_go_by(processes in processes()) {
        let fleet = fleet_of(&[], &processes);
        for process in &processes {
            let row = fleet.view_row(BkProcessId(process.id)).unwrap();
            prop_assert_eq!(row.status(), status_of(process));
            prop_assert_eq!(row.is_auto(), is_auto(process));
            prop_assert_eq!(row.instances().len(), process.states.len());
        }
    }

    #[test]
    fn any_order_shows_every_process_once(
        processes in processes(),
        ordering in prop::sample::select(vec![
            "bk_set_id", "-bk_module_id,bk_process_name", "bk_host_innerip,-bk_process_id", "-bk_process_name",
        ]),
        limit in 1..7_usize,
    ) {
        let fleet = fleet_of(&[], &processes);
        let filter = ViewFilter {
            ordering: model::scope::SortOrder::parse_list(ordering).unwrap(),
            ..everything()
        };
        let mut shown = Vec::new();
        for page in 0.. {
            let page = fleet.view_page(&filter, page * limit as u64, limit);
            prop_assert_eq!(page.count, processes.len() as u64);
            if page.rows.is_empty() {
                break;
            }
            shown.extend(page.rows.iter().map(|row| row.id().0));
        }
        let whole = fleet.view_page(&filter, 0, 1000);
        prop_assert_eq!(&shown, &whole.rows.iter().map(|row| row.id().0).collect::<Vec<_>>());
        shown.sort_unstable();
        prop_assert_eq!(shown, processes.iter().map(|p| p.id).collect::<Vec<_>>());
    }

    /// The order of addresses alone goes by machines; with a second key it sorts the processes.
    #[test]
    fn the_order_of_addresses_is_the_same_by_machines_and_by_processes(
        processes in processes(),
        selection in selection(),
        (start, limit) in (0..20_u64, 1..20_usize),
        descending in any::<bool>(),
    ) {
        let fleet = fleet_of(&[], &processes);
        let minus = if descending { "-" } else { "" };
        let page = |ordering: &str| {
            let filter = ViewFilter {
                ordering: model::scope::SortOrder::parse_list(ordering).unwrap(),
                ..ViewFilter::new(BUSINESS, selection.clone())
            };
            let page = fleet.view_page(&filter, start, limit);
            Vec::from_iter(page.rows.iter().map(|row| row.id()))
        };
        let by_machines = page(&format!("{minus}bk_host_innerip"));
        prop_assert_eq!(by_machines, page(&format!("{minus}bk_host_innerip,bk_process_id")));
    }
}
