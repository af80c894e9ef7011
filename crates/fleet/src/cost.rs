//! About how many rows, names and hosts a query looks at, before it does: so that a caller can run long ones elsewhere.

use model::expression::IdPart;
use model::scope::{Selection, ViewFilter};
use model::selector::NamePattern;
use roaring::RoaringBitmap;

use crate::{Filter, Fleet};

impl Fleet {
    /// Of a page of processes, or of anything else that looks at each that matches (`each`).
    pub fn cost(&self, filter: &Filter, each: bool) -> u64 {
        let tests_hosts = filter.states.is_some()
            || filter.connected.is_some()
            || filter.clouds.is_some()
            || filter.versions.is_some();
        let tests_rows = tests_hosts
            || filter.wanted.is_some()
            || filter.managed.is_some()
            || filter.restart_needed.is_some()
            || filter.businesses.is_some()
            || filter.envs.is_some();
        let has_words = !filter.words.is_empty();
        let literal = |pattern: &NamePattern| pattern.literal().is_some();
        let tests_names = has_words
            || filter.names.is_some()
            || (filter.processes.as_deref()).is_some_and(|all| !all.iter().all(literal));
        let rows = match each || tests_rows || has_words {
            true => self.most_rows(filter),
            false => 0,
        };
        let names = if tests_names { self.names.next_id() } else { 0 };
        let hosts = match tests_hosts || has_words {
            true => self.hosts.next_id(),
            false => 0,
        };
        rows + u64::from(names) + u64::from(hosts)
    }

    /// An upper bound of the rows that match, from what is indexed.
    fn most_rows(&self, filter: &Filter) -> u64 {
        let of_hosts = filter.hosts.as_deref().map(|hosts| {
            let known = hosts.iter().filter_map(|host| self.find_host(host));
            known.map(|host| u64::from(host.n_processes)).sum()
        });
        let of_namespaces = filter.namespaces.as_deref().map(|namespaces| {
            let all = namespaces
                .iter()
                .filter_map(|one| self.names.processes_in(one));
            all.map(RoaringBitmap::len).sum()
        });
        let of_patterns = filter.processes.as_deref().and_then(|patterns| {
            let rows = patterns.iter().map(|pattern| {
                let id = self.names.find(&pattern.literal()?);
                let processes = id.and_then(|id| self.names.processes(id));
                Some(processes.map_or(0, RoaringBitmap::len))
            });
            rows.sum::<Option<u64>>()
        });
        let bounds = [of_hosts, of_namespaces, of_patterns].into_iter().flatten();
        bounds.min().unwrap_or(self.n_processes() as u64)
    }

    /// The same for the process view.
    pub fn view_cost(&self, filter: &ViewFilter, each: bool) -> u64 {
        let by_expression = match &filter.selection {
            Selection::Scope(_) => false,
            Selection::Expression { expression, .. } => {
                let any_id = matches!(&expression.id, IdPart::Pattern(id) if id.is_any());
                !any_id || !expression.service.is_any()
            }
        };
        let looks_at_all = each
            || by_expression
            || filter.states.is_some()
            || filter.restart_needed.is_some()
            || filter.connected.is_some()
            || !filter.searches.is_empty()
            || !filter.words.is_empty()
            || !filter.ordering.is_empty();
        let all = self.view.processes_of(filter.business);
        match looks_at_all {
            true => all.map_or(0, RoaringBitmap::len),
            false => 0,
        }
    }

    /// The same for a search in names, hosts and businesses.
    pub fn search_cost(&self) -> u64 {
        u64::from(self.names.next_id()) + u64::from(self.hosts.next_id())
    }
}
