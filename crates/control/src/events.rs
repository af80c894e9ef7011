//! Lists recorded events, and streams changes as they occur.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fleet::Filter;
use model::access::{AccessArea, Caller, Permission};
use model::change::HostId;
use model::event::{Event, EventKind};
use model::selector::LabelSelector;
use model::{Host, Namespace, ProcessName, UnixMillis};
use store::{CountEventsBy, EventCount, EventPage, StoredEvent};

use crate::access::may_with;
use crate::core::Core;
use crate::{Access, ChangeId, ChangeReader, ControlError};

/// How many events are read at a time where their labels are tested, and how often for one request.
const PAGE: u32 = 1000;
const MAX_PAGES: usize = 50;
/// Up to this many hosts, their events are looked up by host; of up to this many processes.
const MAX_INDEXED_HOSTS: usize = 32;
const MAX_LOOKED_UP: usize = 1000;

/// Which events to list. A field that is None does not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    pub limit: u32,
    /// The id of the last event of the previous page.
    pub before: Option<u64>,
    pub namespaces: Option<Vec<Namespace>>,
    pub name: Option<ProcessName>,
    pub hosts: Option<Vec<Host>>,
    pub kinds: Option<Vec<EventKind>>,
    /// Only of processes whose labels pass now. A process that is no longer registered has none and does not pass.
    pub labels: Option<LabelSelector>,
    /// Only events of this time and later.
    pub since: Option<UnixMillis>,
    /// Only earlier events.
    pub until: Option<UnixMillis>,
}

/// An event with the host that it happened on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventView {
    pub id: u64,
    pub host: Host,
    pub event: Event,
}

/// A page of events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventsRead {
    pub events: Vec<EventView>,
    /// Older ones may follow after this id. A page may be short, and even empty, because labels are tested one by one.
    pub next: Option<u64>,
}

/// Recorded events, and the live stream of changes.
#[derive(Debug)]
pub struct Events {
    pub(crate) core: Arc<Core>,
    pub(crate) access: Arc<Access>,
}

impl Events {
    pub(crate) fn new(core: &Arc<Core>, access: &Arc<Access>) -> Self {
        Self {
            core: core.clone(),
            access: access.clone(),
        }
    }

    /// Subscribes to changes from now on.
    pub fn watch(&self) -> ChangeReader {
        self.core.watchers.subscribe(None).0
    }

    /// Subscribes to changes after this one. False if they are not all known here: then the changes from now on follow.
    pub fn watch_since(&self, since: ChangeId) -> (ChangeReader, bool) {
        self.core.watchers.subscribe(Some(since))
    }

    /// Newest first, in the namespaces that the caller may see. Naming another one is refused.
    pub async fn list(
        &self,
        caller: &Caller,
        filter: EventFilter,
    ) -> Result<EventsRead, ControlError> {
        let labels = filter.labels.clone();
        let sees_by_labels = caller.visible_processes().labelled().next().is_some();
        let mut page = match sees_by_labels {
            false => self.page(caller, filter)?,
            true => {
                self.access
                    .check_touched(caller, filter.namespaces.as_deref())?;
                self.page_of(filter.namespaces.clone(), filter)
            }
        };
        if labels.is_none() && !sees_by_labels {
            let events = self.core.store.events(&page).await?;
            let next = (events.last()).filter(|_| events.len() == page.limit as usize);
            return Ok(EventsRead {
                next: next.map(|last| last.id),
                events: views(&self.core, events),
            });
        }
        if let Some(labels) = labels.as_ref().filter(|_| page.hosts.is_none()) {
            page.hosts = few_hosts(&self.core, labels);
        }
        let limit = std::mem::replace(&mut page.limit, PAGE) as usize;
        let mut found = EventsRead::default();
        for _ in 0..MAX_PAGES {
            let mut events = self.core.store.events(&page).await?;
            let is_last = events.len() < PAGE as usize;
            page.before = events.last().map(|last| last.id).or(page.before);
            if let Some(labels) = &labels {
                retain_labelled(&self.core, &mut events, labels);
            }
            retain_visible(&self.core, &mut events, caller);
            let room = limit - found.events.len();
            if events.len() >= room {
                let is_cut = events.len() > room || !is_last;
                events.truncate(room);
                found.next = events.last().filter(|_| is_cut).map(|last| last.id);
                found.events.extend(views(&self.core, events));
                return Ok(found);
            }
            found.events.extend(views(&self.core, events));
            if is_last {
                return Ok(found);
            }
        }
        found.next = page.before;
        Ok(found)
    }

    /// How many there are in each bucket of time, of the `top` values with most of them. Ordered by time; the value of a host
    /// is its address.
    pub async fn counts(
        &self,
        caller: &Caller,
        filter: EventFilter,
        bucket: Duration,
        by: CountEventsBy,
        top: u32,
    ) -> Result<Vec<EventCount>, ControlError> {
        let page = self.page(caller, filter)?;
        let mut counts = self.core.store.event_counts(&page, bucket, by, top).await?;
        if by == CountEventsBy::Host {
            let fleet = self.core.fleet();
            for count in &mut counts {
                let id = count.value.parse().map(HostId).ok();
                if let Some(host) = id.and_then(|id| fleet.address(id)) {
                    count.value = host.to_string();
                }
            }
        }
        Ok(counts)
    }

    fn page(&self, caller: &Caller, filter: EventFilter) -> Result<EventPage, ControlError> {
        if filter.namespaces.is_none() {
            self.access
                .check(caller, Permission::View, AccessArea::Anything)?;
        }
        let namespaces = self.access.visible(caller, filter.namespaces.clone())?;
        Ok(self.page_of(namespaces, filter))
    }

    fn page_of(&self, namespaces: Option<Vec<Namespace>>, filter: EventFilter) -> EventPage {
        // Unknown hosts have no events.
        let hosts = filter.hosts.map(|hosts| {
            let fleet = self.core.fleet();
            hosts.iter().flat_map(|host| fleet.ids_of(host)).collect()
        });
        EventPage {
            limit: filter.limit,
            before: filter.before,
            namespaces,
            name: filter.name,
            hosts,
            kinds: filter.kinds,
            since: filter.since,
            until: filter.until,
        }
    }
}

/// Keeps the events that the caller may see: of its namespaces, and of processes whose labels its grants are for.
fn retain_visible(core: &Core, events: &mut Vec<StoredEvent>, caller: &Caller) {
    let fleet = core.fleet();
    events.retain(|stored| {
        let process = &stored.event.process;
        let by_labels = || {
            let name = fleet.name_id(process)?;
            fleet.process(stored.host, name)
        };
        caller.may(Permission::View, &process.namespace)
            || by_labels().is_some_and(|row| may_with(caller, Permission::View, &row))
    });
}

/// Keeps the events of processes whose labels pass.
pub(crate) fn retain_labelled(core: &Core, events: &mut Vec<StoredEvent>, labels: &LabelSelector) {
    let fleet = core.fleet();
    events.retain(|stored| {
        let name = fleet.name_id(&stored.event.process);
        let row = name.and_then(|name| fleet.process(stored.host, name));
        row.is_some_and(|row| row.passes(labels))
    });
}

/// The hosts of the processes whose labels pass, if they are few: then an index finds their events.
fn few_hosts(core: &Core, labels: &LabelSelector) -> Option<Vec<HostId>> {
    let filter = Filter {
        labels: Some(labels.clone()),
        ..Filter::default()
    };
    let fleet = core.fleet();
    let page = fleet.page(&filter, &[], 0, MAX_LOOKED_UP);
    if page.count > MAX_LOOKED_UP as u64 {
        return None;
    }
    let hosts: BTreeSet<HostId> = page.rows.iter().map(|row| row.host().id).collect();
    (hosts.len() <= MAX_INDEXED_HOSTS).then(|| hosts.into_iter().collect())
}

pub(crate) fn views(core: &Core, events: Vec<StoredEvent>) -> Vec<EventView> {
    let fleet = core.fleet();
    let view = |stored: StoredEvent| {
        Some(EventView {
            id: stored.id,
            // Removed hosts keep their address, so this finds one.
            host: fleet.address(stored.host)?,
            event: stored.event,
        })
    };
    events.into_iter().filter_map(view).collect()
}
