//! The columns against a naive second implementation, through random histories.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::change::{
    Changes, DefinitionId, DefinitionRow, HostId, HostRow, NameId, NameRow, ProcessId, ProcessRow,
    Revision,
};
use model::spec::RawSpec;
use model::spec::raw::SpecRules;
use model::status::{Exit, HealthResult, LastExit, OomMemory, ProbeResults};
use model::{
    Flag, FullName, Host, Labels, Namespace, ProcessState, Spec, State, Status, UnixMillis,
};
use proptest::prelude::{Strategy, prop, prop_oneof, proptest};

use crate::{Filter, Fleet, Link, OrderKey, Row, RowOrder, WrittenStatuses};

const HOSTS: u32 = 5;
const NAMES: u32 = 4;

pub(crate) fn spec(start_cmd: &str) -> Spec {
    let raw: RawSpec = serde_json::from_value(serde_json::json!({
        "identity": {"proc_name": "p", "setup_path": "/s", "pid_path": "/s/p.pid", "user": "root"},
        "control": {"start_cmd": start_cmd},
    }))
    .unwrap();
    raw.complete(SpecRules::Inline).unwrap()
}

fn name(id: u32) -> FullName {
    FullName::parse(
        if id.is_multiple_of(2) { "even" } else { "odd" },
        &format!("n{id}"),
    )
    .unwrap()
}

fn host(id: u32) -> Host {
    format!("{}:10.0.0.{}", id % 2, id + 1).parse().unwrap()
}

/// A host under an id; its agent keeps its own id when the host comes back.
fn host_row(id: HostId, number: u32) -> HostRow {
    HostRow {
        agent_id: Some(agent(number)),
        ..HostRow::new(id, host(number))
    }
}

fn agent(number: u32) -> model::AgentId {
    model::AgentId::parse(&format!("agent-{number}")).unwrap()
}

/// Every host and name exists, each name with two definitions.
fn furnished() -> Fleet {
    let mut fleet = Fleet::new();
    let definition = |id| DefinitionRow {
        id: DefinitionId(id),
        name: NameId(id / 2),
        spec: Arc::new(spec(&format!("./{id}"))),
        labels: Arc::new(Labels::default()),
    };
    let changes = Changes {
        hosts: (0..HOSTS).map(|id| host_row(HostId(id), id)).collect(),
        names: (0..NAMES)
            .map(|id| NameRow {
                id: NameId(id),
                name: name(id),
            })
            .collect(),
        definitions: (0..NAMES * 2).map(definition).collect(),
        ..Default::default()
    };
    fleet.apply(Revision(1), &changes);
    fleet
}

impl Fleet {
    /// Applies a status; whether more than figures changed, or None if there is no such process.
    pub(crate) fn observe_named(
        &mut self,
        host: HostId,
        name: &FullName,
        status: Status,
    ) -> Option<bool> {
        let mut here = self.host_processes(host);
        let process = here.find(name.namespace.as_str(), name.name.as_str());
        let packed = here.pack(process, status);
        self.observe(packed).map(|observed| observed.has_changed)
    }
}

#[derive(Debug, Clone)]
enum Step {
    Put {
        host: u32,
        name: u32,
        second: bool,
    },
    Remove {
        host: u32,
        name: u32,
    },
    Observe {
        host: u32,
        name: u32,
        pid: i32,
    },
    /// The host is removed and comes back, in one commit or in two.
    RemoveHost {
        host: u32,
        merged: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = (0..HOSTS, 0..NAMES);
    let step = prop_oneof![
        (place.clone(), prop::bool::ANY).prop_map(|((host, name), second)| Step::Put {
            host,
            name,
            second
        }),
        place
            .clone()
            .prop_map(|(host, name)| Step::Remove { host, name }),
        (place, 1..100).prop_map(|((host, name), pid)| Step::Observe { host, name, pid }),
        (0..HOSTS, prop::bool::ANY).prop_map(|(host, merged)| Step::RemoveHost { host, merged }),
    ];
    prop::collection::vec(step, 0..80)
}

/// A process in the naive implementation.
#[derive(Debug, Clone, PartialEq)]
struct Plain {
    id: u32,
    definition: u32,
    pid: i32,
}

type Model = BTreeMap<(u32, u32), Plain>;

/// The counts of all, and of each namespace, are those of the rows.
fn check_counts(fleet: &Fleet) {
    let namespaces: Vec<Namespace> = fleet.namespaces().map(|(name, _)| name.clone()).collect();
    let chosen = namespaces.iter().map(|one| Some(vec![one.clone()]));
    for chosen in chosen.chain([None, Some(namespaces.clone())]) {
        let counts = fleet.process_counts(chosen.as_deref());
        let rows = fleet.names_in_use().filter_map(|name| fleet.name_id(name));
        let rows = rows.flat_map(|name| fleet.processes_named(name));
        let rows: Vec<_> = rows
            .filter(|row| {
                let chosen = chosen.as_ref();
                chosen.is_none_or(|chosen| chosen.contains(&row.name().namespace))
            })
            .collect();
        assert_eq!(counts.processes, rows.len() as u64);
        for state in model::ProcessState::ALL {
            let meant = rows.iter().filter(|row| row.process_state() == state);
            assert_eq!(counts.in_state(state), meant.count() as u64, "{state:?}");
        }
    }
}

fn check(fleet: &Fleet, model: &Model, ids: &[HostId]) {
    assert_eq!(fleet.n_processes(), model.len());
    assert_eq!(
        fleet.n_running(),
        model.values().filter(|plain| plain.pid > 0).count()
    );
    check_counts(fleet);
    for host in 0..HOSTS {
        let id = ids[host as usize];
        let seen: BTreeSet<u32> = fleet.processes_of(id).map(|row| row.id().0).collect();
        let meant: BTreeSet<u32> = model
            .iter()
            .filter(|((h, _), _)| *h == host)
            .map(|(_, p)| p.id)
            .collect();
        assert_eq!(seen, meant);
        assert_eq!(fleet.host(id).unwrap().n_processes as usize, meant.len());
        for name in 0..NAMES {
            let row = fleet.process(id, NameId(name));
            let seen = row.map(|row| Plain {
                id: row.id().0,
                definition: row.to_change().definition.0,
                pid: row.pid(),
            });
            assert_eq!(seen.as_ref(), model.get(&(host, name)));
        }
    }
    for definition in 0..NAMES * 2 {
        let users = model
            .values()
            .filter(|plain| plain.definition == definition)
            .count();
        assert_eq!(
            fleet.definition_users(DefinitionId(definition)) as usize,
            users
        );
    }
    for namespace in ["even", "odd", "none"] {
        let mut meant: Vec<u32> = model
            .iter()
            .filter(|((_, n), _)| name(*n).namespace.as_str() == namespace)
            .map(|(_, plain)| plain.id)
            .collect();
        meant.sort_unstable();
        let namespace = Namespace::parse(namespace).unwrap();
        for start in 0..=meant.len() + 1 {
            let page = fleet.page_of_namespace(&namespace, start as u64, 3);
            let seen: Vec<u32> = page.rows.iter().map(|row| row.id().0).collect();
            assert_eq!(page.count as usize, meant.len());
            assert_eq!(
                seen,
                meant
                    .iter()
                    .skip(start)
                    .take(3)
                    .copied()
                    .collect::<Vec<_>>()
            );
        }
    }
    let filter = Filter {
        hosts: Some(vec![host(1), host(2)]),
        states: Some(vec![ProcessState::Running]),
        ..Default::default()
    };
    let mut meant: Vec<u32> = model
        .iter()
        .filter(|((h, _), p)| matches!(h, 1 | 2) && p.pid > 0)
        .map(|(_, p)| p.id)
        .collect();
    meant.sort_unstable();
    let seen: Vec<u32> = fleet
        .page(&filter, &[], 0, usize::MAX)
        .rows
        .iter()
        .map(|row| row.id().0)
        .collect();
    assert_eq!(seen, meant);
}

proptest! {
    #[test]
    fn the_columns_agree_with_a_plain_map_through_any_history(steps in steps()) {
        let mut fleet = furnished();
        (0..HOSTS).for_each(|host| fleet.set_link(HostId(host), up()));
        let mut model = Model::new();
        // The present id of each host.
        let mut ids: Vec<HostId> = (0..HOSTS).map(HostId).collect();
        for (index, step) in steps.into_iter().enumerate() {
            let revision = Revision(2 * index as u64 + 2);
            match step {
                Step::Put { host, name, second } => {
                    let before = model.get(&(host, name)).cloned();
                    let definition = name * 2 + u32::from(second);
                    let id = before.as_ref().map_or_else(|| fleet.fresh_ids().process().0, |plain| plain.id);
                    assert!(before.is_some() || model.values().all(|plain| plain.id != id), "a free id");
                    let incarnation = match &before {
                        Some(_) => fleet.row(ProcessId(id)).unwrap().incarnation(),
                        None => revision,
                    };
                    let row = ProcessRow {
                        id: ProcessId(id),
                        host: ids[host as usize],
                        name: NameId(name),
                        definition: DefinitionId(definition),
                        flag: Flag::Running,
                        managed: second,
                        registered_at: UnixMillis::from_secs(7),
                        incarnation,
                        owner: None,
                    };
                    fleet.apply(revision, &Changes { processes: vec![row], ..Default::default() });
                    let pid = before.map_or(-1, |plain| plain.pid);
                    model.insert((host, name), Plain { id, definition, pid });
                    assert_eq!(fleet.row(ProcessId(id)).unwrap().managed(), second);
                }
                Step::Remove { host, name } => {
                    let gone: Vec<ProcessId> = model.remove(&(host, name)).map(|p| ProcessId(p.id)).into_iter().collect();
                    fleet.apply(revision, &Changes { processes_gone: gone, ..Default::default() });
                }
                Step::Observe { host, name: number, pid } => {
                    let status = Status { state: State::Running, pid, reported_at: UnixMillis(1), ..Default::default() };
                    let observed = fleet.observe_named(ids[host as usize], &name(number), status);
                    match model.get_mut(&(host, number)) {
                        Some(plain) => plain.pid = pid,
                        None => assert_eq!(observed, None),
                    }
                }
                Step::RemoveHost { host: number, merged } => {
                    let id = ids[number as usize];
                    let gone = fleet.processes_of(id).map(|row| row.id()).collect();
                    model.retain(|(of, _), _| *of != number);
                    let removed = HostRow { agent_id: None, removed_at: Some(UnixMillis(9)), ..host_row(id, number) };
                    let next = fleet.fresh_ids().host();
                    let mut changes = Changes { hosts: vec![removed], processes_gone: gone, ..Default::default() };
                    let back = host_row(next, number);
                    if merged {
                        changes.hosts.push(back);
                        fleet.apply(revision, &changes);
                    } else {
                        fleet.apply(revision, &changes);
                        assert_eq!(fleet.host_id(&host(number)), None);
                        assert_eq!(fleet.host_of_agent(&agent(number)), None);
                        assert_eq!(fleet.n_hosts(), HOSTS as usize - 1);
                        assert_eq!(fleet.fresh_ids().host(), next, "an id is not used again");
                        fleet.apply(revision.next(), &Changes { hosts: vec![back], ..Default::default() });
                    }
                    assert!(fleet.host(id).is_none());
                    assert_eq!(fleet.address(id), Some(host(number)));
                    assert_eq!(fleet.removed_at(&host(number)), Some(UnixMillis(9)));
                    assert!(fleet.ids_of(&host(number)).starts_with(&[next]));
                    assert!(fleet.ids_of(&host(number)).contains(&id));
                    assert_eq!(fleet.host_of_agent(&agent(number)), Some(next));
                    assert_eq!(fleet.n_hosts(), HOSTS as usize);
                    fleet.set_link(next, up());
                    ids[number as usize] = next;
                }
            }
            check(&fleet, &model, &ids);
        }
    }

    #[test]
    fn any_bytes_as_a_shard_do_no_harm(bytes in prop::collection::vec(0_u8.., 0..300)) {
        let mut fleet = registered();
        fleet.restore_shard(0, &bytes);
        let mut framed = vec![1];
        framed.extend(&bytes);
        fleet.restore_shard(0, &framed);
        fleet.restore_shard(1 << 31, &framed);
        fleet.restore_shard(77, &framed);
    }
}

/// One process, on host 0, under name 0.
fn registered() -> Fleet {
    let mut fleet = furnished();
    fleet.apply(
        Revision(2),
        &Changes {
            processes: vec![row(0, Revision(2))],
            ..Default::default()
        },
    );
    fleet
}

fn row(id: u32, incarnation: Revision) -> ProcessRow {
    ProcessRow {
        id: ProcessId(id),
        host: HostId(0),
        name: NameId(0),
        definition: DefinitionId(0),
        flag: Flag::Stopped,
        managed: false,
        registered_at: UnixMillis::from_secs(7),
        incarnation,
        owner: None,
    }
}

fn status() -> Status {
    Status {
        state: State::Running,
        pid: 4437,
        version: "1.2.19".into(),
        started_at: UnixMillis::from_secs(100),
        reported_at: UnixMillis::from_secs(200),
        cpu: 0.1,
        mem: 0.2,
        fd: 3,
        disk: 4,
        net: 5,
        message: "fine".into(),
        ..Default::default()
    }
}

#[test]
fn statuses_survive_a_restart_through_shards() {
    let mut before = registered();
    assert_eq!(
        before.observe_named(HostId(0), &name(0), status()),
        Some(true)
    );
    before.set_link(
        HostId(0),
        Link::Up {
            since: UnixMillis::from_secs(1),
        },
    );
    before.heard(HostId(0), UnixMillis::from_secs(300));
    let shards = before.take_dirty_shards();
    assert!(before.take_dirty_shards().is_empty());
    let links = before.link_shards();

    let mut after = registered();
    for shard in shards {
        after.restore_shard(shard, &before.encode_shard(shard));
    }
    for (shard, bytes) in &links {
        after.restore_shard(*shard, bytes);
    }
    let row = after.row(ProcessId(0)).unwrap();
    assert_eq!(
        (row.state(), row.pid(), &*row.version()),
        (State::Running, 4437, "1.2.19")
    );
    assert_eq!(
        (row.cpu(), row.mem(), row.fd(), row.disk(), row.net()),
        (0.1, 0.2, 3, 4, 5)
    );
    assert_eq!(
        row.reported_at().secs(),
        300,
        "as true as when the agent was last heard"
    );
    assert_eq!(
        row.message(),
        "agent offline since 1970-01-01T00:05:00Z; before that: fine"
    );
}

#[test]
fn shards_with_changed_figures_are_saved_round_robin() {
    let mut fleet = registered();
    fleet.observe_named(HostId(0), &name(0), status());
    assert_eq!(fleet.take_dirty_shards(), [0]);
    let figures = Status {
        cpu: 77.0,
        ..status()
    };
    fleet.observe_named(HostId(0), &name(0), figures);
    assert!(fleet.take_dirty_shards().is_empty());
    assert_eq!(fleet.take_stale_shards(1), [0]);
    assert!(fleet.take_stale_shards(1).is_empty());

    let mut after = registered();
    after.restore_shard(0, &fleet.encode_shard(0));
    assert_eq!(after.row(ProcessId(0)).unwrap().cpu(), 77.0);
}

#[test]
fn a_process_registered_again_does_not_inherit_a_status() {
    let mut before = registered();
    before.observe_named(HostId(0), &name(0), status());
    let shards = before.take_dirty_shards();
    let mut after = furnished();
    after.apply(
        Revision(9),
        &Changes {
            processes: vec![row(0, Revision(9))],
            ..Default::default()
        },
    );
    for shard in shards {
        after.restore_shard(shard, &before.encode_shard(shard));
    }
    assert_eq!(after.row(ProcessId(0)).unwrap().state(), State::Unknown);
}

#[test]
fn a_figure_alone_is_no_change_but_a_message_is() {
    let mut fleet = registered();
    fleet.observe_named(HostId(0), &name(0), status());
    let warmer = Status {
        cpu: 9.0,
        ..status()
    };
    assert_eq!(
        fleet.observe_named(HostId(0), &name(0), warmer),
        Some(false)
    );
    let explained = Status {
        message: "exited".into(),
        ..status()
    };
    assert_eq!(
        fleet.observe_named(HostId(0), &name(0), explained),
        Some(true)
    );
}

#[test]
fn another_replica_applies_reported_statuses() {
    let mut here = registered();
    here.observe_named(HostId(0), &name(0), status());
    assert!(here.take_moved(9).is_empty(), "nothing follows moves");
    here.follow_moves();
    let said = Status {
        flag: Some(Flag::Running),
        managed: Some(true),
        ..status()
    };
    here.observe_named(HostId(0), &name(0), said.clone());
    assert_eq!(
        here.take_moved(0),
        [(HostId(0), ProcessId(0))],
        "its agent holds other flags"
    );
    assert!(here.take_moved(9).is_empty());
    here.observe_named(HostId(0), &name(0), said.clone());
    assert!(here.take_moved(0).is_empty(), "figures wait");
    assert_eq!(here.take_moved(1), [(HostId(0), ProcessId(0))]);
    here.observe_named(HostId(0), &name(0), said);
    assert_eq!(here.take_moved_of(HostId(0)), [(HostId(0), ProcessId(0))]);
    let mut bytes = WrittenStatuses::default();
    here.write_status(ProcessId(0), &mut bytes);

    let mut there = registered();
    assert_eq!(
        there
            .read_statuses(
                HostId(1),
                &bytes.statuses,
                &bytes.conditions,
                &bytes.memories,
                &bytes.probes,
            )
            .changed,
        [],
        "not its"
    );
    let read = there.read_statuses(
        HostId(0),
        &bytes.statuses,
        &bytes.conditions,
        &bytes.memories,
        &bytes.probes,
    );
    assert_eq!((read.changed, read.n_unknown), (vec![ProcessId(0)], 0));
    let row = there.row(ProcessId(0)).unwrap();
    assert_eq!((row.pid(), row.held()), (4437, Some((Flag::Running, true))));
    assert_eq!(there.take_dirty_shards().len(), 1);
    assert_eq!(
        there
            .read_statuses(
                HostId(0),
                &bytes.statuses,
                &bytes.conditions,
                &bytes.memories,
                &bytes.probes,
            )
            .changed,
        []
    );
    // A process that was registered again, or is not known yet.
    let mut other = furnished();
    assert_eq!(
        other
            .read_statuses(
                HostId(0),
                &bytes.statuses,
                &bytes.conditions,
                &bytes.memories,
                &bytes.probes,
            )
            .n_unknown,
        1
    );
}

/// Everything that a status can say beyond the three states.
fn unhappy() -> Status {
    Status {
        state: State::Stopped,
        process_state: ProcessState::Backoff,
        pid: -1,
        next_at: UnixMillis::from_secs(900),
        restarts: 4,
        last_exit: Some(LastExit {
            oom: true,
            memory: Some(OomMemory {
                used: 104_857_599,
                limit: 104_857_600,
            }),
            ..LastExit::new(Exit::Signal(9), UnixMillis::from_secs(800))
        }),
        health: Some(HealthResult {
            ok: false,
            checked_at: UnixMillis::from_secs(700),
            message: "exited with code 1".into(),
        }),
        probes: ProbeResults {
            ready: Some(HealthResult {
                ok: true,
                checked_at: UnixMillis::from_secs(701),
                message: String::new(),
            }),
            live: Some(HealthResult {
                ok: false,
                checked_at: UnixMillis::from_secs(702),
                message: "connection refused".into(),
            }),
        },
        restart_needed: true,
        ..status()
    }
}

fn check_unhappy(row: &Row<'_>) {
    assert_eq!(row.state(), State::Stopped);
    assert_eq!(row.next_at(), Some(UnixMillis::from_secs(900)));
    assert_eq!((row.restarts(), row.restart_needed()), (4, true));
    assert_eq!(row.last_exit(), unhappy().last_exit);
    assert_eq!(row.health(), unhappy().health);
    assert_eq!(row.probes(), unhappy().probes);
}

fn up() -> Link {
    Link::Up {
        since: UnixMillis::from_secs(1),
    }
}

#[test]
fn a_state_is_unknown_while_its_agent_is_away() {
    let mut fleet = registered();
    fleet.observe_named(HostId(0), &name(0), unhappy());
    let shown = |fleet: &Fleet| {
        let row = fleet.row(ProcessId(0)).unwrap();
        (row.process_state(), row.was())
    };
    let backoff = ProcessState::Backoff;
    assert_eq!(shown(&fleet), (ProcessState::Unknown, Some(backoff)));
    fleet.set_link(HostId(0), up());
    assert_eq!(shown(&fleet), (backoff, None));
    check_unhappy(&fleet.row(ProcessId(0)).unwrap());
    let since = UnixMillis::from_secs(5);
    fleet.set_link(HostId(0), Link::Down { since });
    assert_eq!(shown(&fleet), (ProcessState::Unknown, Some(backoff)));
    let filter = |state| Filter {
        states: Some(vec![state]),
        ..Filter::default()
    };
    assert_eq!(fleet.page(&filter(backoff), &[], 0, 9).count, 0);
    assert_eq!(
        fleet.page(&filter(ProcessState::Unknown), &[], 0, 9).count,
        1
    );
}

#[test]
fn conditions_survive_a_restart_of_the_server_and_reach_other_replicas() {
    let mut here = registered();
    here.observe_named(HostId(0), &name(0), unhappy());
    let mut after = registered();
    after.restore_shard(0, &here.encode_shard(0));
    check_unhappy(&after.row(ProcessId(0)).unwrap());

    let mut written = WrittenStatuses::default();
    here.write_status(ProcessId(0), &mut written);
    let mut there = registered();
    assert_eq!(
        there
            .read_statuses(
                HostId(0),
                &written.statuses,
                &written.conditions,
                &written.memories,
                &written.probes,
            )
            .changed
            .len(),
        1
    );
    check_unhappy(&there.row(ProcessId(0)).unwrap());
    assert!(
        there
            .read_statuses(
                HostId(0),
                &written.statuses,
                &written.conditions,
                &written.memories,
                &written.probes,
            )
            .changed
            .is_empty()
    );

    // A replica of an earlier version sends no conditions.
    written.conditions.clear();
    let mut there = registered();
    there.set_link(HostId(0), up());
    there.read_statuses(
        HostId(0),
        &written.statuses,
        &written.conditions,
        &written.memories,
        &written.probes,
    );
    let row = there.row(ProcessId(0)).unwrap();
    assert_eq!(row.process_state(), ProcessState::Stopped);
    assert_eq!((row.last_exit(), row.health()), (None, None));
}

#[test]
fn a_shard_without_the_memory_of_killed_runs_is_restored() {
    let mut before = registered();
    before.observe_named(HostId(0), &name(0), unhappy());
    let mut written = WrittenStatuses::default();
    before.write_status(ProcessId(0), &mut written);
    // Format 2: place in the block, the entry, then its condition.
    let mut bytes = vec![2, 0, 0];
    bytes.extend(&written.statuses[5..]);
    bytes.extend(&written.conditions[4..]);
    let mut after = registered();
    after.restore_shard(0, &bytes);
    let last = after.row(ProcessId(0)).unwrap().last_exit().unwrap();
    assert_eq!(
        (last.exit, last.oom, last.memory),
        (Exit::Signal(9), true, None)
    );
}

#[test]
fn a_shard_without_conditions_is_restored() {
    let mut before = registered();
    before.observe_named(HostId(0), &name(0), status());
    let mut written = WrittenStatuses::default();
    before.write_status(ProcessId(0), &mut written);
    // Format 1: place in the block, then the entry.
    let mut bytes = vec![1, 0, 0];
    bytes.extend(&written.statuses[5..]);
    let mut after = registered();
    after.set_link(HostId(0), up());
    after.restore_shard(0, &bytes);
    let row = after.row(ProcessId(0)).unwrap();
    assert_eq!((row.pid(), &*row.version()), (4437, "1.2.19"));
    assert_eq!(row.process_state(), ProcessState::Running);
}

#[test]
fn a_shard_without_probes_is_restored() {
    let mut before = registered();
    before.observe_named(HostId(0), &name(0), unhappy());
    let mut bytes = before.encode_shard(0);
    // Format 3: without the results of probes, which come last.
    let n_probes = 2 * (1 + 4 + 2) + "connection refused".len() + 1;
    bytes.truncate(bytes.len() - n_probes);
    bytes[0] = 3;
    let mut after = registered();
    after.restore_shard(0, &bytes);
    let row = after.row(ProcessId(0)).unwrap();
    assert_eq!(row.last_exit(), unhappy().last_exit);
    assert!(row.probes().is_empty());
}

#[test]
fn a_ready_process_is_running_for_replicas_of_earlier_versions() {
    let ready = Status {
        process_state: ProcessState::Ready,
        ..status()
    };
    let mut here = registered();
    here.observe_named(HostId(0), &name(0), ready);
    let mut written = WrittenStatuses::default();
    here.write_status(ProcessId(0), &mut written);
    let marks = written.conditions[4];
    assert_eq!(marks & 0x0F, ProcessState::Running.number());
}

#[test]
fn the_time_of_a_health_check_is_a_figure_but_its_result_is_not() {
    let mut fleet = registered();
    fleet.observe_named(HostId(0), &name(0), unhappy());
    let mut checked = unhappy();
    let health = checked.health.as_mut().unwrap();
    health.checked_at = UnixMillis::from_secs(750);
    let observed = fleet.observe_named(HostId(0), &name(0), checked.clone());
    assert_eq!(observed, Some(false));
    checked.health.as_mut().unwrap().ok = true;
    let observed = fleet.observe_named(HostId(0), &name(0), checked);
    assert_eq!(observed, Some(true));
}

#[test]
fn a_page_is_sorted_as_asked() {
    let mut fleet = furnished();
    fleet.set_link(HostId(0), up());
    let rows = (0..NAMES).map(|n| ProcessRow {
        id: ProcessId(n),
        name: NameId(n),
        definition: DefinitionId(n * 2),
        ..row(0, Revision(2))
    });
    let changes = Changes {
        processes: rows.collect(),
        ..Changes::default()
    };
    fleet.apply(Revision(2), &changes);
    for (n, state, restarts) in [
        (0, ProcessState::Running, 1),
        (1, ProcessState::Failed, 0),
        (2, ProcessState::Running, 7),
        (3, ProcessState::Stopped, 0),
    ] {
        let status = Status {
            process_state: state,
            restarts,
            ..status()
        };
        fleet.observe_named(HostId(0), &name(n), status);
    }
    let by = |key, descending| RowOrder { key, descending };
    let ids = |order: &[RowOrder], start| -> Vec<u32> {
        let page = fleet.page(&Filter::default(), order, start, 3);
        assert_eq!(page.count, 4);
        page.rows.iter().map(|row| row.id().0).collect()
    };
    assert_eq!(ids(&[], 0), [0, 1, 2]);
    assert_eq!(ids(&[by(OrderKey::State, false)], 0), [1, 0, 2]);
    assert_eq!(ids(&[by(OrderKey::State, false)], 3), [3]);
    let both = [by(OrderKey::State, true), by(OrderKey::Restarts, true)];
    assert_eq!(ids(&both, 0), [3, 2, 0]);
}

#[test]
fn a_status_packed_before_its_process_was_registered_again_is_of_the_new_one() {
    let mut fleet = registered();
    let packed = |fleet: &Fleet| {
        let mut here = fleet.host_processes(HostId(0));
        let process = here.find(name(0).namespace.as_str(), name(0).name.as_str());
        assert_eq!(process, Some((NameId(0), ProcessId(0))));
        here.pack(process, status())
    };
    let (first, second, third) = (packed(&fleet), packed(&fleet), packed(&fleet));
    assert_eq!(
        fleet.observe(first).map(|observed| observed.id),
        Some(ProcessId(0))
    );
    // The id goes to a process of another host, the name gets another id.
    let moved = |id: u32, host: u32| ProcessRow {
        id: ProcessId(id),
        host: HostId(host),
        ..row(0, Revision(9))
    };
    let changes = Changes {
        processes_gone: vec![ProcessId(0)],
        processes: vec![moved(0, 1), moved(7, 0)],
        ..Default::default()
    };
    fleet.apply(Revision(9), &changes);
    assert_eq!(
        fleet.observe(second).map(|observed| observed.id),
        Some(ProcessId(7))
    );
    assert_eq!(fleet.row(ProcessId(0)).unwrap().state(), State::Unknown);
    let gone = Changes {
        processes_gone: vec![ProcessId(7)],
        ..Default::default()
    };
    fleet.apply(Revision(10), &gone);
    assert_eq!(fleet.observe(third), None);
}

#[test]
fn processes_of_a_host_are_found_in_any_order() {
    let mut fleet = furnished();
    let row = |id: u32, host: u32, of: u32| ProcessRow {
        id: ProcessId(id),
        host: HostId(host),
        name: NameId(of),
        definition: DefinitionId(of * 2),
        ..row(0, Revision(2))
    };
    let changes = Changes {
        processes: vec![row(0, 0, 3), row(1, 0, 0), row(2, 0, 2), row(3, 1, 1)],
        ..Default::default()
    };
    fleet.apply(Revision(2), &changes);
    let mut here = fleet.host_processes(HostId(0));
    for (of, id) in [
        (0, Some(1)),
        (2, Some(2)),
        (3, Some(0)),
        (1, None),
        (0, Some(1)),
        (0, Some(1)),
        (9, None),
    ] {
        let name = name(of);
        let found = here.find(name.namespace.as_str(), name.name.as_str());
        assert_eq!(found, id.map(|id| (NameId(of), ProcessId(id))));
    }
}
