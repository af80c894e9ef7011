//! Events. (host, seq) is unique, and what is there stays as it is.

use model::change::{EventRow, HostId, Revision};

use super::fields::Fields;
use super::rows::{fetch, insert, int, ordered};
use super::{Connection, Wanted};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    rows: &[EventRow],
) -> Result<(), StoreError> {
    insert(
        conn,
        "INSERT INTO events (host, seq, at, body, revision) ",
        " ON CONFLICT (host, seq) DO NOTHING",
        &ordered(rows, |a, b| (a.host, a.seq).cmp(&(b.host, b.seq))),
        |tuple, row| {
            let body = serde_json::to_string(&row.event).expect("events have only string keys");
            tuple
                .push_bind(i64::from(row.host.0))
                .push_bind(int(row.seq))
                .push_bind(row.event.at.0)
                .push_bind(body)
                .push_bind(int(revision.0));
        },
    )
    .await
}

pub(crate) async fn read(
    conn: &mut Connection,
    since: Revision,
) -> Result<Vec<EventRow>, StoreError> {
    let select = "SELECT host, seq, body FROM events";
    let rows = fetch(conn, select, "", Wanted::Since(since)).await?;
    rows.iter()
        .map(|row| {
            let fields = Fields::new("events", 2, row);
            Ok(EventRow {
                host: HostId(fields.number(0)?),
                seq: fields.unsigned(1)?,
                event: fields.json(2)?,
            })
        })
        .collect()
}
