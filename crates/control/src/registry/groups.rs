//! Sets process groups, which are stored per namespace and host, and agent ids.

use model::access::{AccessArea, Audit, Caller, Permission};
use model::change::GroupRow;
use model::group::ProcessGroup;
use model::{AgentId, Code, Namespace};

use super::Registry;
use crate::answers::{answer_each, resolve, success, trail};
use crate::draft::Draft;
use crate::{ControlError, HostAnswer, TargetHost};

impl Registry {
    /// Replaces the groups of a namespace on each host; an empty list removes them.
    pub async fn set_groups(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        hosts: Vec<TargetHost>,
        groups: Vec<ProcessGroup>,
    ) -> Result<Vec<HostAnswer>, ControlError> {
        self.access.check(caller, Permission::Operate, namespace)?;
        let (caller, namespace, at) = (caller.clone(), namespace.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let mut draft = Draft::new(world, at);
            let answers = answer_each(world.fleet, &hosts, |host| {
                let id = draft.host(host);
                let changed = draft.fleet.groups(id, &namespace) != groups;
                if changed {
                    let (namespace, groups) = (namespace.clone(), groups.clone());
                    draft.changes.groups.push(GroupRow {
                        host: id,
                        namespace,
                        groups,
                    });
                }
                success(changed)
            });
            let detail = format!("{} groups on {}", groups.len(), trail(&answers));
            draft.audit(Audit::new(
                &caller,
                at,
                "set_groups",
                namespace.to_string(),
                detail,
            ));
            Ok((draft.finish(), answers))
        })
        .await
    }

    /// Sets the agent ids by which GSE 2.0 callers name hosts; one answer per host.
    pub async fn set_agent_ids(
        &self,
        caller: &Caller,
        hosts: Vec<(TargetHost, AgentId)>,
    ) -> Result<Vec<HostAnswer>, ControlError> {
        // An agent id addresses every namespace of its host.
        self.access
            .check(caller, Permission::Operate, AccessArea::Everything)?;
        let (caller, at) = (caller.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let mut draft = Draft::new(world, at);
            let answers: Vec<HostAnswer> = hosts
                .iter()
                .map(|(asked, agent)| draft.set_agent_id(asked, agent))
                .collect();
            let named: Vec<String> = draft
                .changes
                .hosts
                .iter()
                .filter_map(|row| {
                    row.agent_id
                        .as_ref()
                        .map(|agent| format!("{} is {agent}", row.host))
                })
                .take(20)
                .collect();
            let detail = format!("{}; {}", trail(&answers), named.join(", "));
            draft.audit(Audit::new(&caller, at, "set_agent_ids", "hosts", detail));
            Ok((draft.finish(), answers))
        })
        .await
    }
}

impl Draft<'_> {
    fn set_agent_id(&mut self, asked: &TargetHost, agent: &AgentId) -> HostAnswer {
        let host = match resolve(self.fleet, asked) {
            Ok(host) => host,
            Err(refusal) => return refusal,
        };
        let answer = |code, message: String, changed| HostAnswer {
            key_prefix: asked.key_prefix.clone(),
            host: Some(host),
            code,
            message,
            changed,
        };
        let refuse = |message: String| answer(Code::INVALID, message, false);
        let Some(view) = self.fleet.find_host(&host) else {
            return refuse(format!("host {host} is not known"));
        };
        let twice = self.changes.hosts.iter().any(|row| row.id == view.id);
        if twice {
            return refuse(format!("host {host} is named twice with different ids"));
        }
        let drafted = self
            .changes
            .hosts
            .iter()
            .any(|row| row.agent_id.as_ref() == Some(agent) && row.id != view.id);
        let taken = self
            .fleet
            .host_of_agent(agent)
            .is_some_and(|owner| owner != view.id);
        if taken || drafted {
            return refuse(format!("agent id {agent} belongs to another host"));
        }
        let changed = view.agent_id != Some(agent);
        if changed {
            self.changes.hosts.push(model::change::HostRow {
                agent_id: Some(agent.clone()),
                ..view.to_change()
            });
        }
        answer(Code::OK, "success".to_owned(), changed)
    }
}
