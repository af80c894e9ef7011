//! The timeline: written in the commit that it describes, or when an agent came or went, and never changed.

use model::UnixMillis;
use model::change::{HostId, NameId};
use model::timeline::{TimelineKind, TimelineRow, pack_hosts, unpack_hosts};

use super::fields::Fields;
use super::rows::{insert, int};
use super::{Connection, Row, Statement};
use crate::{StoreError, StoredTimelineRow, TimelinePage};

/// No process, no host, or several hosts.
const NONE: i64 = -1;

pub(crate) async fn write(conn: &mut Connection, rows: &[TimelineRow]) -> Result<(), StoreError> {
    insert(
        conn,
        "INSERT INTO timeline (at, kind, name, host, hosts, body) ",
        "",
        rows,
        |tuple, row| {
            let (host, hosts) = match row.hosts.as_slice() {
                [] => (NONE, Vec::new()),
                [one] => (i64::from(one.0), Vec::new()),
                several => (NONE, pack_hosts(several)),
            };
            let body = serde_json::to_string(&row.body).expect("a body has only string keys");
            tuple
                .push_bind(row.at.0)
                .push_bind(row.kind.as_str())
                .push_bind(row.process.map_or(NONE, |name| i64::from(name.0)))
                .push_bind(host)
                .push_bind(hosts)
                .push_bind(body);
        },
    )
    .await
}

/// Newest first.
pub(crate) async fn page(
    conn: &mut Connection,
    page: &TimelinePage,
) -> Result<Vec<StoredTimelineRow>, StoreError> {
    let mut query = Statement::new(
        "SELECT id, at, kind, name, host, hosts, body FROM timeline WHERE (at, id) < (",
    );
    let until = (page.until).map_or((i64::MAX, i64::MAX), |until| (until.0, 0));
    let before = page
        .before
        .map_or(until, |(at, id)| until.min((at.0, int(id))));
    query.push_bind(before.0);
    query.push(", ").push_bind(before.1).push(")");
    if let Some(since) = page.since {
        query.push(" AND at >= ").push_bind(since.0);
    }
    if let Some(name) = page.name {
        let name = name.map_or(NONE, |name| i64::from(name.0));
        // The plus keeps the index of the other column, which has far fewer rows for one value.
        let column = match (page.name, page.host) {
            (Some(None), Some(Some(_))) => " AND +name = ",
            _ => " AND name = ",
        };
        query.push(column).push_bind(name);
    }
    if let Some(host) = page.host {
        let host = host.map_or(NONE, |host| i64::from(host.0));
        let column = match page.name {
            Some(Some(_)) => " AND +host = ",
            Some(None) | None => " AND host = ",
        };
        query.push(column).push_bind(host);
    }
    if let Some(kinds) = &page.kinds {
        let mut list = query.push(" AND kind IN (").list();
        kinds.iter().for_each(|kind| {
            list.push_bind(kind.as_str());
        });
        query.push(")");
    }
    query
        .push(" ORDER BY at DESC, id DESC LIMIT ")
        .push_bind(i64::from(page.limit));
    let rows = query.uncached().fetch_all(conn).await?;
    rows.iter().map(stored).collect()
}

fn stored(row: &Row) -> Result<StoredTimelineRow, StoreError> {
    let fields = Fields::new("timeline", 1, row);
    let kind: String = fields.text(2)?;
    let host: i64 = fields.get(4)?;
    let packed: Vec<u8> = fields.get(5)?;
    let hosts = match u32::try_from(host) {
        Ok(host) => vec![HostId(host)],
        Err(_) => unpack_hosts(&packed),
    };
    Ok(StoredTimelineRow {
        id: fields.unsigned(0)?,
        row: TimelineRow {
            at: UnixMillis(fields.get(1)?),
            // A kind of a newer version is shown as what it is most like.
            kind: TimelineKind::parse(&kind).unwrap_or(TimelineKind::Operation),
            process: u32::try_from(fields.get::<i64>(3)?).ok().map(NameId),
            hosts,
            body: fields.json(6)?,
        },
    })
}
