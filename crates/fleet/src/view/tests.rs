//! The view against a slow and obvious second one: rows in a list, filtered one by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::change::{Changes, DefinitionRow, HostRow, NameRow, ProcessRow, Revision};
use model::change::{DefinitionId, HostId, NameId, ProcessId};
use model::expression::{Expression, IdPart};
use model::scope::{ProcessStatus, Scope, Selection, ViewFilter};
use model::topology::{
    BkHostId, BkProcessId, BusinessId, BusinessRow, CloudRow, MachineRow, ModuleId, ModuleRow,
    Origin, Program, ProgramId, ProgramRow, ServiceId, ServiceRow, SetEnv, SetId, SetRow,
    TopologyChanges, ViewProcessRow, instance_name,
};
use model::{Flag, Host, State, Status, UnixMillis};
use proptest::prelude::*;

use crate::Fleet;

const BUSINESS: BusinessId = BusinessId(2);
const N_SETS: u32 = 3;
const N_MODULES: u32 = 6;
const N_MACHINES: u32 = 8;
const N_SERVICES: u32 = 12;
const ALIASES: [&str; 4] = ["gse_agent", "gse_data", "nginx", "中间件"];

/// A process as the obvious view knows it.
#[derive(Debug, Clone)]
struct Plain {
    id: u32,
    service: u32,
    alias: usize,
    states: Vec<(State, bool)>,
}

fn machine_of(service: u32) -> u32 {
    service % N_MACHINES + 1
}

fn module_of(service: u32) -> u32 {
    service % N_MODULES + 1
}

fn set_of(module: u32) -> u32 {
    module % N_SETS + 1
}

fn ip_of(machine: u32) -> String {
    format!("10.0.{}.{machine}", machine % 3)
}

fn cloud_of(machine: u32) -> u32 {
    machine % 2
}

fn service_name(service: u32) -> String {
    format!("{}_service{service}", ip_of(machine_of(service)))
}

fn set_name(set: u32) -> String {
    format!("set-{set}")
}

fn module_name(module: u32) -> String {
    format!("module{}", module % 4)
}

fn env_of(set: u32) -> SetEnv {
    SetEnv::ALL[set as usize % 2 + 1]
}

fn places() -> TopologyChanges {
    let mut changes = TopologyChanges::default();
    changes.businesses.push(BusinessRow {
        id: BUSINESS,
        name: "game".into(),
        origin: Origin::Given,
        refreshed_at: UnixMillis(1),
        variables: Default::default(),
        troubles: Vec::new(),
    });
    for (id, name) in [(0, "default area"), (1, "边缘")] {
        let name = name.to_owned();
        changes.clouds.push(CloudRow { id, name });
    }
    for set in 1..=N_SETS {
        changes.sets.push(SetRow {
            id: SetId(set),
            business: BUSINESS,
            name: set_name(set).into(),
            env: env_of(set),
            attributes: Default::default(),
        });
    }
    for module in 1..=N_MODULES {
        changes.modules.push(ModuleRow {
            id: ModuleId(module),
            set: SetId(set_of(module)),
            name: module_name(module).into(),
            service_template: 0,
            attributes: Default::default(),
        });
    }
    for machine in 1..=N_MACHINES {
        changes.machines.push(MachineRow {
            id: BkHostId(machine),
            host: Host::parse(i64::from(cloud_of(machine)), &ip_of(machine)).unwrap(),
            ip_v6: None,
            agent_id: None,
            attributes: Default::default(),
        });
    }
    for service in 0..N_SERVICES {
        changes.services.push(ServiceRow {
            id: ServiceId(service + 1),
            module: ModuleId(module_of(service)),
            machine: BkHostId(machine_of(service)),
            name: service_name(service).into(),
        });
    }
    for (index, alias) in ALIASES.iter().enumerate() {
        changes.programs.push(ProgramRow {
            id: ProgramId(index as u32),
            program: Arc::new(Program {
                bk_process_name: (*alias).to_owned(),
                proc_num: 1,
                ..Program::default()
            }),
        });
    }
    changes
}

fn row_of(process: &Plain) -> ViewProcessRow {
    ViewProcessRow {
        id: BkProcessId(process.id),
        service: ServiceId(process.service + 1),
        program: ProgramId(process.alias as u32),
        process_template: 0,
        ordinal: 1,
        vanished: false,
    }
}

/// A fleet with these processes, after some of them had been elsewhere before.
fn fleet_of(before: &[Plain], processes: &[Plain]) -> Fleet {
    let mut fleet = Fleet::new();
    let mut topology = places();
    topology.processes = before.iter().map(row_of).collect();
    let first = Changes {
        topology,
        ..Changes::default()
    };
    fleet.apply(Revision(1), &first);
    let kept = |id: u32| processes.iter().any(|process| process.id == id);
    let mut changes = Changes {
        topology: TopologyChanges {
            processes_gone: before
                .iter()
                .filter(|process| !kept(process.id))
                .map(|process| BkProcessId(process.id))
                .collect(),
            processes: processes.iter().map(row_of).collect(),
            ..TopologyChanges::default()
        },
        ..Changes::default()
    };
    let mut next = 0;
    let mut statuses = Vec::new();
    for process in processes {
        for (local, (state, managed)) in process.states.iter().enumerate() {
            let alias = ALIASES[process.alias];
            let name = instance_name(BUSINESS, alias, local as u32 + 1 + process.id * 10).unwrap();
            let machine = machine_of(process.service);
            let host = Host::parse(i64::from(cloud_of(machine)), &ip_of(machine)).unwrap();
            changes.hosts.push(HostRow {
                id: HostId(machine),
                host,
                agent_id: None,
                enrolled_at: UnixMillis::NEVER,
            });
            changes.names.push(NameRow {
                id: NameId(next),
                name: name.clone(),
            });
            changes.definitions.push(DefinitionRow {
                id: DefinitionId(next),
                name: NameId(next),
                spec: Arc::new(crate::tests::spec("true")),
                labels: Default::default(),
            });
            changes.processes.push(ProcessRow {
                id: ProcessId(next),
                host: HostId(machine),
                name: NameId(next),
                definition: DefinitionId(next),
                flag: Flag::Running,
                managed: *managed,
                registered_at: UnixMillis(1),
                incarnation: Revision(2),
                owner: Some(BkProcessId(process.id)),
            });
            statuses.push((HostId(machine), name, *state));
            next += 1;
        }
    }
    fleet.apply(Revision(2), &changes);
    for (host, name, state) in statuses {
        if state != State::Unknown {
            // By a detour, as statuses come.
            for state in [State::Running, State::Stopped, state] {
                let status = Status {
                    state,
                    ..Status::default()
                };
                fleet.observe(host, &name, status);
            }
        }
    }
    fleet
}

fn status_of(process: &Plain) -> ProcessStatus {
    let states = || process.states.iter().map(|(state, _)| *state);
    if states().count() > 0 && states().all(|state| state == State::Running) {
        ProcessStatus::Running
    } else if states().all(|state| state == State::Unknown) {
        ProcessStatus::Unregistered
    } else {
        ProcessStatus::Terminated
    }
}

fn is_auto(process: &Plain) -> bool {
    !process.states.is_empty() && process.states.iter().all(|(_, managed)| *managed)
}

/// The obvious way.
fn expected(processes: &[Plain], filter: &ViewFilter) -> Vec<u32> {
    let mut rows: BTreeMap<u32, &Plain> = processes.iter().map(|p| (p.id, p)).collect();
    let within = |list: &Option<Vec<u32>>, id: u32| list.as_ref().is_none_or(|l| l.contains(&id));
    match &filter.selection {
        Selection::Scope(scope) => rows.retain(|_, p| {
            let module = module_of(p.service);
            let numbers = |ids: Option<Vec<u32>>, id| within(&ids, id);
            scope.env.is_none_or(|env| env == env_of(set_of(module)))
                && numbers(
                    scope.sets.as_ref().map(|l| l.iter().map(|i| i.0).collect()),
                    set_of(module),
                )
                && numbers(
                    scope
                        .modules
                        .as_ref()
                        .map(|l| l.iter().map(|i| i.0).collect()),
                    module,
                )
                && numbers(
                    scope
                        .services
                        .as_ref()
                        .map(|l| l.iter().map(|i| i.0).collect()),
                    p.service + 1,
                )
                && numbers(
                    scope
                        .processes
                        .as_ref()
                        .map(|l| l.iter().map(|i| i.0).collect()),
                    p.id,
                )
                && scope
                    .names
                    .as_ref()
                    .is_none_or(|names| names.iter().any(|name| name == ALIASES[p.alias]))
        }),
        Selection::Expression { env, expression } => {
            rows.retain(|_, p| {
                let module = module_of(p.service);
                let set = set_of(module);
                env.is_none_or(|env| env == env_of(set))
                    && expression.set.matches(&set_name(set))
                    && expression.module.matches(&module_name(module))
                    && expression.service.matches(&service_name(p.service))
                    && expression.process.matches(ALIASES[p.alias])
            });
            let ids: Vec<u64> = rows.keys().map(|id| u64::from(*id)).collect();
            let kept = expression.id.select(&ids);
            rows.retain(|id, _| kept.contains(&u64::from(*id)));
        }
    }
    rows.retain(|_, p| {
        let machine = machine_of(p.service);
        let cloud_name = ["default area", "边缘"][cloud_of(machine) as usize];
        within(&filter.clouds, cloud_of(machine))
            && filter
                .statuses
                .as_ref()
                .is_none_or(|s| s.contains(&status_of(p)))
            && filter
                .is_auto
                .as_ref()
                .is_none_or(|s| s.contains(&is_auto(p)))
            && filter
                .ips
                .as_ref()
                .is_none_or(|ips| ips.iter().any(|ip| ip.to_string() == ip_of(machine)))
            && filter
                .searches
                .iter()
                .all(|term| ip_of(machine).contains(term) || cloud_name.contains(term))
    });
    rows.into_keys().collect()
}

fn processes() -> impl Strategy<Value = Vec<Plain>> {
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

fn filters() -> impl Strategy<Value = ViewFilter> {
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
                business: BUSINESS,
                selection,
                clouds,
                statuses,
                is_auto,
                ips: ips.map(|l| l.into_iter().map(|m| ip_of(m).parse().unwrap()).collect()),
                searches: searches.into_iter().map(str::to_owned).collect(),
                ordering: Vec::new(),
            },
        )
}

fn everything() -> ViewFilter {
    ViewFilter {
        business: BUSINESS,
        selection: Selection::Scope(Scope::default()),
        clouds: None,
        statuses: None,
        is_auto: None,
        ips: None,
        searches: Vec::new(),
        ordering: Vec::new(),
    }
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
            ordering: model::scope::Ordering::parse_list(ordering).unwrap(),
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
}

#[test]
fn what_moves_is_found_where_it_is() {
    let process = Plain {
        id: 7,
        service: 0,
        alias: 0,
        states: vec![(State::Running, true)],
    };
    let mut fleet = fleet_of(&[], &[process]);
    let only = |fleet: &Fleet, scope: Scope| {
        let filter = ViewFilter {
            selection: Selection::Scope(scope),
            ..everything()
        };
        fleet.view().matching(&filter).len()
    };
    let in_module = |module| Scope {
        modules: Some(vec![ModuleId(module)]),
        ..Scope::default()
    };
    assert_eq!(only(&fleet, in_module(1)), 1);
    let moved = TopologyChanges {
        services: vec![ServiceRow {
            id: ServiceId(1),
            module: ModuleId(2),
            machine: BkHostId(3),
            name: "moved".into(),
        }],
        ..TopologyChanges::default()
    };
    let changes = Changes {
        topology: moved,
        ..Changes::default()
    };
    fleet.apply(Revision(3), &changes);
    assert_eq!(only(&fleet, in_module(1)), 0);
    assert_eq!(only(&fleet, in_module(2)), 1);
    let row = fleet.view_row(BkProcessId(7)).unwrap();
    assert_eq!(row.machine.host.ip.to_string(), ip_of(3));
    assert_eq!(row.expression(), "set-3.module2.moved.gse_agent.7");
    // The set goes to another environment, and then the module to another set.
    let set = SetRow {
        env: SetEnv::Test,
        ..(*fleet.view().set(SetId(3)).unwrap()).clone()
    };
    let module = ModuleRow {
        set: SetId(1),
        ..(*fleet.view().module(ModuleId(2)).unwrap()).clone()
    };
    let tested = |env| Scope {
        env: Some(env),
        ..Scope::default()
    };
    for (revision, topology, env) in [
        (
            4,
            TopologyChanges {
                sets: vec![set],
                ..TopologyChanges::default()
            },
            SetEnv::Test,
        ),
        (
            5,
            TopologyChanges {
                modules: vec![module],
                ..TopologyChanges::default()
            },
            env_of(1),
        ),
    ] {
        let changes = Changes {
            topology,
            ..Changes::default()
        };
        fleet.apply(Revision(revision), &changes);
        assert_eq!(only(&fleet, tested(env)), 1, "revision {revision}");
    }
}

#[test]
fn an_expression_tells_what_each_part_leaves() {
    let process = |id, alias| Plain {
        id,
        service: id % N_SERVICES,
        alias,
        states: vec![],
    };
    let processes: Vec<Plain> = (1..=24).map(|id| process(id, id as usize % 4)).collect();
    let fleet = fleet_of(&[], &processes);
    let parts = [
        Some("set-*"),
        Some("module1"),
        Some("*"),
        Some("nginx"),
        Some("[0:1]"),
    ];
    let expression = Expression::parse_parts(parts).unwrap();
    assert!(matches!(expression.id, IdPart::Slice(_)));
    let (ids, steps) = fleet.view().narrowed(BUSINESS, None, &expression);
    let counts: Vec<u64> = steps.iter().map(|step| step.count).collect();
    assert_eq!(counts.len(), 5);
    assert_eq!(counts[0], 24);
    assert!(
        counts.windows(2).all(|pair| pair[0] >= pair[1]),
        "{counts:?}"
    );
    assert_eq!(ids.len(), counts[4]);
}

#[test]
fn the_largest_proc_num_follows_what_comes_goes_vanishes_and_moves() {
    let process = |id, service| Plain {
        id,
        service,
        alias: 0,
        states: vec![],
    };
    // Both in module 1.
    let mut fleet = fleet_of(&[], &[process(1, 0), process(2, N_MODULES)]);
    let mut revision = 2;
    let mut apply = |fleet: &mut Fleet, topology: TopologyChanges| {
        revision += 1;
        let changes = Changes {
            topology,
            ..Changes::default()
        };
        fleet.apply(Revision(revision), &changes);
        fleet.view().largest_proc_num(ModuleId(1), ALIASES[0])
    };
    let large = ProgramRow {
        id: ProgramId(90),
        program: Arc::new(Program {
            bk_process_name: ALIASES[0].to_owned(),
            proc_num: 5,
            ..Program::default()
        }),
    };
    let row = |vanished| ViewProcessRow {
        program: ProgramId(90),
        vanished,
        ..row_of(&process(2, N_MODULES))
    };
    let put = |vanished| TopologyChanges {
        programs: vec![large.clone()],
        processes: vec![row(vanished)],
        ..TopologyChanges::default()
    };
    assert_eq!(apply(&mut fleet, put(false)), 5);
    assert_eq!(
        apply(&mut fleet, put(true)),
        1,
        "what vanished does not count"
    );
    let gone = TopologyChanges {
        processes_gone: vec![BkProcessId(1)],
        ..TopologyChanges::default()
    };
    assert_eq!(apply(&mut fleet, gone), 5, "nothing but what vanished");
    let moved = TopologyChanges {
        services: vec![ServiceRow {
            id: ServiceId(N_MODULES + 1),
            module: ModuleId(2),
            machine: BkHostId(1),
            name: "moved".into(),
        }],
        ..TopologyChanges::default()
    };
    assert_eq!(apply(&mut fleet, moved), 1);
    assert_eq!(
        fleet.view().largest_proc_num(ModuleId(2), ALIASES[0]),
        5,
        "it moved along"
    );
}

#[test]
fn a_number_of_a_program_may_be_another_programs_by_the_time_it_is_told() {
    let process = Plain {
        id: 1,
        service: 0,
        alias: 0,
        states: vec![],
    };
    let mut fleet = fleet_of(&[], std::slice::from_ref(&process));
    // Two commits of another replica at once: the process went to `nginx`, and its old program's number to a third.
    let topology = TopologyChanges {
        programs: vec![ProgramRow {
            id: ProgramId(0),
            program: Arc::new(Program {
                bk_process_name: "third".into(),
                proc_num: 1,
                ..Program::default()
            }),
        }],
        processes: vec![ViewProcessRow {
            program: ProgramId(2),
            ..row_of(&process)
        }],
        ..TopologyChanges::default()
    };
    let changes = Changes {
        topology,
        ..Changes::default()
    };
    fleet.apply(Revision(3), &changes);
    let named = |name: &str| {
        let filter = ViewFilter {
            selection: Selection::Scope(Scope {
                names: Some(vec![name.into(), name.into()]),
                ..Scope::default()
            }),
            ..everything()
        };
        fleet.view().matching(&filter).len()
    };
    assert_eq!(
        [named(ALIASES[0]), named("third"), named("nginx")],
        [0, 0, 1]
    );
}
