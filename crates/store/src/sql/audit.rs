//! The audit trail: written in the commit that it describes, never changed.

use model::UnixMillis;
use model::access::Audit;

use super::fields::Fields;
use super::rows::insert;
use super::{Connection, Statement};
use crate::{AuditPage, AuditRow, StoreError};

pub(crate) async fn write(conn: &mut Connection, rows: &[Audit]) -> Result<(), StoreError> {
    insert(
        conn,
        "INSERT INTO audit (at, app, user_name, from_addr, request_id, action, object, detail) ",
        "",
        rows,
        |tuple, row| {
            tuple
                .push_bind(row.at.0)
                .push_bind(row.app.as_str())
                .push_bind(row.user.as_str())
                .push_bind(row.from.as_str())
                .push_bind(row.request_id.as_str())
                .push_bind(row.action.as_str())
                .push_bind(row.object.as_str())
                .push_bind(row.detail.as_str());
        },
    )
    .await
}

pub(crate) async fn page(
    conn: &mut Connection,
    page: &AuditPage,
) -> Result<Vec<AuditRow>, StoreError> {
    let before = page
        .before
        .map_or(i64::MAX, |id| id.try_into().unwrap_or(i64::MAX));
    let mut query = Statement::new(
        "SELECT id, at, app, user_name, from_addr, request_id, action, object, detail FROM audit WHERE id < ",
    );
    query.push_bind(before);
    let filters = [
        (" AND app = ", &page.app),
        (" AND user_name = ", &page.user),
        (" AND action = ", &page.action),
        (" AND from_addr = ", &page.from),
    ];
    for (condition, value) in filters {
        if let Some(value) = value {
            query.push(condition).push_bind(value.as_str());
        }
    }
    if let Some(until) = page.until {
        query.push(" AND at < ").push_bind(until.0);
    }
    query
        .push(" ORDER BY id DESC LIMIT ")
        .push_bind(i64::from(page.limit));
    let rows = query.fetch_all(conn).await?;
    rows.iter()
        .map(|row| {
            let fields = Fields::new("audit", 1, row);
            let audit = Audit {
                at: UnixMillis(fields.get(1)?),
                app: fields.text(2)?,
                user: fields.text(3)?,
                from: fields.text(4)?,
                request_id: fields.text(5)?,
                action: fields.text(6)?,
                object: fields.text(7)?,
                detail: fields.text(8)?,
            };
            Ok((fields.unsigned(0)?, audit))
        })
        .collect()
}
