//! Matches the hosts of the facts with machines of the view. Businesses may share machines.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use model::Host;
use model::topology::{BkHostId, BusinessFacts, HostFacts, MachineRow, ServiceRow};

use super::difference::ChangeOf;
use super::fault::Fault;
use super::places::Places;
use super::plan::Planner;

impl Planner<'_> {
    pub(super) fn machines(&mut self, facts: &BusinessFacts, places: &mut Places) {
        let mut drafted: HashMap<Host, BkHostId> = HashMap::new();
        let numbered = facts.hosts.iter().rev();
        drafted.extend(numbered.filter_map(|facts| {
            let host = Host::new(facts.cloud, facts.ip);
            Some((host, BkHostId(facts.id?)))
        }));
        let used = self.used_hosts(facts);
        for (index, facts) in facts.hosts.iter().enumerate() {
            let host = Host::new(facts.cloud, facts.ip);
            let known = || {
                let there = self.view.machines_at(facts.ip);
                let there = there.filter(|row| row.host == host);
                there.map(|row| row.id).min()
            };
            let id = facts
                .id
                .map(BkHostId)
                .or_else(|| drafted.get(&host).copied())
                .or_else(known)
                .unwrap_or_else(|| self.ids.machine());
            // Faults of hosts without processes are not reported.
            let refusal = used[index].then(|| self.refused_machine(id, host));
            if let Some(fault) = refusal.flatten() {
                self.add_fault(format!("host {host}"), fault);
                places.machines.push(None);
                continue;
            }
            drafted.entry(host).or_insert(id);
            let row = self.machine_row(id, facts);
            self.planned_machines.entry(id).or_insert(row);
            places.machines.push(Some(id));
        }
    }

    /// Why a host cannot have this id.
    fn refused_machine(&self, id: BkHostId, host: Host) -> Option<Fault> {
        let twice = self.planned_machines.get(&id);
        if let Some(other) = twice.filter(|other| other.host != host) {
            return Some(Fault::HostTwice {
                id,
                other: other.host,
            });
        }
        // A machine of this business may change its address. One that only other businesses use is a different machine.
        let before = self.view.machine(id).filter(|row| row.host != host)?;
        let there = self.view.processes_on(id)?;
        let ours = self.view.processes_of(self.business);
        let is_ours = ours.is_some_and(|ours| !there.is_disjoint(ours));
        (!there.is_empty() && !is_ours).then_some(Fault::HostElsewhere {
            id,
            known: before.host,
        })
    }

    /// The row of a host. Facts that only have its address do not overwrite what another business knows.
    fn machine_row(&self, id: BkHostId, facts: &HostFacts) -> MachineRow {
        let mut row = MachineRow {
            id,
            host: Host::new(facts.cloud, facts.ip),
            ip_v6: facts.ip_v6,
            other_innerips: facts.other_innerips.clone(),
            agent_id: facts.agent_id.clone(),
            attributes: facts.attributes.clone(),
        };
        if let Some(before) = self.view.machine(id)
            && facts.id.is_none()
            && self.has_others(id)
        {
            row.ip_v6 = row.ip_v6.or(before.ip_v6);
            if row.other_innerips.is_empty() {
                row.other_innerips = before.other_innerips.clone();
            }
            row.agent_id = row.agent_id.or_else(|| before.agent_id.clone());
            if row.attributes.is_empty() {
                row.attributes = before.attributes.clone();
            }
        }
        row
    }

    /// Whether another business has processes on a machine.
    fn has_others(&self, id: BkHostId) -> bool {
        let ours = self.view.processes_of(self.business);
        self.view.processes_on(id).is_some_and(|there| {
            let is_subset = ours.is_some_and(|ours| there.is_subset(ours));
            !there.is_empty() && !is_subset
        })
    }

    /// Drafts the machines of these services.
    pub(super) fn used_machines(&mut self, services: &[ServiceRow]) {
        let used: BTreeSet<BkHostId> = services.iter().map(|row| row.machine).collect();
        for id in used {
            let Some(row) = self.planned_machines.get(&id).cloned() else {
                continue;
            };
            let before = self.view.machine(id);
            if before != Some(&row) {
                let sign = self.difference.hosts.count(before.is_some());
                let moved = before.filter(|before| before.host != row.host);
                self.difference.line(sign, || ChangeOf::Host {
                    host: row.host,
                    before: moved.map(|before| before.host),
                });
                self.draft.changes.topology.machines.push(row);
            }
        }
    }

    /// Whether each host of the facts has processes.
    fn used_hosts(&mut self, facts: &BusinessFacts) -> Vec<bool> {
        let mut used = vec![false; facts.hosts.len()];
        for process in &facts.processes {
            let number = self.programs.number(&process.program);
            if self.programs.get(number).fault.is_none() {
                used[facts.services[process.service].host] = true;
            }
        }
        used
    }
}
