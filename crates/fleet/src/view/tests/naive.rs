//! Finds processes in the naive way.

use std::collections::BTreeMap;

use model::State;
use model::scope::{ProcessStatus, Scope, Selection, ViewFilter};

use super::world::*;

pub(super) fn status_of(process: &Plain) -> ProcessStatus {
    let states = || process.states.iter().map(|(state, _)| *state);
    if states().count() > 0 && states().all(|state| state == State::Running) {
        ProcessStatus::Running
    } else if states().all(|state| state == State::Unknown) {
        ProcessStatus::Unregistered
    } else {
        ProcessStatus::Terminated
    }
}

pub(super) fn is_auto(process: &Plain) -> bool {
    !process.states.is_empty() && process.states.iter().all(|(_, managed)| *managed)
}

/// The naive implementation.
pub(super) fn expected(processes: &[Plain], filter: &ViewFilter) -> Vec<u32> {
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

pub(super) fn everything() -> ViewFilter {
    ViewFilter::new(BUSINESS, Selection::Scope(Scope::default()))
}
