//! Repeats failed targets of a task, in a new task.

use std::collections::BTreeSet;

use model::access::{Caller, Permission};
use model::{AgentId, Host, Namespace, TaskId};

use super::operate::{Line, OperatePlan};
use super::{Operate, OperateSpec, Operations, TargetView};
use crate::{ControlError, HostSelector, TargetHost, secrets};

impl Operations {
    /// Operates on the failed targets again: on all of them, or on those at these positions. Returns the new task and the
    /// number of its targets. Durable when it returns.
    pub async fn retry(
        &self,
        caller: &Caller,
        id: TaskId,
        positions: Option<&BTreeSet<usize>>,
    ) -> Result<(TaskId, usize), ControlError> {
        let task = self.task(caller, id).await?;
        let is_wanted = |n: &usize| positions.is_none_or(|positions| positions.contains(n));
        let failed: Vec<&TargetView> = (0..)
            .zip(&task.targets)
            .filter(|(n, target)| is_wanted(n) && has_failed(target))
            .map(|(_, target)| target)
            .collect();
        // Callers that may not operate learn nothing about which targets failed.
        let concerned = match failed.is_empty() {
            true => task.targets.iter().collect(),
            false => failed.clone(),
        };
        let namespaces: BTreeSet<&Namespace> = concerned
            .iter()
            .map(|target| &target.process.namespace)
            .collect();
        for namespace in namespaces {
            self.access.check(caller, Permission::Operate, namespace)?;
        }
        let n_targets = failed.len();
        if n_targets == 0 {
            let message = format!("no target of task {id} that was asked for has failed");
            return Err(ControlError::Conflict(message));
        }
        self.check_room(n_targets)?;
        let lines: Vec<Line> = failed.into_iter().map(again).map(Line::new).collect();
        let (caller, at) = (caller.clone(), self.core.now());
        let core = self.core.clone();
        let retry = self
            .core
            .commit(move |world| {
                let retry = core.tasks.fresh_id(at, secrets::random_u32());
                let mut plan = OperatePlan::new(world, &core.tasks, retry, at);
                plan.retries = Some(id);
                for (index, line) in lines.iter().enumerate() {
                    plan.add(index, line, &caller)?;
                }
                let what = format!("task {id}: {n_targets} failed targets again");
                Ok((plan.into_changes(&caller, what), retry))
            })
            .await?;
        self.core.counters.operations.add(n_targets as u64);
        Ok((retry, n_targets))
    }
}

fn has_failed(target: &TargetView) -> bool {
    let outcome = target.outcome.as_ref();
    outcome.is_some_and(|outcome| !outcome.code.is_as_asked())
}

/// The same operation, under the keys that the caller of the first task used.
fn again(target: &TargetView) -> Operate {
    let hosts = target.key_prefixes.iter().map(|prefix| TargetHost {
        key_prefix: prefix.clone(),
        place: match target.host {
            Some(host) => HostSelector::Host(host),
            None => place_of(prefix),
        },
    });
    Operate {
        name: (*target.process).clone(),
        op: target.op,
        with: match &target.probe {
            Some(probe) => OperateSpec::Probe((**probe).clone()),
            None => OperateSpec::Registered,
        },
        hosts: hosts.collect(),
    }
}

/// What a key meant that named no known host.
fn place_of(prefix: &str) -> HostSelector {
    match (prefix.parse::<Host>(), AgentId::parse(prefix)) {
        (Ok(host), _) => HostSelector::Host(host),
        (Err(_), Ok(agent)) => HostSelector::Agent(agent),
        (Err(invalid), Err(_)) => HostSelector::Bad(invalid),
    }
}
