//! Random histories of two businesses that share hosts: the view stays consistent.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use control::{Apply, Difference};
use fleet::Fleet;
use fleet::view::{Instance, ViewRow};
use model::topology::{
    BkProcessId, BusinessFacts, BusinessId, HostFacts, MachineRow, ModuleFacts, Origin,
    ProcessFacts, ProcessSource, Program, ServiceFacts, SetEnv, SetFacts, business_of,
    escape_alias, split_instance_name,
};
use model::{AgentId, State, Status};
use testing::Random;
use testing::wait::until_async as until;
use testkit::FakeAgent;
use wire::{ProcessStatus, Report};

use crate::rig::Rig;

/// A source with ids, like a CMDB.
const NUMBERED: BusinessId = BusinessId(2);
/// A source without ids, like a file.
const NAMED: BusinessId = BusinessId(3);
const ALIASES: [&str; 3] = ["login", "zone", "chat"];
const N_HOSTS: u32 = 4;

/// The address of each host, and whether its agent id is known.
type Hosts = BTreeMap<u32, (u32, bool)>;

/// Two hosts may come to have one address.
fn change_hosts(hosts: &mut Hosts, random: &mut Random) {
    let host = random.below(N_HOSTS);
    let address = match random.one_in(3) {
        true => random.below(N_HOSTS),
        false => host,
    };
    hosts.insert(host, (address, random.one_in(2)));
}

/// A random business.
#[derive(Debug, Clone, Default)]
struct Source {
    /// The set of each module.
    modules: BTreeMap<u32, u32>,
    /// The module and host of each service.
    services: BTreeMap<u32, (u32, u32)>,
    /// Service, alias, `proc_num`, and whether its row is invalid.
    processes: BTreeMap<u32, (u32, u32, u32, bool)>,
}

impl Source {
    /// Everything, so that all ids are in use.
    fn full() -> Self {
        Self {
            modules: (0..3).map(|module| (module, module % 2)).collect(),
            services: (0..4)
                .map(|service| (service, (service % 3, service)))
                .collect(),
            processes: (0..6)
                .map(|process| (process, (process % 4, process % 3, 2, false)))
                .collect(),
        }
    }

    fn change(&mut self, random: &mut Random) {
        self.modules.insert(random.below(3), random.below(2));
        let place = (random.below(3), random.below(N_HOSTS));
        self.services.insert(random.below(4), place);
        for _ in 0..random.below(4) {
            let process = (
                random.below(4),
                random.below(ALIASES.len() as u32),
                random.below(3) + 1,
                random.one_in(8),
            );
            self.processes.insert(random.below(6), process);
        }
        if random.one_in(2) {
            self.processes.remove(&random.below(6));
        }
    }

    fn facts(&self, business: BusinessId, all_hosts: &Hosts) -> BusinessFacts {
        let number = |n: u32| (business == NUMBERED).then_some(n + 1);
        let mut facts = BusinessFacts {
            business: Some(business),
            name: format!("business {business}"),
            clouds: vec![(0, "default area".into())],
            ..BusinessFacts::default()
        };
        for set in 0..2 {
            facts.sets.push(SetFacts {
                id: number(set),
                name: format!("set{set}"),
                env: SetEnv::Formal,
                attributes: Default::default(),
            });
        }
        let mut modules = HashMap::new();
        for (module, set) in &self.modules {
            modules.insert(*module, facts.modules.len());
            facts.modules.push(ModuleFacts {
                id: number(*module),
                set: *set as usize,
                name: format!("module{module}"),
                service_template: 0,
                attributes: Default::default(),
            });
        }
        let mut hosts = HashMap::new();
        for (host, (address, has_agent)) in all_hosts {
            hosts.insert(*host, facts.hosts.len());
            facts.hosts.push(HostFacts {
                id: number(*host),
                cloud: 0,
                ip: ip(*address).parse().unwrap(),
                ip_v6: None,
                other_innerips: Vec::new(),
                // A file need not name agents.
                agent_id: (business == NUMBERED && *has_agent).then(|| agent_id(*host)),
                attributes: Default::default(),
            });
        }
        let mut services = HashMap::new();
        for (service, (module, host)) in &self.services {
            let place = modules.get(module).zip(hosts.get(host));
            if let Some((module, host)) = place {
                services.insert(*service, facts.services.len());
                facts.services.push(ServiceFacts {
                    id: number(*service),
                    module: *module,
                    host: *host,
                    name: format!("service{service}"),
                });
            }
        }
        for (process, (service, alias, proc_num, is_wrong)) in &self.processes {
            let Some(place) = services.get(service) else {
                continue;
            };
            // Some rows cannot be read.
            if business == NUMBERED && *is_wrong && *proc_num == 1 {
                facts.unread.push(process + 1);
                continue;
            }
            let alias = ALIASES[*alias as usize];
            facts.processes.push(ProcessFacts {
                id: number(*process),
                service: *place,
                process_template: 0,
                program: Arc::new(program(alias, *proc_num, *is_wrong)),
                row: ProcessSource::new(match business {
                    NUMBERED => format!("process {}", process + 1),
                    _ => format!("service{service} {alias}"),
                }),
            });
        }
        facts
    }
}

fn ip(address: u32) -> String {
    format!("10.0.0.{}", address + 1)
}

fn agent_id(host: u32) -> AgentId {
    AgentId::parse(&format!("agent-{host}")).unwrap()
}

fn program(alias: &str, proc_num: u32, is_wrong: bool) -> Program {
    let work_path = match is_wrong {
        true => "relative",
        false => "/opt",
    };
    Program {
        bk_process_name: alias.into(),
        proc_num,
        work_path: work_path.into(),
        pid_file: "p.pid".into(),
        start_cmd: "./start ${inst_id}".into(),
        ..Program::default()
    }
}

async fn import(rig: &Rig, facts: &BusinessFacts) -> Difference {
    let origin = Origin::Imported;
    let import = rig
        .control
        .topology()
        .import(&rig.caller, facts.clone(), origin, Apply::Really);
    import.await.unwrap()
}

/// The name of a process in messages.
fn row_name(row: &ViewRow<'_>) -> String {
    match row.business.id {
        NUMBERED => format!("process {}", row.id()),
        _ => format!("{} {}", row.service_name, row.program.bk_process_name),
    }
}

fn is_on(fleet: &Fleet, machine: &MachineRow, host: model::change::HostId) -> bool {
    let agent = machine.agent_id.as_ref();
    let known = agent.and_then(|agent| fleet.host_of_agent(agent));
    known.or_else(|| fleet.host_id(&machine.host)) == Some(host)
}

/// Whether an instance has the expected host and name.
fn is_right(fleet: &Fleet, row: &ViewRow<'_>, instance: &Instance<'_>) -> bool {
    let parts = split_instance_name(&instance.row.name().name);
    parts.is_some_and(|(alias, local)| {
        alias == escape_alias(&row.program.bk_process_name)
            && local <= row.program.proc_num
            && is_on(fleet, row.machine, instance.row.host().id)
    })
}

fn every_row(fleet: &Fleet) -> Vec<ViewRow<'_>> {
    let ids = fleet.view().businesses();
    let ids = ids.filter_map(|row| fleet.view().processes_of(row.id));
    let ids = ids.flatten().map(BkProcessId);
    ids.map(|id| {
        fleet
            .view_row(id)
            .expect("all that a process is in is there")
    })
    .collect()
}

/// The invariants.
fn check(fleet: &Fleet, seed: u64, step: u32) {
    let at = format!("seed {seed} step {step}");
    let view = fleet.view();
    let rows = every_row(fleet);
    assert_eq!(rows.len(), view.n_processes(), "{at}: one is nowhere");
    let mut ordinals: BTreeMap<(u32, &str), BTreeMap<u32, BTreeSet<u32>>> = BTreeMap::new();
    for row in &rows {
        if row.process.vanished {
            continue;
        }
        let mut right = row.instances();
        right.retain(|instance| is_right(fleet, row, instance));
        let locals: Vec<u32> = right.iter().map(|one| one.local_inst_id).collect();
        let all: Vec<u32> = (1..=row.program.proc_num).collect();
        let name = row_name(row);
        let mut troubles = row.business.troubles.iter();
        let left_alone = format!("bk_process_id {}", row.id());
        if !troubles.any(|trouble| [&name, &left_alone].contains(&&trouble.row.0)) {
            assert_eq!(locals, all, "{at}: {name}");
            for instance in right {
                let command = &instance.row.definition().spec.control.start_cmd;
                let wanted = format!("./start {}", instance.inst_id);
                assert_eq!(*command, wanted, "{at}: {name}");
            }
        }
        let key = (row.module.id.0, row.program.bk_process_name.as_str());
        let hosts = ordinals.entry(key).or_default();
        let host = hosts.entry(row.machine.id.0).or_default();
        host.insert(row.process.ordinal);
    }
    for (key, hosts) in ordinals {
        let taken: BTreeSet<&u32> = hosts.values().flatten().collect();
        assert_eq!(taken.len(), hosts.len(), "{at}: {key:?} {hosts:?}");
    }
    for (id, _) in view.programs() {
        assert!(
            view.program_users(id) > 0,
            "{at}: no process has program {id}"
        );
    }
    for machine in view.machines() {
        let there = view.processes_on(machine.id);
        assert!(
            there.is_some_and(|there| !there.is_empty()),
            "{at}: {machine:?}"
        );
    }
    for host in fleet.hosts() {
        for row in fleet.processes_of(host.id) {
            let owner = row.owner().expect("only the topology registers processes");
            let owner = fleet.view_row(owner).expect("its owner is there");
            assert_eq!(
                business_of(&row.name().namespace),
                Some(owner.business.id),
                "{at}"
            );
        }
    }
}

/// Everything but observed state.
fn shown(fleet: &Fleet) -> Vec<String> {
    let mut shown = Vec::new();
    for row in every_row(fleet) {
        let (process, host) = (row.process, row.machine.host);
        shown.push(format!("{} {process:?} {host}", row.expression()));
        for instance in row.instances() {
            let (at, name) = (instance.row.host().host, instance.row.name());
            let spec = instance.row.definition().spec.to_json();
            shown.push(format!("  {} {at} {name} {spec}", instance.inst_id));
        }
    }
    shown
}

/// An agent reports one of its processes as running or stopped.
async fn something_happens(rig: &Rig, agents: &HashMap<u32, FakeAgent>, random: &mut Random) {
    let host = random.below(N_HOSTS);
    let name = {
        let fleet = rig.control.inspect_fleet();
        let id = fleet.host_id(&ip(host).parse().unwrap()).unwrap();
        let names: Vec<_> = fleet
            .processes_of(id)
            .map(|row| row.name().clone())
            .collect();
        match names.is_empty() {
            true => return,
            false => names[random.below(names.len())].clone(),
        }
    };
    let status = Status {
        state: match random.one_in(3) {
            true => State::Stopped,
            false => State::Running,
        },
        ..Status::default()
    };
    let report = Report {
        statuses: vec![ProcessStatus::new(&name, &status)],
    };
    agents[&host].session.take(report.into()).await.unwrap();
}

/// No stopped process is left that vanished or is surplus.
async fn tidied(rig: &Rig, at: &str) {
    let is_tidy = || {
        let fleet = rig.control.inspect_fleet();
        let is_left = |row: &ViewRow<'_>| {
            // Registrations of an invalid row may stay.
            let may_stay = !row.process.vanished && !row.business.troubles.is_empty();
            let instances = row.instances();
            let mut stopped = instances
                .iter()
                .filter(|one| one.row.state() != State::Running);
            !may_stay && stopped.any(|one| row.process.vanished || !is_right(&fleet, row, one))
        };
        !every_row(&fleet).iter().any(is_left)
    };
    until(&format!("{at}: what has stopped is forgotten"), is_tidy).await;
}

async fn agents_of(rig: &Rig) -> HashMap<u32, FakeAgent> {
    let mut agents = HashMap::new();
    for host in 0..N_HOSTS {
        agents.insert(host, rig.agent_with_id(&ip(host), agent_id(host)).await);
    }
    agents
}

async fn history(seed: u64, n_steps: u32) {
    let mut random = Random::new(seed);
    let mut rig = Rig::new().await;
    let mut agents = agents_of(&rig).await;
    let mut hosts: Hosts = (0..N_HOSTS).map(|host| (host, (host, false))).collect();
    let mut sources = [(NUMBERED, Source::full()), (NAMED, Source::full())];
    for step in 0..n_steps {
        let at = format!("seed {seed} step {step}");
        for _ in 0..random.below(8) {
            something_happens(&rig, &agents, &mut random).await;
        }
        tidied(&rig, &at).await;
        if random.one_in(2) {
            change_hosts(&mut hosts, &mut random);
        }
        if step > 0 {
            sources[random.below(2)].1.change(&mut random);
        }
        for (business, source) in &sources {
            let facts = source.facts(*business, &hosts);
            import(&rig, &facts).await;
            let before = rig.control.topology().businesses(&rig.caller);
            rig.advance(std::time::Duration::from_secs(1));
            let again = import(&rig, &facts).await;
            assert!(again.is_empty(), "{at}: {:#?}", again.lines);
            let after = rig.control.topology().businesses(&rig.caller);
            assert_eq!(after, before, "{at}: something was written");
        }
        check(&rig.control.inspect_fleet(), seed, step);
        if random.one_in(10) {
            let before = shown(&rig.control.inspect_fleet());
            drop(agents);
            rig = rig.restarted().await;
            assert_eq!(
                shown(&rig.control.inspect_fleet()),
                before,
                "{at}: after a restart"
            );
            agents = agents_of(&rig).await;
        }
    }
}

#[tokio::test]
async fn the_view_stays_consistent() {
    for seed in 1..=6 {
        history(seed, 40).await;
    }
}
