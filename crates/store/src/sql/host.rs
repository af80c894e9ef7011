//! Hosts. The row of a removed host stays, because events, tasks and the timeline refer to its id.

use model::change::{HostId, HostRow};
use model::host::{parse_cloud, parse_ip};
use model::{AgentId, Host, Labels, UnixMillis};

use super::Connection;
use super::fields::Fields;
use super::log::{LogEntry, LoggedTable};
use super::packed::{Packed, Record, small};
use super::rows::{ordered, upsert};
use crate::{Cause, StoreError};

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[HostRow],
) -> Result<(), StoreError> {
    upsert(
        conn,
        log,
        LoggedTable::Hosts,
        [
            "INSERT INTO hosts (id, cloud, ip, agent_id, enrolled_at, supplier, removed_at, labels) ",
            " ON CONFLICT (id) DO UPDATE SET cloud = excluded.cloud, ip = excluded.ip, agent_id = excluded.agent_id, \
             enrolled_at = excluded.enrolled_at, supplier = excluded.supplier, removed_at = excluded.removed_at, \
             labels = excluded.labels",
        ],
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(i64::from(row.host.cloud))
                .push_bind(row.host.ip.to_string())
                .push_bind(row.agent_id.as_ref().map(AgentId::as_str))
                .push_bind(row.enrolled_at.0)
                .push_bind(row.supplier)
                .push_bind(row.removed_at.map(|at| at.0))
                .push_bind(labels_column(&row.labels));
        },
    )
    .await
}

/// Instead of NULL, which a packed row cannot hold.
const NOT_REMOVED: i64 = -1;

const PACKED: Packed<5, 3> = Packed {
    table: "hosts",
    n_keys: 1,
    numbers: [
        "id",
        "cloud",
        "enrolled_at",
        "supplier",
        "coalesce(removed_at, -1)",
    ],
    texts: ["ip", "coalesce(agent_id, '')", "coalesce(labels, '')"],
    batch: 8192,
};

pub(crate) async fn read(conn: &mut Connection) -> Result<Vec<HostRow>, StoreError> {
    PACKED.read(conn, unpack).await
}

fn unpack(record: Record<'_, 5, 3>) -> Result<HostRow, Cause> {
    let [id, cloud, enrolled_at, supplier, removed_at] = record.numbers;
    let [ip, agent_id, labels] = record.texts;
    let agent_id = (!agent_id.is_empty()).then(|| AgentId::parse(agent_id));
    Ok(HostRow {
        id: HostId(small(id)?),
        host: Host {
            cloud: parse_cloud(cloud)?,
            ip: parse_ip(ip)?,
        },
        agent_id: agent_id.transpose()?,
        enrolled_at: UnixMillis(enrolled_at),
        supplier,
        removed_at: (removed_at != NOT_REMOVED).then_some(UnixMillis(removed_at)),
        labels: match labels {
            "" => Labels::default(),
            text => serde_json::from_str(text)?,
        },
    })
}

pub(crate) fn decode(fields: &Fields<'_, '_>) -> Result<HostRow, StoreError> {
    let agent_id: Option<&str> = fields.get(3)?;
    Ok(HostRow {
        id: HostId(fields.number(0)?),
        host: Host {
            cloud: parse_cloud(fields.get(1)?).map_err(|e| fields.corrupt(e))?,
            ip: fields.parse(2, parse_ip)?,
        },
        agent_id: agent_id
            .map(AgentId::parse)
            .transpose()
            .map_err(|e| fields.corrupt(e))?,
        enrolled_at: UnixMillis(fields.get(4)?),
        supplier: fields.get(5)?,
        removed_at: fields.added(6)?.map(UnixMillis),
        labels: match fields.added::<&str>(7)? {
            None => Labels::default(),
            Some(text) => serde_json::from_str(text).map_err(|e| fields.corrupt(e))?,
        },
    })
}

/// NULL for none, which most hosts have.
fn labels_column(labels: &Labels) -> Option<String> {
    let text = || serde_json::to_string(labels).expect("labels have only string keys");
    (!labels.is_empty()).then(text)
}
