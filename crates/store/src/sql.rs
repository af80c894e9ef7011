//! The statements: one file per table or group of tables, each with its `write`, `gone` and `read`.
//!
//! The text is the same for SQLite and PostgreSQL. Nothing here begins or ends a transaction: `Store` does.

pub(crate) mod access;
pub(crate) mod audit;
pub(crate) mod config_template;
mod connection;
pub(crate) mod definition;
pub(crate) mod document;
pub(crate) mod event;
pub(crate) mod fields;
pub(crate) mod group;
pub(crate) mod host;
pub(crate) mod job;
pub(crate) mod lease;
pub(crate) mod log;
pub(crate) mod mail;
pub(crate) mod name;
pub(crate) mod packed;
pub(crate) mod process;
pub(crate) mod purge;
pub(crate) mod revision;
pub(crate) mod rows;
pub(crate) mod setting;
mod statement;
pub(crate) mod status;
pub(crate) mod task;
pub(crate) mod timeline;
pub(crate) mod topology;
pub(crate) mod version;
pub(crate) mod webhook;

use model::change::{Changes, Revision};

use crate::StoreError;
pub(crate) use connection::{CacheSize, Connection, Row};
use log::LogEntry;
pub(crate) use statement::{Statement, Tuple, Value};

/// Writes everything that a commit changes, and its log entry.
pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    mark: i64,
    changes: &Changes,
) -> Result<(), StoreError> {
    let mut entry = LogEntry::new(conn);
    let log = &mut entry;
    host::write(conn, log, &changes.hosts).await?;
    name::write(conn, log, &changes.names).await?;
    definition::gone(conn, log, &changes.definitions_gone).await?;
    definition::write(conn, log, &changes.definitions).await?;
    process::gone(conn, log, &changes.processes_gone).await?;
    process::write(conn, log, &changes.processes).await?;
    group::write(conn, log, &changes.groups).await?;
    task::write(conn, log, &changes.tasks).await?;
    task::target::write(conn, log, &changes.targets).await?;
    task::outcome::write(conn, log, &changes.outcomes).await?;
    event::write(conn, log, &changes.events).await?;
    access::write(conn, log, changes).await?;
    webhook::write(conn, log, &changes.webhooks, &changes.webhooks_gone).await?;
    topology::write(conn, log, &changes.topology).await?;
    let reopened = job::write(conn, log, &changes.jobs).await?;
    job::task::write(conn, log, &changes.job_tasks, &reopened).await?;
    config_template::write(conn, log, &changes.templates).await?;
    audit::write(conn, &changes.audit).await?;
    timeline::write(conn, &changes.timeline).await?;
    version::write(conn, &changes.versions, &changes.names).await?;
    entry.write(conn, revision, mark).await
}

/// Reads everything that a server keeps in memory except processes, which are most of it: no audit, no contents, no events.
pub(crate) async fn read_base(conn: &mut Connection) -> Result<Changes, StoreError> {
    let mut changes = Changes {
        hosts: host::read(conn).await?,
        names: name::read(conn).await?,
        definitions: definition::read(conn).await?,
        groups: group::read(conn).await?,
        tasks: task::read_open(conn).await?,
        targets: task::target::read_open(conn).await?,
        outcomes: task::outcome::read_open(conn).await?,
        webhooks: webhook::read(conn).await?,
        topology: topology::read(conn).await?,
        templates: config_template::read(conn).await?,
        ..Changes::default()
    };
    job::read_open(conn, &mut changes).await?;
    access::read(conn, &mut changes).await?;
    Ok(changes)
}
