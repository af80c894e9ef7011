//! Config files, one row for each instance and template. A row with neither a generated nor a released state is gone.

use model::config_template::{ConfigFileRow, FileState, TemplateId};
use model::topology::BkProcessId;

use crate::sql::log::{LogEntry, LoggedTable};
use crate::sql::packed::{Packed, Record, small};
use crate::sql::rows::{delete_empty, ordered, upsert};
use crate::sql::{Connection, Tuple};
use crate::{Cause, StoreError};

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[ConfigFileRow],
) -> Result<(), StoreError> {
    let key = |row: &ConfigFileRow| (row.process, row.local_inst_id, row.template);
    let rows = ordered(rows, |a, b| key(a).cmp(&key(b)));
    let (empty, rows): (Vec<_>, Vec<_>) = rows
        .into_iter()
        .partition(|row| row.generated.is_none() && row.released.is_none());
    let table = LoggedTable::ConfigFiles;
    let key = "process, local_inst_id, template";
    delete_empty(conn, log, table, key, &empty, bind, bind_key).await?;
    let statement = [
        "INSERT INTO config_files (process, local_inst_id, template, generated, released, generated_content, \
         released_content) ",
        " ON CONFLICT (process, local_inst_id, template) DO UPDATE SET generated = excluded.generated, \
         released = excluded.released, generated_content = excluded.generated_content, \
         released_content = excluded.released_content",
    ];
    upsert(conn, log, table, statement, &rows, bind).await
}

fn bind(tuple: &mut Tuple<'_>, row: &&ConfigFileRow) {
    bind_key(tuple, row);
    tuple
        .push_bind(json(row.generated.as_ref()))
        .push_bind(json(row.released.as_ref()))
        .push_bind(content(row.generated.as_ref()))
        .push_bind(content(row.released.as_ref()));
}

fn bind_key(tuple: &mut Tuple<'_>, row: &&ConfigFileRow) {
    tuple
        .push_bind(i64::from(row.process.0))
        .push_bind(i64::from(row.local_inst_id))
        .push_bind(i64::from(row.template.0));
}

fn json(state: Option<&FileState>) -> String {
    serde_json::to_string(&state).expect("file states have only string keys")
}

fn content(state: Option<&FileState>) -> Option<Vec<u8>> {
    state.map(|state| state.content.0.to_vec())
}

const PACKED: Packed<3, 2> = Packed {
    table: "config_files",
    n_keys: 3,
    numbers: ["process", "local_inst_id", "template"],
    texts: ["generated", "released"],
    batch: 4096,
};

pub(crate) async fn read(conn: &mut Connection) -> Result<Vec<ConfigFileRow>, StoreError> {
    PACKED.read(conn, decode).await
}

pub(crate) fn decode(record: Record<'_, 3, 2>) -> Result<ConfigFileRow, Cause> {
    let [process, local_inst_id, template] = record.numbers;
    let [generated, released] = record.texts;
    Ok(ConfigFileRow {
        process: BkProcessId(small(process)?),
        local_inst_id: small(local_inst_id)?,
        template: TemplateId(small(template)?),
        generated: serde_json::from_str(generated)?,
        released: serde_json::from_str(released)?,
    })
}
