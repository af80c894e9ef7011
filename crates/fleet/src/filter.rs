//! Which processes a list, a facet or an operation means: narrows by indexes, then tests each row that is left.

use hashbrown::HashSet;
use memchr::memmem;
use model::access::ProcessScope;
use model::change::{DefinitionId, HostId, NameId, ProcessId};
use model::selector::{LabelSelector, NamePattern};
use model::topology::{BusinessId, ModuleId, SetEnv};
use model::{Flag, Host, Namespace, ProcessName, ProcessState};
use roaring::RoaringBitmap;

use crate::columns::Block;
use crate::{Fleet, HostView, scan};

/// A business with less than this share of all processes is looked up by its instances; otherwise each row is tested.
const LOOKED_UP_SHARE: u64 = 8;

/// Which processes. Every field that is set must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// What the caller may see, whatever else it asks for; None for everything.
    pub visible: Option<ProcessScope>,
    pub namespaces: Option<Vec<Namespace>>,
    pub names: Option<Vec<ProcessName>>,
    pub hosts: Option<Vec<Host>>,
    /// In one of these states, as the native API shows them.
    pub states: Option<Vec<ProcessState>>,
    /// What is wanted.
    pub wanted: Option<Vec<Flag>>,
    pub managed: Option<bool>,
    /// Whether the agent is connected.
    pub connected: Option<bool>,
    pub restart_needed: Option<bool>,
    /// With a name that matches one of these.
    pub processes: Option<Vec<NamePattern>>,
    pub labels: Option<LabelSelector>,
    pub businesses: Option<Vec<BusinessId>>,
    pub envs: Option<Vec<SetEnv>>,
    pub clouds: Option<Vec<u32>>,
    /// Of the agent.
    pub versions: Option<Vec<String>>,
    /// Each must be part of the full name, the host's address or name, or a label's value. Upper and lower case are the same.
    pub words: Vec<String>,
}

impl Filter {
    /// Whether it holds for every process that is visible.
    pub fn is_unlimited(&self) -> bool {
        let visible = self.visible.clone();
        *self
            == Self {
                visible,
                ..Self::default()
            }
    }

    /// The only thing that is asked for: everything in one namespace.
    pub(crate) fn only_namespace(&self) -> Option<&Namespace> {
        let namespaces = self.namespaces.as_deref()?;
        let rest = Self {
            namespaces: None,
            ..self.clone()
        };
        match namespaces {
            [one] if rest == Self::default() => Some(one),
            _ => None,
        }
    }
}

impl Fleet {
    /// The ids of all processes that match.
    pub fn matching(&self, filter: &Filter) -> RoaringBitmap {
        let by_index = [
            filter.hosts.as_deref().map(|all| self.ids_of_hosts(all)),
            (filter.visible.as_ref())
                .filter(|scope| !scope.is_all())
                .map(|scope| self.ids_within(scope)),
            (filter.namespaces.as_deref()).map(|all| self.ids_of_namespaces(all)),
            (filter.names.as_deref()).map(|all| self.names.processes_called(all)),
            (filter.processes.as_deref()).map(|all| self.names.processes_matching(all)),
            self.ids_of_few_owners(filter),
        ];
        let narrowed = by_index.into_iter().flatten().reduce(|all, one| all & one);
        let ids = narrowed.unwrap_or_else(|| self.names.all_processes());
        let ids = match &filter.labels {
            Some(labels) => self.labelled(ids, labels),
            None => ids,
        };
        match RowTest::new(self, filter) {
            None => ids,
            Some(test) => scan::filtered(&ids, || {
                let mut places = PlaceCache::new(self);
                let test = &test;
                move |id| test.passes(ProcessId(id), &mut places)
            }),
        }
    }

    /// The processes that a scope covers.
    fn ids_within(&self, scope: &ProcessScope) -> RoaringBitmap {
        let of = |namespaces: Option<Vec<Namespace>>| match namespaces {
            Some(namespaces) => self.ids_of_namespaces(&namespaces),
            None => self.names.all_processes(),
        };
        let labelled = scope
            .labelled()
            .map(|(namespaces, labels)| self.labelled(of(namespaces), labels));
        labelled.fold(of(scope.namespaces()), |all, one| all | one)
    }

    pub(crate) fn ids_of_namespaces(&self, namespaces: &[Namespace]) -> RoaringBitmap {
        let bitmaps = namespaces
            .iter()
            .filter_map(|namespace| self.names.processes_in(namespace));
        bitmaps.fold(RoaringBitmap::new(), |all, one| all | one)
    }

    fn ids_of_hosts(&self, hosts: &[Host]) -> RoaringBitmap {
        let ids: Vec<HostId> = hosts.iter().filter_map(|host| self.host_id(host)).collect();
        ids.into_iter()
            .flat_map(|host| self.processes_of(host))
            .map(|row| row.id().0)
            .collect()
    }

    /// The instances of the businesses, where they are few; None where it is cheaper to test each row.
    fn ids_of_few_owners(&self, filter: &Filter) -> Option<RoaringBitmap> {
        let businesses = filter.businesses.as_deref()?;
        let owners = self.view.processes_of_businesses(businesses);
        if owners.len() > self.n_processes() as u64 / LOOKED_UP_SHARE {
            return None;
        }
        let owners = owners.iter().map(model::topology::BkProcessId);
        let ids = owners.flat_map(|owner| self.instances_of(owner));
        Some(ids.map(|id| id.0).collect())
    }

    /// Whether each host's agent is connected, by host id.
    pub(crate) fn hosts_up(&self) -> Vec<bool> {
        self.hosts_that(|view| view.link.is_up())
    }

    fn hosts_that(&self, passes: impl Fn(&HostView<'_>) -> bool) -> Vec<bool> {
        let mut mask = vec![false; self.hosts.next_id() as usize];
        for view in self.hosts.iter() {
            mask[view.id.index()] = passes(&view);
        }
        mask
    }
}

/// Where a process is in the process view, with the last answer: neighbouring processes have the same service.
pub(crate) struct PlaceCache<'a> {
    fleet: &'a Fleet,
    last: Option<(model::topology::ServiceId, Option<ModuleId>)>,
}

impl<'a> PlaceCache<'a> {
    pub(crate) fn new(fleet: &'a Fleet) -> Self {
        Self { fleet, last: None }
    }

    /// None for a process that is no instance of the view.
    pub(crate) fn module(&mut self, block: &Block, at: usize) -> Option<ModuleId> {
        let service = self.fleet.view.service_of(block.owner(at)?)?;
        match self.last {
            Some((last, module)) if last == service => module,
            _ => {
                let module = self.fleet.view.module_of_service(service);
                self.last = Some((service, module));
                module
            }
        }
    }
}

/// The part of a filter that no index answers, prepared so that each row costs a few lookups.
struct RowTest<'a> {
    fleet: &'a Fleet,
    filter: &'a Filter,
    /// Of hosts, by id: connected, cloud area and version as asked.
    hosts: Option<Vec<bool>>,
    /// Of hosts, by id: needed for states.
    up: Option<Vec<bool>>,
    /// The modules of the businesses and environments.
    modules: Option<HashSet<ModuleId>>,
    words: Vec<WordTest>,
}

impl<'a> RowTest<'a> {
    /// None when every row passes.
    fn new(fleet: &'a Fleet, filter: &'a Filter) -> Option<Self> {
        let by_host =
            filter.connected.is_some() || filter.clouds.is_some() || filter.versions.is_some();
        let by_place = filter.businesses.is_some() || filter.envs.is_some();
        let by_row = filter.states.is_some()
            || filter.wanted.is_some()
            || filter.managed.is_some()
            || filter.restart_needed.is_some()
            || !filter.words.is_empty();
        (by_host || by_place || by_row).then(|| Self {
            fleet,
            filter,
            hosts: by_host.then(|| fleet.hosts_that(|view| is_host_wanted(filter, view))),
            up: filter.states.is_some().then(|| fleet.hosts_up()),
            modules: by_place.then(|| {
                let (businesses, envs) = (filter.businesses.as_deref(), filter.envs.as_deref());
                fleet.view.modules_within(businesses, envs).collect()
            }),
            words: (filter.words.iter())
                .map(|word| WordTest::new(fleet, word))
                .collect(),
        })
    }

    fn passes(&self, id: ProcessId, places: &mut PlaceCache<'_>) -> bool {
        let Some((block, at)) = self.fleet.columns.block(id) else {
            return false;
        };
        let filter = self.filter;
        let host = block.host[at] as usize;
        (self.hosts.as_ref()).is_none_or(|hosts| hosts[host])
            && (filter.wanted.as_ref()).is_none_or(|wanted| wanted.contains(&block.flag(at)))
            && (filter.managed).is_none_or(|managed| block.managed(at) == managed)
            && (filter.restart_needed)
                .is_none_or(|needed| block.observed.marks(at).restart_needed() == needed)
            && self.has_state(block, at, host)
            && (self.modules.as_ref()).is_none_or(|wanted| {
                (places.module(block, at)).is_some_and(|module| wanted.contains(&module))
            })
            && self.words.iter().all(|word| word.passes(block, at))
    }

    fn has_state(&self, block: &Block, at: usize, host: usize) -> bool {
        let (Some(states), Some(up)) = (&self.filter.states, &self.up) else {
            return true;
        };
        let state = match up[host] {
            true => block.observed.marks(at).state(),
            false => ProcessState::Unknown,
        };
        states.contains(&state)
    }
}

fn is_host_wanted(filter: &Filter, view: &HostView<'_>) -> bool {
    let version = view.info.map(|info| info.version.as_str());
    (filter.connected).is_none_or(|connected| view.link.is_up() == connected)
        && (filter.clouds.as_ref()).is_none_or(|clouds| clouds.contains(&view.host.cloud))
        && (filter.versions.as_ref()).is_none_or(|wanted| {
            version.is_some_and(|version| wanted.iter().any(|one| one == version))
        })
}

/// What one word is part of: names, hosts and definitions, by id.
struct WordTest {
    names: Vec<bool>,
    hosts: Vec<bool>,
    definitions: Vec<bool>,
    /// The word, where it can be part of the label with the owner's id.
    digits: Option<String>,
}

impl WordTest {
    fn new(fleet: &Fleet, word: &str) -> Self {
        let mut found = FoldedText::new(word);
        let names = (0..fleet.names.next_id()).map(|id| {
            let name = fleet.names.get(NameId(id));
            name.is_some_and(|name| found.is_in_name(name))
        });
        let names = names.collect();
        let mut hosts = vec![false; fleet.hosts.next_id() as usize];
        fleet
            .hosts
            .containing(found.word(), |id| hosts[id.index()] = true);
        let definitions = (0..fleet.definitions.next_id()).map(|id| {
            let definition = fleet.definitions.get(DefinitionId(id));
            let mut labels = definition.into_iter().flat_map(|one| one.labels.iter());
            labels.any(|(_, value)| found.is_in(&[value]))
        });
        Self {
            names,
            hosts,
            definitions: definitions.collect(),
            digits: (word.bytes().all(|byte| byte.is_ascii_digit())).then(|| word.to_owned()),
        }
    }

    fn passes(&self, block: &Block, at: usize) -> bool {
        self.names[block.name[at] as usize]
            || self.hosts[block.host[at] as usize]
            || self.definitions[block.definition[at] as usize]
            || self.digits.as_ref().is_some_and(|digits| {
                let owner = block.owner(at).map(|owner| owner.to_string());
                owner.is_some_and(|owner| owner.contains(digits.as_str()))
            })
    }
}

/// Finds a word in texts, without regard to upper and lower case.
pub(crate) struct FoldedText {
    word: String,
    finder: memmem::Finder<'static>,
    text: String,
}

impl FoldedText {
    pub(crate) fn new(word: &str) -> Self {
        let mut folded = String::new();
        Self::fold(&mut folded, word);
        Self {
            finder: memmem::Finder::new(&folded).into_owned(),
            word: folded,
            text: String::new(),
        }
    }

    /// The word in lower case.
    pub(crate) fn word(&self) -> &str {
        &self.word
    }

    /// Adds a part in lower case.
    pub(crate) fn fold(text: &mut String, part: &str) {
        match part.is_ascii() {
            true => {
                let from = text.len();
                text.push_str(part);
                text[from..].make_ascii_lowercase();
            }
            false => text.extend(part.chars().flat_map(char::to_lowercase)),
        }
    }

    /// Whether the word is part of these texts, joined.
    pub(crate) fn is_in(&mut self, parts: &[&str]) -> bool {
        self.text.clear();
        for part in parts {
            Self::fold(&mut self.text, part);
        }
        self.finder.find(self.text.as_bytes()).is_some()
    }

    pub(crate) fn is_in_name(&mut self, name: &model::FullName) -> bool {
        self.is_in(&[name.namespace.as_str(), "/", name.name.as_str()])
    }

    /// By address or hostname.
    pub(crate) fn is_in_host(&mut self, view: &HostView<'_>) -> bool {
        self.text.clear();
        view.host.write_to(&mut self.text);
        let hostname = view.info.map_or("", |info| info.hostname.as_str());
        self.finder.find(self.text.as_bytes()).is_some() || self.is_in(&[hostname])
    }
}
