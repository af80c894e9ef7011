//! Removes hosts: their registrations, certificates, groups, join tokens, and what the process view shows of them.
//!
//! The row of a removed host stays in the store, so that events, tasks and the timeline still name it. A host that comes back,
//! by a join, a registration or an import, gets a new row. Nothing is sent to the host: its processes keep running.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use fleet::{Fleet, HostView, Link};
use model::access::{Audit, Caller};
use model::change::{GroupRow, HostId, HostRow};
use model::topology::BusinessId;
use model::{AgentId, Code, Host, Invalid, Labels, OpId, Outcome, UnixMillis};

use crate::answers::resolve;
use crate::draft::Draft;
use crate::operations::Record;
use crate::{Control, ControlError, TargetHost, topology};

/// How many hosts one request may remove.
const MAX_HOSTS: usize = 10_000;
/// How many connected hosts a refusal names.
const MAX_NAMED: usize = 3;

/// Which hosts to remove.
#[derive(Debug, Clone, Default)]
pub struct RemoveHosts {
    /// These; none for every host that was away for long enough.
    pub hosts: Option<Vec<TargetHost>>,
    /// Only those whose agent has been away for this long.
    pub gone_for: Option<Duration>,
    /// Also those whose agent is connected.
    pub force: bool,
    /// How many hosts the caller expects; with another number nothing is done.
    pub expect_count: Option<u64>,
}

/// A host that is removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRemoval {
    pub host: Host,
    pub agent_id: Option<AgentId>,
    pub link: Link,
    pub n_processes: u32,
    /// The businesses whose process view shows it: their next import may bring it back.
    pub businesses: Vec<(BusinessId, String)>,
}

impl Control {
    /// What [`Self::remove_hosts`] would remove now, and changes nothing. Connected hosts are listed also without `force`.
    pub fn plan_removal(
        &self,
        caller: &Caller,
        request: &RemoveHosts,
    ) -> Result<Vec<HostRemoval>, ControlError> {
        self.0.access.check_admin(caller)?;
        let now = self.0.core.now();
        let fleet = self.0.core.fleet();
        let ids = select(&fleet, request, now)?;
        expect(request, ids.len())?;
        Ok(removals(&fleet, &ids))
    }

    /// Removes them, all or nothing. Sessions of connected agents end; operations under way there end with code 117.
    pub async fn remove_hosts(
        &self,
        caller: &Caller,
        request: RemoveHosts,
    ) -> Result<Vec<HostRemoval>, ControlError> {
        self.0.access.check_admin(caller)?;
        let (core, at) = (&self.0.core, self.0.core.now());
        let (on_behalf, tasks_of) = (caller.clone(), core.clone());
        let (removed, open) = core
            .commit(move |world| {
                let ids = select(world.fleet, &request, at)?;
                expect(&request, ids.len())?;
                let removed = removals(world.fleet, &ids);
                check_number(&request, &removed)?;
                let open = ids.iter().map(|id| (*id, tasks_of.tasks.open_on(*id)));
                let open: Vec<(HostId, Vec<OpId>)> = open.collect();
                let mut draft = Draft::new(world, at);
                topology::forget_hosts(&mut draft, world, &ids);
                for (id, removal) in ids.iter().zip(&removed) {
                    draft.remove_host(*id, at);
                    draft.changes.audit.push(audit(&on_behalf, at, removal));
                }
                let bound = world.accounts.join_tokens.values().filter(|token| {
                    let host = token.host;
                    host.is_some_and(|host| removed.iter().any(|removal| removal.host == host))
                });
                let bound = bound.map(|token| token.id.clone());
                draft.changes.join_tokens_gone.extend(bound);
                Ok((draft.finish(), (removed, open)))
            })
            .await?;
        self.end_operations(open, at).await;
        Ok(removed)
    }

    /// Their agents will not answer. What is not recorded here, because the server ends, ends at its deadline.
    async fn end_operations(&self, open: Vec<(HostId, Vec<OpId>)>, at: UnixMillis) {
        for (id, ops) in open {
            let host = self.0.core.fleet().address(id);
            let host = host.map_or_else(String::new, |host| host.to_string());
            let message = format!("host {host} was removed before its agent answered");
            for op in ops {
                let outcome = Outcome::plain(Code::NO_CONNECTION, message.clone(), at);
                let record = Record::Overdue { op, outcome };
                // The recorder ends with the server.
                let _ = self.0.operations.records.send(record).await;
            }
        }
    }
}

impl Draft<'_> {
    /// The registrations, groups and enrolment of a host.
    fn remove_host(&mut self, id: HostId, at: UnixMillis) {
        let fleet = self.fleet;
        let Some(view) = fleet.host(id) else { return };
        for row in fleet.processes_of(id) {
            self.forget(row.id());
        }
        let groups = fleet.groups_of(id).map(|(namespace, _)| GroupRow {
            host: id,
            namespace: namespace.clone(),
            groups: Vec::new(),
        });
        self.changes.groups.extend(groups);
        self.changes.hosts.push(HostRow {
            agent_id: None,
            enrolled_at: UnixMillis::NEVER,
            removed_at: Some(at),
            labels: Labels::default(),
            ..view.to_change()
        });
    }
}

/// The hosts of a request, each once, in its order.
fn select(
    fleet: &Fleet,
    request: &RemoveHosts,
    now: UnixMillis,
) -> Result<Vec<HostId>, ControlError> {
    let is_gone = |view: &HostView<'_>| {
        let gone_for = request.gone_for;
        gone_for.is_none_or(|gone_for| is_gone_for(view, gone_for, now))
    };
    let Some(hosts) = &request.hosts else {
        if request.gone_for.is_none() {
            return Err(Invalid::new("hosts", "is required, or gone_for").into());
        }
        let mut gone: Vec<HostView<'_>> = fleet.hosts().filter(is_gone).collect();
        gone.sort_by_key(|view| view.host);
        return Ok(gone.into_iter().map(|view| view.id).collect());
    };
    let (mut ids, mut known) = (Vec::new(), BTreeSet::new());
    for asked in hosts {
        let host = resolve(fleet, asked).map_err(|refused| match refused.code {
            Code::INVALID => Invalid::new("hosts", refused.message).into(),
            _ => ControlError::NotFound(format!("{}: nothing was removed", refused.message)),
        })?;
        let view = fleet.find_host(&host).ok_or_else(|| {
            ControlError::NotFound(format!("host {host} is not known: nothing was removed"))
        })?;
        if is_gone(&view) && known.insert(view.id) {
            ids.push(view.id);
        }
    }
    Ok(ids)
}

/// A host that never had an agent is not gone.
fn is_gone_for(view: &HostView<'_>, gone_for: Duration, now: UnixMillis) -> bool {
    let last = match view.link {
        Link::Up { .. } => return false,
        Link::Down { since } => since.max(view.heard_at).max(view.enrolled_at),
        Link::Never => view.enrolled_at,
    };
    let gone_ms = i64::try_from(gone_for.as_millis()).unwrap_or(i64::MAX);
    last != UnixMillis::NEVER && now.0.saturating_sub(last.0) >= gone_ms
}

fn expect(request: &RemoveHosts, count: usize) -> Result<(), ControlError> {
    let count = count as u64;
    match request.expect_count {
        Some(expected) if expected != count => {
            Err(ControlError::HostCountChanged { expected, count })
        }
        _ => Ok(()),
    }
}

fn check_number(request: &RemoveHosts, removed: &[HostRemoval]) -> Result<(), ControlError> {
    if removed.is_empty() {
        let message = "no host was away for that long: nothing was removed";
        return Err(ControlError::NotFound(message.to_owned()));
    }
    if removed.len() > MAX_HOSTS {
        let n = removed.len();
        let rule = format!(
            "must be at most {MAX_HOSTS} hosts at once, not {n}: name some of them, or give a longer gone_for"
        );
        return Err(Invalid::new("hosts", rule).into());
    }
    let connected: Vec<String> = removed
        .iter()
        .filter(|removal| removal.link.is_up())
        .map(|removal| removal.host.to_string())
        .collect();
    if connected.is_empty() || request.force {
        return Ok(());
    }
    let named = connected.iter().take(MAX_NAMED).cloned();
    let mut named = named.collect::<Vec<_>>().join(", ");
    if connected.len() > MAX_NAMED {
        named.push_str(&format!(" and {} more", connected.len() - MAX_NAMED));
    }
    Err(ControlError::Conflict(format!(
        "connected: {named}. Stop the agent there first, or give force, which ends its session; nothing was removed"
    )))
}

fn removals(fleet: &Fleet, ids: &[HostId]) -> Vec<HostRemoval> {
    let mut businesses: HashMap<HostId, Vec<(BusinessId, String)>> =
        topology::businesses_on(fleet, ids);
    ids.iter()
        .filter_map(|id| fleet.host(*id))
        .map(|view| HostRemoval {
            host: view.host,
            agent_id: view.agent_id.cloned(),
            link: view.link,
            n_processes: view.n_processes,
            businesses: businesses.remove(&view.id).unwrap_or_default(),
        })
        .collect()
}

fn audit(caller: &Caller, at: UnixMillis, removal: &HostRemoval) -> Audit {
    let connected = match removal.link.is_up() {
        true => ", connected",
        false => "",
    };
    let detail = format!("{} processes unregistered{connected}", removal.n_processes);
    Audit::new(caller, at, "host.remove", removal.host.to_string(), detail)
}
