//! Which change events a watcher gets.

use control::{ChangeEvent, Control, Registry};
use model::access::{Caller, Permission};
use model::job::JobArea;
use model::selector::{LabelSelector, NamePattern};
use model::topology::{BusinessId, namespace_of};
use model::{FullName, Host, Invalid, Namespace};

use super::text::kind;
use crate::http::native::ApiError;
use crate::http::native::request::QueryParams;

const KINDS: [&str; 9] = [
    "status",
    "task",
    "job",
    "event",
    "agent",
    "registration",
    "topology",
    "template",
    SUMMARY,
];
const SUMMARY: &str = "summary";

/// Which change events a watcher gets. Every field that is set must match.
#[derive(Debug)]
pub(super) struct WatchFilter {
    namespaces: Option<Vec<Namespace>>,
    /// The namespaces of the businesses that it asked for.
    businesses: Option<Vec<Namespace>>,
    processes: Option<Vec<NamePattern>>,
    hosts: Option<Vec<Host>>,
    labels: Option<LabelSelector>,
    kinds: Option<Vec<&'static str>>,
    /// What the caller may see, besides its filter.
    pub(super) caller: Caller,
}

impl WatchFilter {
    pub(super) fn read(
        control: &Control,
        caller: Caller,
        params: &QueryParams,
    ) -> Result<Self, ApiError> {
        let access = control.access();
        let (namespaces, businesses) = (params.namespaces()?, params.businesses()?);
        for asked in [&namespaces, &businesses] {
            access.check_touched(&caller, asked.as_deref())?;
        }
        Ok(Self {
            namespaces,
            businesses,
            processes: params.patterns()?,
            hosts: params.hosts()?,
            labels: params.labels()?,
            kinds: params.list("kinds", parse_kind)?,
            caller,
        })
    }

    /// Sent only to watchers that ask for it.
    pub(super) fn wants_summary(&self) -> bool {
        self.kinds
            .as_ref()
            .is_some_and(|kinds| kinds.contains(&SUMMARY))
    }

    /// The namespaces of the filter that the caller may see now; none for all.
    pub(super) fn namespaces_seen(&self) -> Option<Vec<Namespace>> {
        let wanted = [&self.namespaces, &self.businesses];
        let narrowest = wanted.into_iter().flatten().min_by_key(|all| all.len());
        match narrowest {
            None => self.caller.visible_namespaces(),
            Some(all) => {
                let seen = all.iter().filter(|namespace| self.has_namespace(namespace));
                Some(seen.cloned().collect())
            }
        }
    }

    /// `registry` knows the labels of processes.
    pub(super) fn includes(&self, change: &ChangeEvent, registry: &Registry) -> bool {
        let is_visible = self.includes_name(change) || self.sees_by_labels(change, registry);
        is_visible && self.has_labels(change, registry)
    }

    /// A process on a host that a grant by labels shows to the caller.
    fn sees_by_labels(&self, change: &ChangeEvent, registry: &Registry) -> bool {
        let (process, host) = match change {
            ChangeEvent::Status { process, host, .. } => (process, host),
            ChangeEvent::Event { host, event } => (&event.process, host),
            _ => return false,
        };
        self.has_kind(change)
            && self.asks_for(process)
            && self.has_host(host)
            && registry.may_process(&self.caller, Permission::View, host, process)
    }

    fn has_kind(&self, change: &ChangeEvent) -> bool {
        let kinds = self.kinds.as_ref();
        kinds.is_none_or(|kinds| kinds.contains(&kind(change)))
    }

    /// Of a process on a host, its labels must pass; of a name, those of one of its registrations. Other changes have none.
    fn has_labels(&self, change: &ChangeEvent, registry: &Registry) -> bool {
        let Some(labels) = &self.labels else {
            return true;
        };
        match change {
            ChangeEvent::Status { process, host, .. } => {
                registry.process_passes(host, process, labels)
            }
            ChangeEvent::Event { host, event } => {
                registry.process_passes(host, &event.process, labels)
            }
            ChangeEvent::Registration { process, .. } => registry.name_passes(process, labels),
            ChangeEvent::Task { processes, .. } => {
                let mut processes = processes.iter();
                processes.any(|name| registry.name_passes(name, labels))
            }
            ChangeEvent::Job { .. }
            | ChangeEvent::Agent { .. }
            | ChangeEvent::Topology { .. }
            | ChangeEvent::Template { .. } => true,
        }
    }

    fn includes_name(&self, change: &ChangeEvent) -> bool {
        self.has_kind(change)
            && match change {
                ChangeEvent::Status { process, host, .. } => {
                    self.has_process(process) && self.has_host(host)
                }
                ChangeEvent::Event { host, event } => {
                    self.has_process(&event.process) && self.has_host(host)
                }
                ChangeEvent::Registration { process, .. } => self.has_process(process),
                ChangeEvent::Task {
                    namespaces,
                    processes,
                    ..
                } => {
                    self.sees_all(namespaces)
                        && match &self.processes {
                            None => namespaces.iter().any(|one| self.has_namespace(one)),
                            Some(_) => processes.iter().any(|name| self.has_process(name)),
                        }
                }
                ChangeEvent::Job { area, .. } => match area {
                    JobArea::Business(business) => self.has_business(*business),
                    JobArea::Namespaces(namespaces) => {
                        self.sees_all(namespaces)
                            && namespaces.iter().any(|one| self.has_namespace(one))
                    }
                    JobArea::Agents(_) => true,
                },
                ChangeEvent::Topology { business } | ChangeEvent::Template { business, .. } => {
                    self.has_business(*business)
                }
                ChangeEvent::Agent { host, .. } => self.has_host(host),
            }
    }

    /// Like reading the task or job itself: one namespace that is not allowed hides it.
    fn sees_all(&self, namespaces: &[Namespace]) -> bool {
        let mut namespaces = namespaces.iter();
        namespaces.all(|namespace| self.caller.may(Permission::View, namespace))
    }

    fn has_business(&self, business: BusinessId) -> bool {
        self.has_namespace(&namespace_of(business))
    }

    fn has_process(&self, name: &FullName) -> bool {
        self.asks_for(name) && self.caller.may(Permission::View, &name.namespace)
    }

    /// Whether the watcher asks for the process, whatever it may see.
    fn asks_for(&self, name: &FullName) -> bool {
        let patterns = self.processes.as_ref();
        self.asks_for_namespace(&name.namespace)
            && patterns.is_none_or(|patterns| patterns.iter().any(|one| one.matches(name)))
    }

    fn asks_for_namespace(&self, namespace: &Namespace) -> bool {
        let mut wanted = [&self.namespaces, &self.businesses].into_iter().flatten();
        wanted.all(|wanted| wanted.contains(namespace))
    }

    fn has_namespace(&self, namespace: &Namespace) -> bool {
        self.asks_for_namespace(namespace) && self.caller.may(Permission::View, namespace)
    }

    fn has_host(&self, host: &Host) -> bool {
        self.hosts
            .as_ref()
            .is_none_or(|wanted| wanted.contains(host))
    }
}

fn parse_kind(text: &str) -> Result<&'static str, Invalid> {
    let found = KINDS.into_iter().find(|kind| *kind == text);
    found.ok_or_else(|| {
        Invalid::new(
            "kinds",
            format!("must be some of {}, not {text:?}", KINDS.join(", ")),
        )
    })
}

#[cfg(test)]
mod tests {
    use model::UnixMillis;
    use model::access::{Grant, Role};
    use model::job::JobId;
    use model::topology::BusinessId;

    use super::*;

    fn filter(namespace: Option<&str>, allowed: Option<&str>) -> WatchFilter {
        let list = |name: Option<&str>| name.map(|name| vec![Namespace::parse(name).unwrap()]);
        WatchFilter {
            namespaces: list(namespace.or(allowed)),
            businesses: None,
            processes: None,
            hosts: None,
            labels: None,
            kinds: None,
            caller: match list(allowed) {
                None => Caller::system(),
                Some(namespaces) => {
                    let grant = Grant::new(Role::Viewer, namespaces, Vec::new()).unwrap();
                    Caller::system().with_grants(&[grant])
                }
            },
        }
    }

    fn task(processes: &[&str]) -> ChangeEvent {
        let processes = processes
            .iter()
            .map(|name| format!("{name}/web").parse().unwrap());
        let processes: Vec<FullName> = processes.collect();
        ChangeEvent::Task {
            id: model::TaskId::from_number(1),
            n_targets: 2,
            n_ended: 1,
            n_ok: 1,
            namespaces: processes
                .iter()
                .map(|name| name.namespace.clone())
                .collect(),
            processes: processes.into_iter().map(Into::into).collect(),
        }
    }

    #[test]
    fn a_task_that_touches_a_forbidden_namespace_is_hidden() {
        assert!(filter(None, None).includes_name(&task(&["a", "b"])));
        assert!(filter(Some("a"), None).includes_name(&task(&["a", "b"])));
        assert!(!filter(Some("c"), None).includes_name(&task(&["a", "b"])));
        assert!(!filter(None, Some("a")).includes_name(&task(&["a", "b"])));
        assert!(filter(None, Some("a")).includes_name(&task(&["a"])));
    }

    #[test]
    fn patterns_of_processes_narrow_tasks_and_registrations() {
        let pattern = |text: &str| WatchFilter {
            processes: Some(vec![NamePattern::parse(text).unwrap()]),
            ..filter(None, None)
        };
        let registration = ChangeEvent::Registration {
            process: "a/web".parse().unwrap(),
            n_hosts: 3,
            what: control::Registered::New,
        };
        for change in [task(&["a"]), registration] {
            assert!(pattern("a/w*").includes_name(&change));
            assert!(!pattern("b/*").includes_name(&change));
        }
    }

    #[test]
    fn a_business_is_visible_with_its_namespace() {
        let job = ChangeEvent::Job {
            id: JobId(1),
            area: JobArea::Business(BusinessId(2)),
            action: model::job::JobAction::Start,
            status: model::job::JobStatus::Running,
            paused_by: String::new(),
            counts: Default::default(),
        };
        let topology = ChangeEvent::Topology {
            business: BusinessId(2),
        };
        for change in [job, topology] {
            assert!(filter(None, None).includes_name(&change));
            assert!(filter(None, Some("GSEKIT_BIZ_2")).includes_name(&change));
            assert!(!filter(None, Some("GSEKIT_BIZ_3")).includes_name(&change));
            let mut filter = filter(None, None);
            filter.businesses = Some(vec![namespace_of(BusinessId(3))]);
            assert!(!filter.includes_name(&change));
        }
    }

    #[test]
    fn a_summary_is_of_the_namespaces_that_are_asked_for_and_allowed() {
        assert_eq!(filter(None, None).namespaces_seen(), None);
        let seen = |filter: WatchFilter| {
            let seen = filter.namespaces_seen().unwrap();
            seen.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(seen(filter(None, Some("a"))), ["a"]);
        assert_eq!(seen(filter(Some("b"), None)), ["b"]);
        // The role was taken away while the stream goes on.
        let mut narrowed = filter(Some("b"), None);
        narrowed.caller = filter(None, Some("a")).caller;
        assert_eq!(seen(narrowed), Vec::<String>::new());
    }

    #[test]
    fn kinds_and_hosts_narrow() {
        let agent = ChangeEvent::Agent {
            host: "0:10.0.0.1".parse().unwrap(),
            up: true,
            at: UnixMillis(1),
        };
        let mut filter = filter(Some("a"), None);
        assert!(filter.includes_name(&agent) && !filter.wants_summary());
        filter.hosts = Some(vec!["0:10.0.0.2".parse().unwrap()]);
        assert!(!filter.includes_name(&agent));
        filter.hosts = None;
        filter.kinds = Some(vec!["task", SUMMARY]);
        assert!(!filter.includes_name(&agent) && filter.includes_name(&task(&["a"])));
        assert!(filter.wants_summary());
        assert_eq!(parse_kind("x").unwrap_err().field, "kinds");
    }
}
