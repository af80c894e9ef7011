//! Reading what happened.

use model::access::{AccessArea, Caller, Permission};
use model::event::{Event, EventKind};
use model::{Host, Namespace, ProcessName, UnixMillis};
use store::{EventPage, StoredEvent};

use crate::{Control, ControlError};

/// Which events to list. What is None does not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    pub limit: u32,
    /// The id of the last event of the page before.
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

impl Control {
    /// Newest first. A caller sees the namespaces that it may see, and is refused when it names another.
    pub async fn events(
        &self,
        caller: &Caller,
        filter: EventFilter,
    ) -> Result<Vec<EventView>, ControlError> {
        let namespaces = match filter.namespaces {
            None => {
                self.check(caller, Permission::View, AccessArea::Anything)?;
                caller.visible_namespaces()
            }
            Some(asked) => {
                for namespace in &asked {
                    self.check(caller, Permission::View, namespace)?;
                }
                Some(asked)
            }
        };
        // Hosts that nobody knows have no events.
        let hosts = filter.hosts.map(|hosts| {
            let fleet = self.fleet();
            hosts
                .iter()
                .filter_map(|host| fleet.host_id(host))
                .collect()
        });
        let page = EventPage {
            limit: filter.limit,
            before: filter.before,
            namespaces,
            name: filter.name,
            hosts,
            kinds: filter.kinds,
            since: filter.since,
            until: filter.until,
        };
        let events = self.0.store.events(&page).await?;
        Ok(self.viewed(events))
    }

    pub(crate) fn viewed(&self, events: Vec<StoredEvent>) -> Vec<EventView> {
        let fleet = self.fleet();
        let view = |stored: StoredEvent| {
            Some(EventView {
                id: stored.id,
                // Hosts are never forgotten, so this finds one.
                host: fleet.host(stored.host)?.host,
                event: stored.event,
            })
        };
        events.into_iter().filter_map(view).collect()
    }
}
