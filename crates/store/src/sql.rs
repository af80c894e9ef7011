//! The statements: one file per noun, each with its `write`, `gone` and `read`.
//!
//! The text is common to SQLite and PostgreSQL. Nothing here begins or ends a transaction: that is the engine's part.

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
pub(crate) mod topology;
pub(crate) mod webhook;

use model::change::{Changes, Revision};

use crate::StoreError;
pub(crate) use connection::{Connection, Row};
pub(crate) use statement::{Statement, Tuple, Value};

/// Which rows of a table to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Live,
    /// Changed after this revision, tombstones as well.
    Since(Revision),
}

/// Writes everything that a commit changes, under its revision.
pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    changes: &Changes,
) -> Result<(), StoreError> {
    host::write(conn, revision, &changes.hosts).await?;
    name::write(conn, revision, &changes.names).await?;
    definition::gone(conn, revision, &changes.definitions_gone).await?;
    definition::write(conn, revision, &changes.definitions).await?;
    process::gone(conn, revision, &changes.processes_gone).await?;
    process::write(conn, revision, &changes.processes).await?;
    group::write(conn, revision, &changes.groups).await?;
    task::write(conn, revision, &changes.tasks).await?;
    task::target::write(conn, revision, &changes.targets).await?;
    task::outcome::write(conn, revision, &changes.outcomes).await?;
    event::write(conn, revision, &changes.events).await?;
    access::write(conn, revision, changes).await?;
    webhook::write(conn, revision, &changes.webhooks, &changes.webhooks_gone).await?;
    topology::write(conn, revision, &changes.topology).await?;
    job::write(conn, revision, &changes.jobs).await?;
    job::task::write(conn, revision, &changes.job_tasks).await?;
    config_template::write(conn, revision, &changes.templates).await?;
    audit::write(conn, revision, &changes.audit).await
}

/// Reads everything; no audit, no contents, and of events only new ones.
pub(crate) async fn read(conn: &mut Connection, wanted: Wanted) -> Result<Changes, StoreError> {
    let mut changes = Changes {
        hosts: host::read(conn, wanted).await?,
        names: name::read(conn, wanted).await?,
        groups: group::read(conn, wanted).await?,
        tasks: task::read(conn, wanted).await?,
        targets: task::target::read(conn, wanted).await?,
        outcomes: task::outcome::read(conn, wanted).await?,
        topology: topology::read(conn, wanted).await?,
        templates: config_template::read(conn, wanted).await?,
        ..Changes::default()
    };
    definition::read(conn, wanted, &mut changes).await?;
    process::read(conn, wanted, &mut changes).await?;
    job::read(conn, wanted, &mut changes).await?;
    access::read(conn, wanted, &mut changes).await?;
    (changes.webhooks, changes.webhooks_gone) = webhook::read(conn, wanted).await?;
    if let Wanted::Since(since) = wanted {
        changes.events = event::read(conn, since).await?;
    }
    Ok(changes)
}
