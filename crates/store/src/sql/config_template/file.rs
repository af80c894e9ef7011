//! Config files, one row for each instance and template. A row with neither a generated nor a released state is a
//! tombstone.

use model::change::Revision;
use model::config_template::{ConfigFileRow, FileState, TemplateId};
use model::topology::BkProcessId;

use super::super::packed::{Packed, Record, small};
use super::super::rows::{insert, int, ordered};
use super::super::{Connection, Wanted};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    rows: &[ConfigFileRow],
) -> Result<(), StoreError> {
    let key = |row: &ConfigFileRow| (row.process, row.local_inst_id, row.template);
    insert(
        conn,
        "INSERT INTO config_files (process, local_inst_id, template, generated, generated_content, released, \
         released_content, revision, gone) ",
        " ON CONFLICT (process, local_inst_id, template) DO UPDATE SET generated = excluded.generated, \
         generated_content = excluded.generated_content, released = excluded.released, \
         released_content = excluded.released_content, revision = excluded.revision, gone = excluded.gone",
        &ordered(rows, |a, b| key(a).cmp(&key(b))),
        |tuple, row| {
            let gone = row.generated.is_none() && row.released.is_none();
            tuple
                .push_bind(i64::from(row.process.0))
                .push_bind(i64::from(row.local_inst_id))
                .push_bind(i64::from(row.template.0))
                .push_bind(json(row.generated.as_ref()))
                .push_bind(content(row.generated.as_ref()))
                .push_bind(json(row.released.as_ref()))
                .push_bind(content(row.released.as_ref()))
                .push_bind(int(revision.0))
                .push_bind(i64::from(gone));
        },
    )
    .await
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
    gone: "gone",
    piece: 4096,
};

pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
) -> Result<Vec<ConfigFileRow>, StoreError> {
    let mut files = Vec::new();
    let take = |row: Record<'_, 3, 2>| {
        let [process, local_inst_id, template] = row.numbers;
        let [generated, released] = row.texts;
        files.push(ConfigFileRow {
            process: BkProcessId(small(process)?),
            local_inst_id: small(local_inst_id)?,
            template: TemplateId(small(template)?),
            generated: serde_json::from_str(generated)?,
            released: serde_json::from_str(released)?,
        });
        Ok(())
    };
    PACKED.read(conn, wanted, take).await?;
    Ok(files)
}
