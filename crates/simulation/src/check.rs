//! The invariants: some hold at every moment, the others once the system has healed.

use std::collections::{BTreeMap, BTreeSet};

use control::Control;
use fleet::{Fleet, Row};
use model::access::Caller;
use model::change::HostId;
use model::event::Event;
use model::spec::Dependency;
use model::spec::after::{self, Place};
use model::{Code, Flag, FullName, OpId, State};
use store::EventPage;

use crate::agent_side::AgentSide;
use crate::program;
use crate::world::{Expected, N_PROCESSES, World};

/// More events than any history has.
const EVENTS: u32 = 100_000;

impl World {
    /// Checks what must hold at every moment.
    pub(crate) async fn check_always(&mut self) -> Result<(), String> {
        for agent in &self.agents {
            if let Some(wrong) = agent.host.violations().first() {
                return Err(format!("{}: {wrong}", agent.address));
            }
        }
        self.rolls_keep_their_batch().await?;
        self.every_target_ends_once().await
    }

    /// Checks what must hold after healing.
    pub(crate) async fn check_quiet(&mut self) -> Result<(), String> {
        self.check_always().await?;
        self.every_target_has_ended()?;
        let controls = self.servers.controls();
        if controls.is_empty() {
            return Err("there is no server".to_owned());
        }
        for control in &controls {
            self.check_at(control).await?;
        }
        Ok(())
    }

    /// Checks everything as one server shows it.
    async fn check_at(&mut self, control: &Control) -> Result<(), String> {
        control.replicas().catch_up().await;
        self.registrations_are_as_answered(control)?;
        no_cycle_is_registered(&control.inspect_fleet())?;
        self.no_roll_is_half_done(control).await?;
        for at in 0..self.agents.len() {
            let host = control.inspect_fleet().host_id(&self.agents[at].address);
            let host = host.ok_or("the host is not known")?;
            observed_matches_host(&self.agents[at], control, host)?;
            self.agents[at].read_trace();
            let agent = &self.agents[at];
            held_matches_registered(agent, control, host)?;
            self.no_result_is_lost(agent)?;
            operations_were_executed_at_most_once(agent)?;
            self.no_event_is_lost(agent, host).await?;
        }
        Ok(())
    }

    /// An outcome is final; only a time-out may be replaced, by the agent's own result.
    async fn every_target_ends_once(&mut self) -> Result<(), String> {
        for control in self.servers.controls() {
            self.targets_end_once_at(&control).await?;
        }
        Ok(())
    }

    /// Every server shows what another has shown.
    async fn targets_end_once_at(&mut self, control: &Control) -> Result<(), String> {
        control.replicas().catch_up().await;
        for (task, n_targets) in &self.tasks {
            let view = control
                .operations()
                .task(&Caller::system(), *task)
                .await
                .map_err(|error| format!("{task} was answered for, and now: {error}"))?;
            if view.targets.len() != *n_targets {
                return Err(format!("{task} has {} targets", view.targets.len()));
            }
            for (ordinal, target) in view.targets.iter().enumerate() {
                let op = OpId {
                    task: *task,
                    ordinal: ordinal as u32,
                };
                let code = target.outcome.as_ref().map(|outcome| outcome.code);
                match (self.ends.get(&op), code) {
                    (None, None) => {}
                    (Some(before), Some(now)) if *before == now => {}
                    (None | Some(&Code::TERMINATED), Some(now)) => {
                        let message = target.outcome.as_ref().map(|outcome| &outcome.message);
                        let message = message.map_or("", String::as_str);
                        self.log.note(format!("{op} has ended: {now} {message}"));
                        self.ends.insert(op, now);
                    }
                    (Some(before), now) => {
                        return Err(format!("{op} had ended with {before}, and now: {now:?}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// An operation that was requested while all agents were reachable is sent again on the next connection.
    pub(crate) async fn no_task_after_healing_was_terminated(&self) -> Result<(), String> {
        let controls = self.servers.controls();
        let control = controls.first().ok_or("there is no server")?;
        control.replicas().catch_up().await;
        for task in &self.tasks_after_healing {
            let view = control.operations().task(&Caller::system(), *task).await;
            let view = view.map_err(|error| error.to_string())?;
            for outcome in view
                .targets
                .iter()
                .filter_map(|target| target.outcome.as_ref())
            {
                if outcome.code == Code::TERMINATED {
                    return Err(format!("{task} was given up: {}", outcome.message));
                }
            }
        }
        Ok(())
    }

    fn every_target_has_ended(&self) -> Result<(), String> {
        match self.is_idle() {
            true => Ok(()),
            false => Err(format!("not every target of {:?} has ended", self.tasks)),
        }
    }

    fn registrations_are_as_answered(&self, control: &Control) -> Result<(), String> {
        let fleet = control.inspect_fleet();
        for ((at, number), expected) in &self.expected {
            let name = program::name(*number);
            let address = self.agents[*at].address;
            let row = fleet.host_id(&address).zip(fleet.name_id(&name));
            let is_there = row.is_some_and(|(host, name)| fleet.process(host, name).is_some());
            match (expected, is_there) {
                (Expected::There, false) => {
                    return Err(format!("{name} was registered on {address} and is not"));
                }
                (Expected::Gone, true) => {
                    return Err(format!("{name} was unregistered on {address} and is there"));
                }
                (Expected::There, true) | (Expected::Gone, false) | (Expected::Unsure, _) => {}
            }
        }
        Ok(())
    }

    /// The server shows the result that the agent has journalled.
    fn no_result_is_lost(&self, agent: &AgentSide) -> Result<(), String> {
        for (op, ends) in &agent.trace.ends {
            let codes: Vec<Code> = ends.iter().map(|outcome| outcome.code).collect();
            let [code] = codes[..] else {
                return Err(format!(
                    "{op} ended {} times on its host: {codes:?}",
                    codes.len()
                ));
            };
            // A task without a reply is not tracked.
            if self.tasks.contains_key(&op.task) && self.ends.get(op) != Some(&code) {
                let told = self.ends.get(op);
                return Err(format!(
                    "{op} ended with {code}, and the server says {told:?}"
                ));
            }
        }
        Ok(())
    }

    async fn no_event_is_lost(&self, agent: &AgentSide, host: HostId) -> Result<(), String> {
        let store = self.servers.store().ok_or("there is no server")?;
        let page = EventPage {
            limit: EVENTS,
            hosts: Some(vec![host]),
            ..EventPage::default()
        };
        let stored = store
            .events(&page)
            .await
            .map_err(|error| error.to_string())?;
        let count = |events: Vec<String>| {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for event in events {
                *counts.entry(event).or_default() += 1;
            }
            counts
        };
        let told = count(stored.iter().map(|row| line(&row.event)).collect());
        let happened = count(agent.trace.events.values().map(line).collect());
        for (event, times) in &happened {
            let n_told = told.get(event).copied().unwrap_or(0);
            if n_told != *times {
                return Err(format!("told {n_told} times instead of {times}: {event}"));
            }
        }
        match told.keys().find(|event| !happened.contains_key(*event)) {
            Some(event) => Err(format!("told, and never happened: {event}")),
            None => Ok(()),
        }
    }
}

/// An event without its exit: an unseen exit is stored like none.
fn line(event: &Event) -> String {
    let Event {
        at,
        process,
        kind,
        reason,
        ..
    } = event;
    format!("{} {process} {kind:?}: {reason}", at.0)
}

fn held_matches_registered(
    agent: &AgentSide,
    control: &Control,
    host: HostId,
) -> Result<(), String> {
    let fleet = control.inspect_fleet();
    let mut wanted: Vec<String> = fleet
        .processes_of(host)
        .map(|row| {
            let hash = row.definition().hash;
            let (flag, managed) = (row.flag(), row.managed());
            let incarnation = row.incarnation().0;
            format!(
                "{} {incarnation} {hash:x} {flag:?} managed={managed}",
                row.name()
            )
        })
        .collect();
    wanted.sort();
    let mut held: Vec<String> = agent
        .trace
        .held
        .iter()
        .map(|hold| {
            format!(
                "{} {} {:x} {:?} managed={}",
                hold.name, hold.incarnation, hold.definition_hash, hold.flag, hold.managed
            )
        })
        .collect();
    held.sort();
    match wanted == held {
        true => Ok(()),
        false => Err(format!(
            "{}: wanted {wanted:?}, held {held:?}",
            agent.address
        )),
    }
}

/// The server shows what runs, and managed processes run.
fn observed_matches_host(agent: &AgentSide, control: &Control, host: HostId) -> Result<(), String> {
    let fleet = control.inspect_fleet();
    let view = fleet.host(host).ok_or("the host is not known")?;
    if !view.link.is_up() {
        return Err(format!("{} is not connected", agent.address));
    }
    for row in fleet.processes_of(host) {
        let (name, programs) = (row.name(), agent.host.programs(row.name()));
        let shown: Vec<i32> = (row.state() == State::Running)
            .then(|| row.pid())
            .into_iter()
            .collect();
        if shown != programs {
            return Err(format!(
                "{name} on {}: shown {shown:?} ({}), there are {programs:?}",
                agent.address,
                row.message()
            ));
        }
        // A process that was given up needs an operation, even if its spec was fixed.
        let was_given_up = row.message().starts_with("gave up");
        let is_kept = row.managed() && row.flag() == Flag::Running && !was_given_up;
        let should_run = is_kept && program::is_good(&row.definition().spec);
        if should_run && programs.is_empty() && !waits_rightly(&fleet, &row)? {
            return Err(format!(
                "{name} on {} is managed and does not run: {}",
                agent.address,
                row.message()
            ));
        }
    }
    Ok(())
}

/// Whether it waits for other processes; an error if one of them is there.
fn waits_rightly(fleet: &Fleet, row: &Row<'_>) -> Result<bool, String> {
    let message = row.message();
    let Some(waiting) = after::waiting(&message, &row.definition().spec.after) else {
        return Ok(false);
    };
    let is_met = |dependency: &Dependency| {
        let rows = fleet.name_id(&dependency.process).into_iter();
        let rows = rows.flat_map(|name| fleet.processes_named(name));
        let here = row.host().id;
        let on_hosts = rows.filter(|other| match dependency.place {
            Place::SameHost => other.host().id == here,
            Place::Any | Place::All => true,
        });
        let met: Vec<bool> = on_hosts
            .map(|other| {
                let (state, last_exit) = (other.process_state(), other.last_exit());
                (dependency.when).is_met_by(&other.definition().spec, state, last_exit)
            })
            .collect();
        match dependency.place {
            Place::SameHost | Place::Any => met.contains(&true),
            Place::All => !met.is_empty() && !met.contains(&false),
        }
    };
    match waiting.dependencies.iter().all(|one| is_met(one)) {
        true => Err(format!("{}: {message}, which is there", row.name())),
        false => Ok(true),
    }
}

fn dependencies_of<'a>(fleet: &'a Fleet, name: &FullName) -> Vec<&'a Dependency> {
    let id = fleet.name_id(name).into_iter();
    let definitions = id.flat_map(|id| fleet.definitions_of(id));
    definitions
        .flat_map(|(_, definition)| &definition.spec.after)
        .collect()
}

fn no_cycle_is_registered(fleet: &Fleet) -> Result<(), String> {
    for number in 0..N_PROCESSES {
        let name = program::name(number);
        let after: Vec<Dependency> = dependencies_of(fleet, &name).into_iter().cloned().collect();
        let further = |name: &FullName| {
            let names = dependencies_of(fleet, name).into_iter();
            names.map(|dependency| &dependency.process).collect()
        };
        if let Some(cycle) = after::cycle_through(&name, &after, further) {
            return Err(format!("a cycle is registered: {cycle:?}"));
        }
    }
    Ok(())
}

fn operations_were_executed_at_most_once(agent: &AgentSide) -> Result<(), String> {
    let mut commands: BTreeMap<(OpId, &str), BTreeSet<(i32, u64)>> = BTreeMap::new();
    for (op, role, pid, start) in &agent.trace.executions {
        commands
            .entry((*op, role))
            .or_default()
            .insert((*pid, *start));
    }
    match commands.iter().find(|(_, runs)| runs.len() > 1) {
        Some(((op, role), runs)) => Err(format!("{op}: {role} was executed as {runs:?}")),
        None => Ok(()),
    }
}
