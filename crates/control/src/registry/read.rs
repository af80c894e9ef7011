//! Reads of processes, hosts and groups.
//!
//! Each method checks the caller, takes the latest snapshot of the fleet, and lets the caller write its answer straight from the
//! rows: nothing is copied, and nothing waits for it.

use fleet::{Facet, FacetKey, Filter, Found, HostFilter, HostOrder, HostView, Page, Row, RowOrder};
use model::access::{AccessArea, Caller, Permission};
use model::group::ProcessGroup;
use model::selector::LabelSelector;
use model::{FullName, Host, Namespace, ProcessState};

use super::Registry;
use crate::access::may_with;
use crate::answers::HostLookup;
use crate::{ControlError, HostSelector};

/// The registrations of one name, by host.
#[derive(Debug)]
pub struct Statuses<'a> {
    hosts: HostLookup<'a>,
    name: Option<model::change::NameId>,
}

impl<'a> Statuses<'a> {
    /// The host that a place means, if it is known, and the process there, if it is registered.
    pub fn at(&self, place: &HostSelector) -> (Option<HostView<'a>>, Option<Row<'a>>) {
        let host = self.hosts.find(place);
        let row = host
            .zip(self.name)
            .and_then(|(host, name)| self.hosts.fleet.process(host.id, name));
        (host, row)
    }
}

/// How many processes of a host are in each state; states without one are left out.
pub type HostStates = Vec<(ProcessState, u32)>;

/// Names that begin with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessNames {
    /// `namespace/name` of processes.
    pub names: Vec<String>,
    pub namespaces: Vec<String>,
}

/// The process groups of one namespace, by host.
#[derive(Debug)]
pub struct Groups<'a> {
    hosts: HostLookup<'a>,
    namespace: &'a Namespace,
}

impl<'a> Groups<'a> {
    /// None when the host is not known.
    pub fn at(&self, place: &HostSelector) -> Option<(HostView<'a>, &'a [ProcessGroup])> {
        let host = self.hosts.find(place)?;
        Some((host, self.hosts.fleet.groups(host.id, self.namespace)))
    }
}

impl Registry {
    /// About how many rows, names and hosts a page looks at; with `each`, an answer that looks at every process that matches.
    pub fn cost(&self, filter: &Filter, each: bool) -> u64 {
        self.core.fleet().cost(filter, each)
    }

    /// The same for [`Self::search`].
    pub fn search_cost(&self) -> u64 {
        self.core.fleet().search_cost()
    }

    /// A page of processes. Without namespaces in the filter, all that the caller may see.
    pub fn page<T>(
        &self,
        caller: &Caller,
        filter: Filter,
        order: &[RowOrder],
        start: u64,
        limit: usize,
        write: impl FnOnce(Page<'_>) -> T,
    ) -> Result<T, ControlError> {
        let filter = self.access.narrow(caller, filter)?;
        Ok(write(self.core.fleet().page(&filter, order, start, limit)))
    }

    /// How many processes match, and how many have each value of the keys. Without namespaces in the filter, of all that the
    /// caller may see.
    pub fn facets(
        &self,
        caller: &Caller,
        filter: Filter,
        keys: &[FacetKey],
        top: usize,
    ) -> Result<(u64, Vec<Facet>), ControlError> {
        self.access
            .check_touched(caller, filter.namespaces.as_deref())?;
        let filter = Filter {
            visible: Some(caller.visible_processes()),
            ..filter
        };
        Ok(self.core.fleet().facets(&filter, keys, top))
    }

    /// A page of one namespace. Costs the page, not the offset.
    pub fn page_of_namespace<T>(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        start: u64,
        limit: usize,
        write: impl FnOnce(Page<'_>) -> T,
    ) -> Result<T, ControlError> {
        self.access.check(caller, Permission::View, namespace)?;
        let fleet = self.core.fleet();
        Ok(write(fleet.page_of_namespace(namespace, start, limit)))
    }

    /// Every registration of a name, of which there is at least one.
    pub fn processes_named<T>(
        &self,
        caller: &Caller,
        name: &FullName,
        write: impl FnOnce(&mut dyn Iterator<Item = Row<'_>>) -> T,
    ) -> Result<T, ControlError> {
        let fleet = self.core.fleet();
        let ids = fleet.name_id(name).into_iter();
        let rows = ids.flat_map(|id| fleet.processes_named(id));
        let mut rows = rows
            .filter(|row| may_with(caller, Permission::View, row))
            .peekable();
        if rows.peek().is_some() {
            return Ok(write(&mut rows));
        }
        // A caller that may see some processes of the namespace does not learn whether others are there.
        self.access
            .check(caller, Permission::View, &name.namespace)?;
        Err(ControlError::NotFound(format!(
            "process {name} is not registered"
        )))
    }

    /// The first names of processes that begin with a text, each once for all its hosts, and the namespaces that do.
    pub fn names(&self, caller: &Caller, prefix: &str, limit: usize) -> ProcessNames {
        let visible = caller.visible_namespaces();
        let is_visible =
            |namespace: &Namespace| visible.as_ref().is_none_or(|all| all.contains(namespace));
        let fleet = self.core.fleet();
        let mut names: Vec<String> = fleet
            .names_in_use()
            .filter(|name| is_visible(&name.namespace))
            .map(FullName::to_string)
            .filter(|name| name.starts_with(prefix))
            .collect();
        names.sort_unstable();
        names.truncate(limit);
        let mut namespaces: Vec<String> = fleet
            .namespaces()
            .map(|(namespace, _)| namespace)
            .filter(|namespace| is_visible(namespace))
            .map(Namespace::to_string)
            .filter(|namespace| namespace.starts_with(prefix))
            .collect();
        namespaces.sort_unstable();
        namespaces.truncate(limit);
        ProcessNames { names, namespaces }
    }

    /// Every host where a process is registered, for callers that name them all.
    pub fn hosts_of(&self, name: &FullName) -> Result<Vec<Host>, ControlError> {
        let fleet = self.core.fleet();
        let ids = fleet.name_id(name).into_iter();
        let rows = ids.flat_map(|id| fleet.processes_named(id));
        let hosts: Vec<Host> = rows.map(|row| row.host().host).collect();
        match hosts.is_empty() {
            false => Ok(hosts),
            true => Err(ControlError::NotFound(format!(
                "process {name} is registered on no host"
            ))),
        }
    }

    /// Whether the caller may do something with this process on this host, by its namespace or by its labels.
    pub fn may_process(
        &self,
        caller: &Caller,
        action: Permission,
        host: &Host,
        name: &FullName,
    ) -> bool {
        let fleet = self.core.fleet();
        let by_labels = || {
            let row = fleet.find_process(host, name);
            row.is_some_and(|row| may_with(caller, action, &row))
        };
        caller.may(action, &name.namespace) || by_labels()
    }

    /// Whether the labels of a process pass, for callers that may see it. False where it is not registered.
    pub fn process_passes(&self, host: &Host, name: &FullName, labels: &LabelSelector) -> bool {
        let fleet = self.core.fleet();
        let row = fleet.find_process(host, name);
        row.is_some_and(|row| row.passes(labels))
    }

    /// The same for any of its registrations.
    pub fn name_passes(&self, name: &FullName, labels: &LabelSelector) -> bool {
        let fleet = self.core.fleet();
        let ids = fleet.name_id(name).into_iter();
        let mut rows = ids.flat_map(|id| fleet.processes_named(id));
        rows.any(|row| row.passes(labels))
    }

    /// One process on the hosts that the caller names.
    pub fn statuses<T>(
        &self,
        caller: &Caller,
        name: &FullName,
        write: impl FnOnce(&Statuses<'_>) -> T,
    ) -> Result<T, ControlError> {
        self.access
            .check(caller, Permission::View, &name.namespace)?;
        let fleet = self.core.fleet();
        Ok(write(&Statuses {
            name: fleet.name_id(name),
            hosts: HostLookup { fleet: &fleet },
        }))
    }

    /// The groups of a namespace on the hosts that the caller names.
    pub fn groups<T>(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        write: impl FnOnce(&Groups<'_>) -> T,
    ) -> Result<T, ControlError> {
        self.access.check(caller, Permission::View, namespace)?;
        let fleet = self.core.fleet();
        let hosts = HostLookup { fleet: &fleet };
        Ok(write(&Groups { hosts, namespace }))
    }

    /// A page of hosts: their number, and the rows, each with how many of its processes that the caller may see are in each
    /// state. Every caller may see hosts.
    pub fn hosts<T>(
        &self,
        caller: &Caller,
        filter: &HostFilter,
        order: &[HostOrder],
        (start, limit): (u64, usize),
        write: impl FnOnce(usize, &mut dyn Iterator<Item = (HostView<'_>, HostStates)>) -> T,
    ) -> T {
        let visible = caller.visible_namespaces();
        let fleet = self.core.fleet();
        let (count, page) = fleet.host_page(filter, order, start, limit);
        let states = |view: HostView<'_>| fleet.states_on(view.id, visible.as_deref());
        write(
            count,
            &mut page.into_iter().map(|view| (view, states(view))),
        )
    }

    /// One host, in the same way.
    pub fn host<T>(
        &self,
        caller: &Caller,
        host: &Host,
        write: impl FnOnce(HostView<'_>, HostStates) -> T,
    ) -> Result<T, ControlError> {
        let visible = caller.visible_namespaces();
        let fleet = self.core.fleet();
        let Some(view) = fleet.find_host(host) else {
            let message = format!("host {host} is not known");
            return Err(ControlError::NotFound(message));
        };
        Ok(write(view, fleet.states_on(view.id, visible.as_deref())))
    }

    /// Finds processes, namespaces, hosts, businesses and config templates by words, of what the caller may see.
    pub fn search<T>(
        &self,
        caller: &Caller,
        words: &[String],
        limit: usize,
        write: impl FnOnce(Found<'_>) -> T,
    ) -> T {
        let sees = |namespace: &Namespace| caller.may(Permission::View, namespace);
        let sees_business = |business| caller.may(Permission::View, AccessArea::Business(business));
        let fleet = self.core.fleet();
        write(fleet.search(words, limit, sees, sees_business))
    }

    /// Hosts as the caller names them. Every caller may see hosts.
    pub fn find_hosts<T>(&self, write: impl FnOnce(HostLookup<'_>) -> T) -> T {
        write(HostLookup {
            fleet: &self.core.fleet(),
        })
    }
}
