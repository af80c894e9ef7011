//! Queries after a row changed its parent, its name or its id.

use std::sync::Arc;

use model::State;
use model::change::{Changes, Revision};
use model::expression::{Expression, IdPart};
use model::scope::{Scope, Selection, ViewFilter};
use model::topology::{
    BkHostId, BkProcessId, ModuleId, ModuleRow, Program, ProgramId, ProgramRow, ServiceId,
    ServiceRow, SetEnv, SetId, SetRow, TopologyChanges, ViewProcessRow,
};

use super::naive::everything;
use super::world::*;
use crate::Fleet;

#[test]
fn moved_rows_are_found_at_their_new_parent() {
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
    // The set moves to another environment, then the module to another set.
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
fn an_expression_counts_what_each_part_leaves() {
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
fn the_largest_proc_num_follows_every_change() {
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
fn a_program_id_may_be_reused_within_one_batch_of_commits() {
    let process = Plain {
        id: 1,
        service: 0,
        alias: 0,
        states: vec![],
    };
    let mut fleet = fleet_of(&[], std::slice::from_ref(&process));
    // Two commits of another replica at once: the process changed to `nginx`, and a third program got the old id.
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
