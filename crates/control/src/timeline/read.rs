//! Reads the timeline: events and rows of the timeline, merged by time.

use std::collections::BTreeMap;

use fleet::Fleet;
use model::access::{AccessArea, Caller, Permission};
use model::change::{HostId, NameId};
use model::event::EventKind;
use model::status::Exit;
use model::timeline::TimelineKind;
use model::{FullName, Host, Invalid, Namespace, UnixMillis};
use store::{EventPage, StoredEvent, StoredTimelineRow, TimelinePage};

use crate::core::Core;
use crate::{ControlError, Events};

/// How many rows one query reads. Most of them match.
const AT_A_TIME: u32 = 500;
/// How many rows of several hosts, or of other namespaces, are passed over for one page.
const MAX_PASSED_OVER: usize = 20_000;

/// The kinds of entries, as callers see them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineWord {
    Event,
    Operation,
    Agent,
    Spec,
    Config,
    Health,
}

impl TimelineWord {
    pub const ALL: [Self; 6] = [
        Self::Event,
        Self::Operation,
        Self::Agent,
        Self::Spec,
        Self::Config,
        Self::Health,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Operation => "operation",
            Self::Agent => "agent",
            Self::Spec => "spec",
            Self::Config => "config",
            Self::Health => "health",
        }
    }

    fn of_event(kind: EventKind) -> Self {
        match kind {
            EventKind::ProcessUnhealthy | EventKind::ProcessNotReady | EventKind::ProcessReady => {
                Self::Health
            }
            EventKind::ConfigDrift => Self::Config,
            EventKind::ProcessExit
            | EventKind::ProcessRestartSuccess
            | EventKind::ProcessRestartFailed
            | EventKind::ProcessCancelRestart
            | EventKind::ProcessResourceLimitExceed
            | EventKind::ProcessGroupResourceLimitExceed => Self::Event,
        }
    }

    fn of_row(kind: TimelineKind) -> Self {
        match kind {
            TimelineKind::Operation => Self::Operation,
            TimelineKind::Agent => Self::Agent,
            TimelineKind::Spec => Self::Spec,
            TimelineKind::Config => Self::Config,
        }
    }
}

/// Which entries to list. A field that is None does not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimelineFilter {
    pub limit: usize,
    /// `next` of the page before.
    pub before: Option<String>,
    pub process: Option<FullName>,
    pub host: Option<Host>,
    pub kinds: Option<Vec<TimelineWord>>,
    pub since: Option<UnixMillis>,
    pub until: Option<UnixMillis>,
}

/// A page, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineView {
    pub entries: Vec<TimelineEntry>,
    /// `before` of the next page; none at the end.
    pub next: Option<String>,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineEntry {
    pub id: String,
    pub at: UnixMillis,
    pub kind: TimelineWord,
    pub code: String,
    pub params: BTreeMap<String, String>,
    pub text: String,
    pub process: Option<FullName>,
    /// None if it happened on several hosts and none was asked for.
    pub host: Option<Host>,
    pub user: String,
    pub app: String,
    pub from: String,
    pub task: Option<String>,
    pub job: Option<u32>,
}

/// Where a page ended: the last event, and time and id of the last row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cursor {
    event: Option<u64>,
    row: Option<(UnixMillis, u64)>,
}

impl Cursor {
    fn parse(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (event, row) = text.split_once('.')?;
            let event = match event {
                "" => None,
                id => Some(id.parse().ok()?),
            };
            let row = match row {
                "" => None,
                row => {
                    let (at, id) = row.split_once('-')?;
                    Some((UnixMillis(at.parse().ok()?), id.parse().ok()?))
                }
            };
            Some(Self { event, row })
        };
        parse().ok_or_else(|| Invalid::new("before", "must be `next` of the page before"))
    }

    fn write(self) -> String {
        let event = self.event.map(|id| id.to_string()).unwrap_or_default();
        let row = self.row.map(|(at, id)| format!("{}-{id}", at.0));
        format!("{event}.{}", row.unwrap_or_default())
    }
}

impl Events {
    /// Newest first, of what the caller may see: every caller may see agents come and go.
    pub async fn timeline(
        &self,
        caller: &Caller,
        filter: TimelineFilter,
    ) -> Result<TimelineView, ControlError> {
        match &filter.process {
            Some(name) => self
                .access
                .check(caller, Permission::View, &name.namespace)?,
            None => (self.access).check(caller, Permission::View, AccessArea::Anything)?,
        }
        let cursor = match &filter.before {
            Some(text) => Cursor::parse(text)?,
            None => Cursor::default(),
        };
        let visible = caller.visible_namespaces();
        // One more than asked for says whether there is a next page.
        let events = self.events_of(&filter, &visible, cursor).await?;
        let rows = self.rows_of(&filter, &visible, cursor).await?;
        let mut all: Vec<Found> = (events.into_iter().map(Found::Event))
            .chain(rows.into_iter().map(Found::Row))
            .collect();
        all.sort_by_key(|found| std::cmp::Reverse(found.at()));
        let has_more = all.len() > filter.limit;
        all.truncate(filter.limit);
        let mut end = cursor;
        for found in &all {
            match found {
                Found::Event(stored) => end.event = Some(stored.id),
                Found::Row(stored) => end.row = Some((stored.row.at, stored.id)),
            }
        }
        let fleet = self.core.fleet();
        let entries = all.iter().map(|found| found.entry(&fleet, filter.host));
        Ok(TimelineView {
            entries: entries.collect(),
            next: has_more.then(|| end.write()),
        })
    }

    async fn events_of(
        &self,
        filter: &TimelineFilter,
        visible: &Option<Vec<Namespace>>,
        cursor: Cursor,
    ) -> Result<Vec<StoredEvent>, ControlError> {
        let kinds: Option<Vec<EventKind>> = filter.kinds.as_ref().map(|words| {
            let kinds = EventKind::ALL.into_iter();
            kinds
                .filter(|kind| words.contains(&TimelineWord::of_event(*kind)))
                .collect()
        });
        if kinds.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let hosts = filter.host.map(|host| self.core.fleet().ids_of(&host));
        if hosts.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let namespaces = match &filter.process {
            Some(name) => Some(vec![name.namespace.clone()]),
            None => visible.clone(),
        };
        let page = EventPage {
            limit: filter.limit as u32 + 1,
            before: cursor.event,
            namespaces,
            name: filter.process.as_ref().map(|name| name.name.clone()),
            hosts,
            kinds,
            since: filter.since,
            until: filter.until,
        };
        Ok(self.core.store.events(&page).await?)
    }

    /// Several queries, each of one index, merged.
    async fn rows_of(
        &self,
        filter: &TimelineFilter,
        visible: &Option<Vec<Namespace>>,
        cursor: Cursor,
    ) -> Result<Vec<StoredTimelineRow>, ControlError> {
        let kinds: Option<Vec<TimelineKind>> = filter.kinds.as_ref().map(|words| {
            let kinds = TimelineKind::ALL.into_iter();
            kinds
                .filter(|kind| words.contains(&TimelineWord::of_row(*kind)))
                .collect()
        });
        if kinds.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let (name, hosts) = {
            let fleet = self.core.fleet();
            let name = filter.process.as_ref().map(|name| fleet.name_id(name));
            (name, filter.host.map(|host| fleet.ids_of(&host)))
        };
        if name == Some(None) || hosts.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let name = name.flatten();
        let base = TimelinePage {
            limit: AT_A_TIME,
            before: cursor.row,
            kinds,
            since: filter.since,
            until: filter.until,
            ..TimelinePage::default()
        };
        let named = TimelinePage {
            name: name.map(Some),
            ..base.clone()
        };
        let on = |page: &TimelinePage, host: Option<HostId>| TimelinePage {
            host: Some(host),
            ..page.clone()
        };
        let mut queries = Vec::new();
        match &hosts {
            None => queries.push(named),
            Some(ids) => {
                // Of the process, on one host or on several; and its agent. A host that was removed had other ids before.
                for id in ids.iter().copied().map(Some) {
                    queries.push(on(&named, id));
                    if name.is_some() {
                        let agent = TimelinePage {
                            name: Some(None),
                            ..base.clone()
                        };
                        queries.push(on(&agent, id));
                    }
                }
                queries.push(on(&named, None));
            }
        }
        let mut rows = Vec::new();
        for query in queries {
            let seen = Seen {
                core: &self.core,
                visible,
                hosts: hosts.as_deref(),
            };
            rows.extend(seen.read(query, filter.limit + 1).await?);
        }
        rows.sort_by_key(|stored| std::cmp::Reverse((stored.row.at, stored.id)));
        rows.truncate(filter.limit + 1);
        Ok(rows)
    }
}

/// Which rows of a query count.
struct Seen<'a> {
    core: &'a Core,
    visible: &'a Option<Vec<Namespace>>,
    /// The ids of the host that is asked for.
    hosts: Option<&'a [HostId]>,
}

impl Seen<'_> {
    /// Reads until there are enough that count.
    async fn read(
        &self,
        mut query: TimelinePage,
        limit: usize,
    ) -> Result<Vec<StoredTimelineRow>, ControlError> {
        let (mut found, mut n_read) = (Vec::new(), 0);
        loop {
            let page = self.core.store.timeline(&query).await?;
            let is_last = page.len() < query.limit as usize;
            n_read += page.len();
            query.before = page.last().map(|last| (last.row.at, last.id));
            {
                let fleet = self.core.fleet();
                found.extend(
                    page.into_iter()
                        .filter(|stored| self.counts(&fleet, stored)),
                );
            }
            if is_last || found.len() >= limit || n_read >= MAX_PASSED_OVER {
                found.truncate(limit);
                return Ok(found);
            }
        }
    }

    fn counts(&self, fleet: &Fleet, stored: &StoredTimelineRow) -> bool {
        let row = &stored.row;
        let on_host = |ids: &[HostId]| ids.iter().any(|id| row.hosts.binary_search(id).is_ok());
        let is_visible = |name: NameId| {
            let name = fleet.name(name);
            name.is_some_and(|name| {
                let visible = self.visible.as_ref();
                visible.is_none_or(|visible| visible.contains(&name.namespace))
            })
        };
        self.hosts.is_none_or(on_host) && row.process.is_none_or(is_visible)
    }
}

/// An entry before it is shown.
enum Found {
    Event(StoredEvent),
    Row(StoredTimelineRow),
}

impl Found {
    fn at(&self) -> UnixMillis {
        match self {
            Self::Event(stored) => stored.event.at,
            Self::Row(stored) => stored.row.at,
        }
    }

    fn entry(&self, fleet: &Fleet, asked: Option<Host>) -> TimelineEntry {
        let address = |id: HostId| fleet.address(id);
        match self {
            Self::Event(stored) => {
                let event = &stored.event;
                let exit = match event.exit {
                    Some(Exit::Code(code)) => Some(("exit_code", code)),
                    Some(Exit::Signal(signal)) => Some(("exit_signal", signal)),
                    Some(Exit::Unseen) | None => None,
                };
                let params = exit.map(|(key, value)| (key.to_owned(), value.to_string()));
                TimelineEntry {
                    id: format!("e{}", stored.id),
                    at: event.at,
                    kind: TimelineWord::of_event(event.kind),
                    code: event.kind.as_str().to_owned(),
                    params: params.into_iter().collect(),
                    text: event.reason.clone(),
                    process: Some(event.process.clone()),
                    host: address(stored.host),
                    user: String::new(),
                    app: String::new(),
                    from: String::new(),
                    task: None,
                    job: None,
                }
            }
            Self::Row(stored) => {
                let (row, body) = (&stored.row, stored.row.body.clone());
                let mut params = body.params;
                if row.hosts.len() > 1 {
                    params.insert("hosts".to_owned(), row.hosts.len().to_string());
                }
                let only = match row.hosts.as_slice() {
                    [one] => address(*one),
                    _ => asked,
                };
                TimelineEntry {
                    id: format!("h{}", stored.id),
                    at: row.at,
                    kind: TimelineWord::of_row(row.kind),
                    text: text(&body.code, &params, &body.user, &body.app, body.job),
                    code: body.code,
                    params,
                    process: row.process.and_then(|name| fleet.name(name).cloned()),
                    host: only,
                    user: body.user,
                    app: body.app,
                    from: body.from,
                    task: body.task,
                    job: body.job,
                }
            }
        }
    }
}

/// A sentence for people.
fn text(
    code: &str,
    params: &BTreeMap<String, String>,
    user: &str,
    app: &str,
    job: Option<u32>,
) -> String {
    let what = match code {
        "agent_away" => return "the agent disconnected".to_owned(),
        "agent_connected" => {
            return match params.get("away_secs") {
                Some(secs) => format!("the agent connected after {secs} s"),
                None => "the agent connected for the first time".to_owned(),
            };
        }
        "released" => {
            let path = params.get("path").map_or("a file", String::as_str);
            format!("{path} was released")
        }
        "registered" | "updated" | "unregistered" => format!("its spec was {code}"),
        op => format!("{op} was requested"),
    };
    let hosts = params.get("hosts").map(|n| format!(" on {n} hosts"));
    let by = match (user, app) {
        ("", "") => String::new(),
        ("", app) => format!(" by app {app}"),
        (user, _) => format!(" by {user}"),
    };
    let job = job.map(|job| format!(" in job {job}")).unwrap_or_default();
    format!("{what}{}{by}{job}", hosts.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_what_it_writes() {
        for cursor in [
            Cursor::default(),
            Cursor {
                event: Some(7),
                row: None,
            },
            Cursor {
                event: Some(7),
                row: Some((UnixMillis(5), 9)),
            },
        ] {
            assert_eq!(Cursor::parse(&cursor.write()), Ok(cursor));
        }
        for bad in ["", "x", "7", "7.8", ".x-1", "a.b-c"] {
            assert_eq!(Cursor::parse(bad).unwrap_err().field, "before", "{bad}");
        }
    }
}
