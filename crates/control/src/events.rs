//! Lists recorded events, and streams changes as they occur.

use std::sync::Arc;
use std::time::Duration;

use model::access::{AccessArea, Caller, Permission};
use model::change::HostId;
use model::event::{Event, EventKind};
use model::{Host, Namespace, ProcessName, UnixMillis};
use store::{CountEventsBy, EventCount, EventPage, StoredEvent};

use crate::core::Core;
use crate::{Access, ChangeId, ChangeReader, ControlError};

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
    ) -> Result<Vec<EventView>, ControlError> {
        let page = self.page(caller, filter)?;
        let events = self.core.store.events(&page).await?;
        Ok(views(&self.core, events))
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
        let namespaces = self.access.visible(caller, filter.namespaces)?;
        // Unknown hosts have no events.
        let hosts = filter.hosts.map(|hosts| {
            let fleet = self.core.fleet();
            hosts.iter().flat_map(|host| fleet.ids_of(host)).collect()
        });
        Ok(EventPage {
            limit: filter.limit,
            before: filter.before,
            namespaces,
            name: filter.name,
            hosts,
            kinds: filter.kinds,
            since: filter.since,
            until: filter.until,
        })
    }
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
