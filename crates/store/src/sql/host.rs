//! Hosts. Once named, a host stays.

use model::change::{HostId, HostRow, Revision};
use model::host::{parse_cloud, parse_ip};
use model::{AgentId, Host, UnixMillis};

use super::fields::Fields;
use super::rows::{fetch, insert, int, ordered};
use super::{Connection, Wanted};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    rows: &[HostRow],
) -> Result<(), StoreError> {
    insert(
        conn,
        "INSERT INTO hosts (id, cloud, ip, agent_id, enrolled_at, supplier, revision) ",
        " ON CONFLICT (id) DO UPDATE SET cloud = excluded.cloud, ip = excluded.ip, agent_id = excluded.agent_id, \
         enrolled_at = excluded.enrolled_at, supplier = excluded.supplier, revision = excluded.revision",
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(i64::from(row.host.cloud))
                .push_bind(row.host.ip.to_string())
                .push_bind(row.agent_id.as_ref().map(AgentId::as_str))
                .push_bind(row.enrolled_at.0)
                .push_bind(row.supplier)
                .push_bind(int(revision.0));
        },
    )
    .await
}

pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
) -> Result<Vec<HostRow>, StoreError> {
    let select = "SELECT id, cloud, ip, agent_id, enrolled_at, supplier FROM hosts";
    let rows = fetch(conn, select, "", "id", wanted).await?;
    rows.iter()
        .map(|row| {
            let fields = Fields::new("hosts", 1, row);
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
            })
        })
        .collect()
}
