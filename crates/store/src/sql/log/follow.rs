//! Reads the changes of many commits from their log entries.

use std::collections::HashMap;

use model::change::{Changes, DefinitionId, HostId, ProcessId, Revision};
use model::config_template::{TemplateId, VersionId};
use model::topology::{BkHostId, BkProcessId, BusinessId, ModuleId, ProgramId, ServiceId, SetId};

use super::codec::{self, LoggedValue};
use super::{LoggedTable, RowKind, first_part, revision_of};
use crate::sql::fields::Fields;
use crate::sql::revision;
use crate::sql::task::target::TargetDecoder;
use crate::sql::{
    Connection, Statement, access, config_template, definition, document, event, group, host, job,
    name, process, task, topology,
};
use crate::{Cause, StoreError};

/// The longest key of a table.
const MAX_KEYS: usize = 3;

type Key<'p> = (LoggedTable, [LoggedValue<'p>; MAX_KEYS]);

/// Everything that changed after `since`, and the head that this leads to.
///
/// One statement, which sees one state of the store: a follower reads each commit of every other replica.
pub(crate) async fn changes_since(
    conn: &mut Connection,
    since: Revision,
) -> Result<(Revision, Changes), StoreError> {
    let rows = Statement::new(
        "SELECT r.head, r.purged_through, l.id, l.body FROM revision AS r LEFT JOIN commit_log AS l ON l.id >= $1 \
         WHERE r.one = 1",
    )
    .bind(first_part(since.next()))
    .fetch_all(conn)
    .await?;
    let first = rows.first();
    let first = first.ok_or_else(|| StoreError::unavailable("the store has no revision"))?;
    let position = revision::position(first)?;
    if position.lacks(since) {
        return Err(StoreError::TooOld { since });
    }
    let mut parts = Vec::with_capacity(rows.len());
    for row in &rows {
        if let Some(id) = row.get::<Option<i64>>(2)? {
            let body = row.get(3)?;
            parts.push(LogPart { id, body });
        }
    }
    parts.sort_by_key(|part| part.id);
    check_complete(&parts, since, position.head)?;
    let is_one_commit = since.next() == position.head;
    Ok((position.head, changes_of(&parts, is_one_commit)?))
}

/// Everything that changed after `since`, up to `head`.
pub(crate) async fn changes_between(
    conn: &mut Connection,
    since: Revision,
    head: Revision,
) -> Result<Changes, StoreError> {
    let parts = parts(conn, since, head).await?;
    changes_of(&parts, since.next() == head)
}

/// Of several rows with one key only the last one appears.
fn changes_of(parts: &[LogPart], is_one_commit: bool) -> Result<Changes, StoreError> {
    let last = last_of_each_key(parts, is_one_commit)?;
    let mut changes = Changes::default();
    let mut targets = TargetDecoder::default();
    let mut n_row = 0;
    each_row(parts, |table, kind, values| {
        n_row += 1;
        let key = key(table, values);
        if last.as_ref().is_some_and(|last| last[&key] != n_row) {
            return Ok(());
        }
        let fields = Fields::logged(table, values);
        match kind {
            RowKind::Live => add_row(&mut changes, &mut targets, table, &fields),
            RowKind::Gone => add_gone(&mut changes, table, &fields),
        }
    })?;
    Ok(changes)
}

/// The events that a commit added, by host and number; none if the log does not have the commit.
pub(crate) async fn events_of(
    conn: &mut Connection,
    revision: Revision,
) -> Result<Vec<(HostId, u64)>, StoreError> {
    let before = Revision(revision.0.saturating_sub(1));
    let parts = match parts(conn, before, revision).await {
        Err(StoreError::TooOld { .. }) => Vec::new(),
        parts => parts?,
    };
    let mut events = Vec::new();
    each_row(&parts, |table, _, values| {
        if table == LoggedTable::Events {
            let fields = Fields::logged(table, values);
            events.push((HostId(fields.number(0)?), fields.unsigned(1)?));
        }
        Ok(())
    })?;
    Ok(events)
}

/// A part of an entry, with its id.
struct LogPart {
    id: i64,
    body: Vec<u8>,
}

/// The parts of all entries after `since` up to `head`. Refuses if one is missing.
async fn parts(
    conn: &mut Connection,
    since: Revision,
    head: Revision,
) -> Result<Vec<LogPart>, StoreError> {
    let rows =
        Statement::new("SELECT id, body FROM commit_log WHERE id >= $1 AND id < $2 ORDER BY id")
            .bind(first_part(since.next()))
            .bind(first_part(head.next()))
            .fetch_all(conn)
            .await?;
    let parts = rows.iter().map(|row| {
        Ok::<_, StoreError>(LogPart {
            id: row.get(0)?,
            body: row.get(1)?,
        })
    });
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    check_complete(&parts, since, head)?;
    Ok(parts)
}

/// Refuses if the entry of a revision after `since` up to `head` is missing.
fn check_complete(parts: &[LogPart], since: Revision, head: Revision) -> Result<(), StoreError> {
    let mut revision = since;
    for part in parts {
        if revision_of(part.id) != revision {
            revision = revision.next();
        }
        if revision_of(part.id) != revision {
            return Err(StoreError::TooOld { since });
        }
    }
    match revision == head {
        true => Ok(()),
        false => Err(StoreError::TooOld { since }),
    }
}

/// An error on the way through a part.
enum RowError {
    Store(StoreError),
    Malformed(Cause),
}

impl From<StoreError> for RowError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Cause> for RowError {
    fn from(cause: Cause) -> Self {
        Self::Malformed(cause)
    }
}

fn each_row<'p>(
    parts: &'p [LogPart],
    mut row: impl FnMut(LoggedTable, RowKind, &[LoggedValue<'p>]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for part in parts {
        let decoded = codec::decode(&part.body, |table, kind, values| {
            Ok(row(table, kind, values)?)
        });
        decoded.map_err(|error| match error {
            RowError::Store(error) => error,
            RowError::Malformed(source) => StoreError::Corrupt {
                table: "commit_log",
                id: part.id.to_string(),
                source,
            },
        })?;
    }
    Ok(())
}

fn key<'p>(table: LoggedTable, values: &[LoggedValue<'p>]) -> Key<'p> {
    let mut key = [LoggedValue::Null; MAX_KEYS];
    let columns = values.iter().take(table.n_keys());
    key.iter_mut()
        .zip(columns)
        .for_each(|(key, value)| *key = *value);
    (table, key)
}

/// The number of the last row of each key. None where each key has one row anyway: within one commit a key comes twice only
/// if its row is deleted and written again.
fn last_of_each_key<'p>(
    parts: &'p [LogPart],
    is_one_commit: bool,
) -> Result<Option<HashMap<Key<'p>, usize>>, StoreError> {
    let mut has_gone = false;
    if is_one_commit {
        each_row(parts, |_, kind, _| {
            has_gone |= kind == RowKind::Gone;
            Ok(())
        })?;
        if !has_gone {
            return Ok(None);
        }
    }
    let mut last = HashMap::new();
    let mut n_row = 0;
    each_row(parts, |table, _, values| {
        n_row += 1;
        last.insert(key(table, values), n_row);
        Ok(())
    })?;
    Ok(Some(last))
}

fn add_row<'p>(
    changes: &mut Changes,
    targets: &mut TargetDecoder<'p>,
    table: LoggedTable,
    fields: &Fields<'_, 'p>,
) -> Result<(), StoreError> {
    let Changes {
        topology: view,
        templates,
        ..
    } = changes;
    match table {
        LoggedTable::Hosts => changes.hosts.push(host::decode(fields)?),
        LoggedTable::Names => changes.names.push(name::decode(fields)?),
        LoggedTable::Definitions => changes.definitions.push(definition::decode(fields)?),
        LoggedTable::Processes => changes.processes.push(fields.packed(process::decode)?),
        LoggedTable::ProcessGroups => changes.groups.push(group::decode(fields)?),
        LoggedTable::Tasks => changes.tasks.push(task::decode(fields)?),
        LoggedTable::Targets => changes.targets.push(targets.decode(fields)?),
        LoggedTable::Outcomes => changes.outcomes.push(task::outcome::decode(fields)?),
        LoggedTable::Events => changes.events.push(event::decode(fields)?),
        LoggedTable::Apps => changes.apps.push(fields.json(1)?),
        LoggedTable::Users => changes.users.push(fields.json(1)?),
        LoggedTable::JoinTokens => changes.join_tokens.push(fields.json(1)?),
        LoggedTable::Logins => changes.logins.push(access::decode_login(fields)?),
        LoggedTable::Webhooks => changes.webhooks.push(fields.json(1)?),
        LoggedTable::Businesses => view.businesses.push(fields.packed(document::decode)?),
        LoggedTable::Clouds => view.clouds.push(fields.packed(document::decode)?),
        LoggedTable::Sets => view.sets.push(fields.packed(document::decode)?),
        LoggedTable::Modules => view.modules.push(fields.packed(document::decode)?),
        LoggedTable::Machines => view.machines.push(fields.packed(document::decode)?),
        LoggedTable::Services => view
            .services
            .push(fields.packed(topology::service::decode)?),
        LoggedTable::Programs => view.programs.push(fields.packed(document::decode)?),
        LoggedTable::ViewProcesses => {
            view.processes
                .push(fields.packed(topology::view_process::decode)?);
        }
        LoggedTable::Jobs => changes.jobs.push(fields.json(1)?),
        LoggedTable::JobTasks => changes.job_tasks.push(fields.packed(job::task::decode)?),
        LoggedTable::ConfigTemplates => templates.templates.push(fields.packed(document::decode)?),
        LoggedTable::TemplateVersions => templates.versions.push(fields.packed(document::decode)?),
        LoggedTable::ConfigFiles => {
            templates
                .files
                .push(fields.packed(config_template::file::decode)?);
        }
    }
    Ok(())
}

fn add_gone(
    changes: &mut Changes,
    table: LoggedTable,
    fields: &Fields<'_, '_>,
) -> Result<(), StoreError> {
    let Changes {
        topology: view,
        templates,
        ..
    } = changes;
    let id = || fields.number(0);
    match table {
        LoggedTable::Definitions => changes.definitions_gone.push(DefinitionId(id()?)),
        LoggedTable::Processes => changes.processes_gone.push(ProcessId(id()?)),
        LoggedTable::Apps => changes.apps_gone.push(fields.text(0)?),
        LoggedTable::Users => changes.users_gone.push(fields.text(0)?),
        LoggedTable::JoinTokens => changes.join_tokens_gone.push(fields.text(0)?),
        LoggedTable::Logins => changes.logins_gone.push(access::decode_token(fields)?),
        LoggedTable::Webhooks => changes.webhooks_gone.push(fields.text(0)?),
        LoggedTable::Businesses => view.businesses_gone.push(BusinessId(id()?)),
        LoggedTable::Sets => view.sets_gone.push(SetId(id()?)),
        LoggedTable::Modules => view.modules_gone.push(ModuleId(id()?)),
        LoggedTable::Machines => view.machines_gone.push(BkHostId(id()?)),
        LoggedTable::Services => view.services_gone.push(ServiceId(id()?)),
        LoggedTable::Programs => view.programs_gone.push(ProgramId(id()?)),
        LoggedTable::ViewProcesses => view.processes_gone.push(BkProcessId(id()?)),
        LoggedTable::ConfigTemplates => templates.templates_gone.push(TemplateId(id()?)),
        LoggedTable::TemplateVersions => templates.versions_gone.push(VersionId(id()?)),
        LoggedTable::Hosts
        | LoggedTable::Names
        | LoggedTable::ProcessGroups
        | LoggedTable::Tasks
        | LoggedTable::Targets
        | LoggedTable::Outcomes
        | LoggedTable::Events
        | LoggedTable::Clouds
        | LoggedTable::Jobs
        | LoggedTable::JobTasks
        | LoggedTable::ConfigFiles => return Err(fields.corrupt("no commit deletes such a row")),
    }
    Ok(())
}
