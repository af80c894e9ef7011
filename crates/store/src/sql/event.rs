//! Events. (host, seq) is unique, and a stored event never changes. Ids rise in the order of arrival and are never reused, so
//! a reader that continues after an id misses nothing.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::time::Duration;

use model::change::{EventRow, HostId};
use model::event::EventKind;
use model::{Namespace, ProcessName, UnixMillis};

use super::fields::Fields;
use super::log::{LogEntry, LoggedTable, RowKind};
use super::rows::{int, ordered, row_chunks, values};
use super::{Connection, Row, Statement, Value};
use crate::{CountEventsBy, EventCount, EventPage, StoreError, StoredEvent};

const SELECT: &str = "SELECT id, host, body FROM events WHERE ";

/// Logs only the events that are new.
pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[EventRow],
) -> Result<(), StoreError> {
    let rows = ordered(rows, |a, b| (a.host, a.seq).cmp(&(b.host, b.seq)));
    for chunk in row_chunks(conn, &rows) {
        let insert = "INSERT INTO events (host, seq, body, at, namespace, name, kind) ";
        let mut statement = values(insert, chunk, |tuple, row| {
            let body = serde_json::to_string(&row.event).expect("events have only string keys");
            tuple
                .push_bind(i64::from(row.host.0))
                .push_bind(int(row.seq))
                .push_bind(body)
                .push_bind(row.event.at.0)
                .push_bind(row.event.process.namespace.as_str())
                .push_bind(row.event.process.name.as_str())
                .push_bind(row.event.kind.as_str());
        });
        let mut logged = statement.values().to_vec();
        statement.push(" ON CONFLICT (host, seq) DO NOTHING RETURNING host, seq");
        let mut inserted = HashSet::new();
        for row in &statement.fetch_all(conn).await? {
            inserted.insert([Value::Int(row.get(0)?), Value::Int(row.get(1)?)]);
        }
        let n_columns = logged.len() / chunk.len();
        if inserted.len() < chunk.len() {
            let new = logged
                .chunks(n_columns)
                .filter(|row| inserted.contains(&row[..2]));
            logged = Vec::from_iter(new.flatten().cloned());
        }
        log.add(LoggedTable::Events, RowKind::Live, inserted.len(), &logged);
    }
    Ok(())
}

pub(crate) fn decode(fields: &Fields<'_, '_>) -> Result<EventRow, StoreError> {
    Ok(EventRow {
        host: HostId(fields.number(0)?),
        seq: fields.unsigned(1)?,
        event: fields.json(2)?,
    })
}

/// In the order of arrival.
pub(crate) async fn after(
    conn: &mut Connection,
    id: u64,
    limit: u32,
) -> Result<Vec<StoredEvent>, StoreError> {
    let mut query = Statement::new(SELECT);
    query.push("id > ").push_bind(int(id));
    query
        .push(" ORDER BY id LIMIT ")
        .push_bind(i64::from(limit));
    let rows = query.fetch_all(conn).await?;
    rows.iter().map(stored).collect()
}

/// Newest first. One index serves one value of a column in the order of time, so several values take several queries. Each of
/// them reads no more than a page, and the results are merged.
pub(crate) async fn page(
    conn: &mut Connection,
    page: &EventPage,
) -> Result<Vec<StoredEvent>, StoreError> {
    let Some(before) = position(conn, page).await? else {
        return Ok(Vec::new());
    };
    let mut events = Vec::new();
    for query_filter in filters(page) {
        let mut query = Statement::new(SELECT);
        query.push("(at, id) < (").push_bind(before.0);
        query.push(", ").push_bind(before.1).push(")");
        if let Some(since) = page.since {
            query.push(" AND at >= ").push_bind(since.0);
        }
        query_filter.narrow(&mut query);
        query
            .push(" ORDER BY at DESC, id DESC LIMIT ")
            .push_bind(i64::from(page.limit));
        let rows = query.uncached().fetch_all(conn).await?;
        let found: Result<Vec<_>, _> = rows.iter().map(stored).collect();
        events.append(&mut found?);
        events.sort_by_key(|stored: &StoredEvent| Reverse((stored.event.at, stored.id)));
        events.truncate(page.limit as usize);
    }
    Ok(events)
}

/// Counts in two steps: first which values have most events, then those by bucket.
pub(crate) async fn counts(
    conn: &mut Connection,
    page: &EventPage,
    bucket: Duration,
    by: CountEventsBy,
    top: u32,
) -> Result<Vec<EventCount>, StoreError> {
    let value = match by {
        CountEventsBy::Kind => "kind",
        CountEventsBy::Process => "namespace || '/' || name",
        CountEventsBy::Host => "cast(host AS TEXT)",
    };
    let mut query = Statement::new(format!("SELECT {value}, count(*) FROM events WHERE "));
    narrow_all(&mut query, page);
    query.push(" GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ");
    query.push_bind(i64::from(top));
    let rows = query.uncached().fetch_all(conn).await?;
    let mut values = Vec::<String>::new();
    for row in &rows {
        values.push(row.get(0)?);
    }
    if values.is_empty() {
        return Ok(Vec::new());
    }
    let bucket = bucket.as_millis().clamp(1, i64::MAX as u128) as i64;
    let mut query = Statement::new("SELECT at / ");
    query.push_bind(bucket);
    query.push(&format!(", {value}, count(*) FROM events WHERE "));
    narrow_all(&mut query, page);
    let mut list = query.push(&format!(" AND {value} IN (")).list();
    values.into_iter().for_each(|value| {
        list.push_bind(value);
    });
    query.push(") GROUP BY 1, 2 ORDER BY 1, 2");
    let rows = query.uncached().fetch_all(conn).await?;
    let count = |row: &Row| {
        let fields = Fields::new("events", 0, row);
        Ok(EventCount {
            at: UnixMillis(fields.get::<i64>(0)?.saturating_mul(bucket)),
            value: fields.text(1)?,
            count: fields.unsigned(2)?,
        })
    };
    rows.iter().map(count).collect()
}

/// The whole filter of a page in one condition: a count reads everything that matches anyway.
fn narrow_all(query: &mut Statement, page: &EventPage) {
    query.push("at < ");
    query.push_bind(page.until.map_or(i64::MAX, |until| until.0));
    if let Some(since) = page.since {
        query.push(" AND at >= ").push_bind(since.0);
    }
    let whole = QueryFilter {
        host: None,
        namespace: None,
        name: page.name.as_ref().map(ProcessName::as_str),
        kind: None,
        namespaces: page.namespaces.as_deref(),
        kinds: page.kinds.as_deref(),
    };
    whole.narrow(query);
    if let Some(hosts) = &page.hosts {
        match hosts.is_empty() {
            true => {
                query.push(" AND 1 = 0");
            }
            false => {
                let mut list = query.push(" AND host IN (").list();
                hosts.iter().for_each(|host| {
                    list.push_bind(i64::from(host.0));
                });
                query.push(")");
            }
        }
    }
}

/// The (at, id) that the page comes before. None: its event is purged, and so are all older ones.
async fn position(
    conn: &mut Connection,
    page: &EventPage,
) -> Result<Option<(i64, i64)>, StoreError> {
    let until = page
        .until
        .map_or((i64::MAX, i64::MAX), |until| (until.0, 0));
    let Some(id) = page.before else {
        return Ok(Some(until));
    };
    let at: Option<i64> = Statement::new("SELECT at FROM events WHERE id = $1")
        .bind(int(id))
        .fetch_value(conn)
        .await?;
    Ok(at.map(|at| until.min((at, int(id)))))
}

/// The filter of one query. The single values select an index; the lists only filter what the index finds.
#[derive(Clone, Copy)]
struct QueryFilter<'a> {
    host: Option<HostId>,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
    kind: Option<&'a str>,
    namespaces: Option<&'a [Namespace]>,
    kinds: Option<&'a [EventKind]>,
}

/// The filter of a page, split by the leading column of the index: the host, else the name, else namespace and kind.
fn filters(page: &EventPage) -> Vec<QueryFilter<'_>> {
    let whole = QueryFilter {
        host: None,
        namespace: None,
        name: page.name.as_ref().map(ProcessName::as_str),
        kind: None,
        namespaces: page.namespaces.as_deref(),
        kinds: page.kinds.as_deref(),
    };
    if let Some(hosts) = &page.hosts {
        let of_host = |host: &HostId| QueryFilter {
            host: Some(*host),
            ..whole
        };
        return distinct(hosts).map(of_host).collect();
    }
    let mut filters = vec![whole];
    if let Some(namespaces) = &page.namespaces {
        filters = distinct(namespaces)
            .map(|namespace| QueryFilter {
                namespace: Some(namespace.as_str()),
                namespaces: None,
                ..whole
            })
            .collect();
    }
    match &page.kinds {
        Some(kinds) if page.name.is_none() => {
            let of_kind = |filter| distinct(kinds).map(move |kind| (filter, kind));
            filters
                .into_iter()
                .flat_map(of_kind)
                .map(|(filter, kind)| QueryFilter {
                    kind: Some(kind.as_str()),
                    kinds: None,
                    ..filter
                })
                .collect()
        }
        _ => filters,
    }
}

/// Each value once, so that no event appears twice.
fn distinct<T: PartialEq>(values: &[T]) -> impl Iterator<Item = &T> {
    let first = |index: usize, value: &T| !values[..index].contains(value);
    values
        .iter()
        .enumerate()
        .filter(move |(index, value)| first(*index, value))
        .map(|(_, value)| value)
}

impl QueryFilter<'_> {
    fn narrow(&self, query: &mut Statement) {
        if let Some(host) = self.host {
            query.push(" AND host = ").push_bind(i64::from(host.0));
        }
        for (condition, value) in [
            (" AND namespace = ", self.namespace),
            (" AND name = ", self.name),
            (" AND kind = ", self.kind),
        ] {
            if let Some(value) = value {
                query.push(condition).push_bind(value.to_owned());
            }
        }
        let namespaces = self.namespaces.map(|list| texts(list, |n| n.as_str()));
        let kinds = self.kinds.map(|list| texts(list, |kind| kind.as_str()));
        for (condition, values) in [
            (" AND namespace IN (", namespaces),
            (" AND kind IN (", kinds),
        ] {
            let Some(values) = values else { continue };
            let mut list = query.push(condition).list();
            values.into_iter().for_each(|value| {
                list.push_bind(value);
            });
            query.push(")");
        }
    }
}

fn texts<T>(list: &[T], text: impl Fn(&T) -> &str) -> Vec<String> {
    list.iter().map(|value| text(value).to_owned()).collect()
}

fn stored(row: &Row) -> Result<StoredEvent, StoreError> {
    let fields = Fields::new("events", 1, row);
    Ok(StoredEvent {
        id: fields.unsigned(0)?,
        host: HostId(fields.number(1)?),
        event: fields.json(2)?,
    })
}
