//! Targets as they were requested, clustered by task.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::change::{HostId, TargetRow};
use model::spec::Probe;
use model::{FullName, Op, OpId, TaskId, UnixMillis};

use crate::StoreError;
use crate::sql::fields::Fields;
use crate::sql::log::{LogEntry, LoggedTable};
use crate::sql::rows::{chunks, insert, int, ordered, upsert};
use crate::sql::{Connection, Statement};

/// Between the key prefixes of one target: the unit separator of ASCII.
const SEPARATOR: &str = "\u{1f}";

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[TargetRow],
) -> Result<(), StoreError> {
    let mut probes = LastText::default();
    let mut names = LastText::default();
    upsert(
        conn,
        log,
        LoggedTable::Targets,
        [
            "INSERT INTO targets (task, ordinal, op, host, process, key_prefix, probe, deadline) ",
            " ON CONFLICT (task, ordinal) DO UPDATE SET op = excluded.op, host = excluded.host, \
             process = excluded.process, key_prefix = excluded.key_prefix, probe = excluded.probe, \
             deadline = excluded.deadline",
        ],
        &ordered(rows, |a, b| a.op_id.cmp(&b.op_id)),
        |tuple, row| {
            let probe = row.probe.as_ref().map(|probe| probes.of(probe, probe_json));
            tuple
                .push_bind(int(row.op_id.task.number()))
                .push_bind(i64::from(row.op_id.ordinal))
                .push_bind(i64::from(row.op.number()))
                .push_bind(row.host.map(|host| i64::from(host.0)))
                .push_bind(names.of(&row.process, FullName::to_string))
                .push_bind(row.key_prefixes.join(SEPARATOR))
                .push_bind(probe)
                .push_bind(row.deadline.0);
        },
    )
    .await?;
    add_operations(conn, rows).await?;
    count(conn, rows).await
}

/// Adds the different operations of these targets to those of their tasks.
async fn add_operations(conn: &mut Connection, rows: &[TargetRow]) -> Result<(), StoreError> {
    let operations: BTreeSet<(i64, &str, &str, i64)> = rows
        .iter()
        .map(|row| {
            (
                int(row.op_id.task.number()),
                row.process.namespace.as_str(),
                row.process.name.as_str(),
                i64::from(row.op.number()),
            )
        })
        .collect();
    insert(
        conn,
        "INSERT INTO task_operations (task, namespace, name, op) ",
        " ON CONFLICT (task, namespace, name, op) DO NOTHING",
        &Vec::from_iter(operations),
        |tuple, (task, namespace, name, op)| {
            tuple
                .push_bind(*task)
                .push_bind(*namespace)
                .push_bind(*name)
                .push_bind(*op);
        },
    )
    .await
}

/// Sets the number of targets of each task that got some.
async fn count(conn: &mut Connection, rows: &[TargetRow]) -> Result<(), StoreError> {
    let tasks: BTreeSet<i64> = rows
        .iter()
        .map(|row| int(row.op_id.task.number()))
        .collect();
    for chunk in chunks(conn, &Vec::from_iter(tasks)) {
        let mut query = Statement::new(
            "UPDATE tasks SET n_targets = (SELECT count(*) FROM targets WHERE targets.task = tasks.id) WHERE id IN (",
        );
        let mut list = query.list();
        chunk.iter().for_each(|id| {
            list.push_bind(*id);
        });
        query.push(")");
        query.execute(conn).await?;
    }
    Ok(())
}

fn probe_json(probe: &Probe) -> String {
    serde_json::to_string(probe).expect("probes have only string keys")
}

/// Targets of one request share their name and probe: the text is made once, not for each target.
struct LastText<T>(Option<(Arc<T>, Arc<str>)>);

impl<T> Default for LastText<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> LastText<T> {
    fn of(&mut self, value: &Arc<T>, text: impl FnOnce(&T) -> String) -> Arc<str> {
        match &self.0 {
            Some((last, text)) if Arc::ptr_eq(last, value) => text.clone(),
            _ => {
                let text: Arc<str> = text(value).into();
                self.0 = Some((value.clone(), text.clone()));
                text
            }
        }
    }
}

const SELECT: &str =
    "SELECT task, ordinal, op, host, process, key_prefix, probe, deadline FROM targets";

/// The targets of open tasks.
pub(crate) async fn read_open(conn: &mut Connection) -> Result<Vec<TargetRow>, StoreError> {
    let mut query = Statement::new(SELECT);
    query.push(
        " WHERE task IN (SELECT id FROM tasks WHERE n_ended < n_targets) ORDER BY task, ordinal",
    );
    fetch(conn, query).await
}

pub(crate) async fn of_task(
    conn: &mut Connection,
    id: TaskId,
) -> Result<Vec<TargetRow>, StoreError> {
    let mut query = Statement::new(SELECT);
    query.push(" WHERE task = ").push_bind(int(id.number()));
    query.push(" ORDER BY ordinal");
    fetch(conn, query).await
}

async fn fetch(conn: &mut Connection, query: Statement) -> Result<Vec<TargetRow>, StoreError> {
    let rows = query.fetch_all(conn).await?;
    let mut decoder = TargetDecoder::default();
    rows.iter()
        .map(|row| decoder.decode(&Fields::new("targets", 2, row)))
        .collect()
}

/// Decodes rows; consecutive rows with equal texts share one name and one probe.
#[derive(Default)]
pub(crate) struct TargetDecoder<'r> {
    name: Option<(&'r str, Arc<FullName>)>,
    probe: Option<(&'r str, Arc<Probe>)>,
}

impl<'r> TargetDecoder<'r> {
    pub(crate) fn decode(&mut self, fields: &Fields<'_, 'r>) -> Result<TargetRow, StoreError> {
        let process = shared(&mut self.name, fields.get(4)?, |text| {
            FullName::try_from(text.to_owned()).map_err(|e| fields.corrupt(e))
        })?;
        let probe = match fields.get::<Option<&str>>(6)? {
            None => None,
            Some(text) => Some(shared(&mut self.probe, text, |text| {
                serde_json::from_str(text).map_err(|e| fields.corrupt(e))
            })?),
        };
        Ok(TargetRow {
            op_id: OpId {
                task: TaskId::from_number(fields.unsigned(0)?),
                ordinal: fields.number(1)?,
            },
            op: Op::from_number(fields.get(2)?)
                .ok_or_else(|| fields.corrupt("its op is unknown"))?,
            host: match fields.get::<Option<i64>>(3)? {
                None => None,
                Some(_) => Some(HostId(fields.number(3)?)),
            },
            process,
            key_prefixes: fields.text(5)?.split(SEPARATOR).map(Box::from).collect(),
            probe,
            deadline: UnixMillis(fields.get(7)?),
        })
    }
}

fn shared<'r, T>(
    last: &mut Option<(&'r str, Arc<T>)>,
    text: &'r str,
    parse: impl FnOnce(&str) -> Result<T, StoreError>,
) -> Result<Arc<T>, StoreError> {
    match last {
        Some((last, value)) if *last == text => Ok(value.clone()),
        _ => {
            let value = Arc::new(parse(text)?);
            *last = Some((text, value.clone()));
            Ok(value)
        }
    }
}
