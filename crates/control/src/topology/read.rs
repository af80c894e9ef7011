//! Reads of the process view, written straight from the latest snapshot of the fleet.

use fleet::view::{SetCounts, ViewFacetKey, ViewPage};
use fleet::{Facet, Fleet};
use model::access::{Caller, Permission};
use model::expression::Expression;
use model::scope::{ProcessStatus, Scope, Selection, ViewFilter};
use model::topology::{BkProcessId, BusinessId, BusinessRow, SetEnv};

use super::Topology;
use crate::ControlError;

/// What an expression selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    pub count: u64,
    /// How many processes are left after each part.
    pub left: Vec<u64>,
    /// The first of them, each with its full expression.
    pub first: Vec<(BkProcessId, String)>,
}

/// A business, and how much there is of it.
#[derive(Debug, Clone, PartialEq)]
pub struct BusinessSummary {
    pub row: BusinessRow,
    pub n_sets: usize,
    pub n_modules: usize,
    pub n_processes: u64,
}

/// What there is of a business.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overview {
    pub n_sets: usize,
    pub n_modules: usize,
    pub n_hosts: usize,
    pub n_processes: u64,
    pub n_running: u64,
    pub n_templates: usize,
}

impl Topology {
    /// About how many processes a page looks at; with `each`, an answer that looks at all of the business.
    pub fn cost(&self, filter: &ViewFilter, each: bool) -> u64 {
        self.core.fleet().view_cost(filter, each)
    }

    /// A page of the process view, with the exact number of all that match.
    pub fn page<T>(
        &self,
        caller: &Caller,
        filter: &ViewFilter,
        start: u64,
        limit: usize,
        write: impl FnOnce(&ViewPage<'_>) -> T,
    ) -> Result<T, ControlError> {
        self.access
            .check(caller, Permission::View, filter.business)?;
        let fleet = self.core.fleet();
        Ok(write(&fleet.view_page(filter, start, limit)))
    }

    /// How many processes of the view match, and how many have each value of the keys.
    pub fn facets(
        &self,
        caller: &Caller,
        filter: &ViewFilter,
        keys: &[ViewFacetKey],
        top: usize,
    ) -> Result<(u64, Vec<Facet>), ControlError> {
        self.access
            .check(caller, Permission::View, filter.business)?;
        Ok(self.core.fleet().view_facets(filter, keys, top))
    }

    /// The sets and modules of a business, with how many processes each has.
    pub fn tree<T>(
        &self,
        caller: &Caller,
        business: BusinessId,
        env: Option<SetEnv>,
        write: impl FnOnce(&[SetCounts<'_>]) -> T,
    ) -> Result<T, ControlError> {
        self.access.check(caller, Permission::View, business)?;
        let fleet = self.core.fleet();
        match fleet.view().tree(business, env) {
            Some(tree) => Ok(write(&tree)),
            None => Err(ControlError::NotFound(format!(
                "business {business} is not known"
            ))),
        }
    }

    /// What an expression selects, with the first `n_first` processes.
    pub fn select(
        &self,
        caller: &Caller,
        business: BusinessId,
        env: Option<SetEnv>,
        expression: &Expression,
        n_first: usize,
    ) -> Result<Selected, ControlError> {
        self.access.check(caller, Permission::View, business)?;
        let fleet = self.core.fleet();
        let (selected, steps) = fleet.view().narrowed(business, env, expression);
        let first = fleet.view_rows(selected.iter().take(n_first).map(BkProcessId));
        Ok(Selected {
            count: selected.len(),
            left: steps.into_iter().map(|step| step.count).collect(),
            first: first
                .iter()
                .map(|row| (row.id(), row.expression()))
                .collect(),
        })
    }

    /// Every business that the caller may see.
    pub fn businesses(&self, caller: &Caller) -> Vec<BusinessSummary> {
        let fleet = self.core.fleet();
        let view = fleet.view();
        let rows = view.businesses();
        rows.filter(|row| caller.may(Permission::View, row.id))
            .map(|row| {
                let sets = view.sets_of(row.id);
                let modules = sets.iter().map(|set| view.modules_of(set.id).len());
                BusinessSummary {
                    n_modules: modules.sum(),
                    n_sets: sets.len(),
                    n_processes: view.processes_of(row.id).map_or(0, |ids| ids.len()),
                    row: row.clone(),
                }
            })
            .collect()
    }

    /// As [`Self::cost`], of an overview: it looks at every machine.
    pub fn overview_cost(&self) -> u64 {
        self.core.fleet().view().n_machines() as u64
    }

    pub fn overview(
        &self,
        caller: &Caller,
        business: BusinessId,
    ) -> Result<Overview, ControlError> {
        self.access.check(caller, Permission::View, business)?;
        Ok(overview(&self.core.fleet(), business))
    }

    /// Of every business that the caller may see, with its name.
    pub fn overviews(&self, caller: &Caller) -> Vec<(BusinessId, String, Overview)> {
        let fleet = self.core.fleet();
        let rows = fleet.view().businesses();
        rows.filter(|row| caller.may(Permission::View, row.id))
            .map(|row| (row.id, row.name.clone(), overview(&fleet, row.id)))
            .collect()
    }
}

fn overview(fleet: &Fleet, business: BusinessId) -> Overview {
    let view = fleet.view();
    let sets = view.sets_of(business);
    let modules = sets.iter().map(|set| view.modules_of(set.id).len());
    let processes = view.processes_of(business);
    let hosts = view.machines().filter(|machine| {
        let on_it = view.processes_on(machine.id);
        on_it
            .zip(processes)
            .is_some_and(|(on_it, all)| !on_it.is_disjoint(all))
    });
    let running = ViewFilter {
        statuses: Some(vec![ProcessStatus::Running]),
        ..ViewFilter::new(business, Selection::Scope(Scope::default()))
    };
    Overview {
        n_sets: sets.len(),
        n_modules: modules.sum(),
        n_hosts: hosts.count(),
        n_processes: processes.map_or(0, |processes| processes.len()),
        n_running: view.matching(&running).len(),
        n_templates: view.templates_of(business).count(),
    }
}
