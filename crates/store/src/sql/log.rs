//! The commit log: each commit adds one entry, the rows that it wrote and the keys that it deleted. Replicas follow by it.
//!
//! An entry has one part or several, so that no row of the log becomes too large. The id of a part is its revision and its
//! number within the entry. Entries stay until `purge`.

mod codec;
mod follow;

use model::change::Revision;

use super::rows::int;
use super::{Connection, Statement, Value};
use crate::{Cause, StoreError};
use codec::Encoder;
pub(crate) use codec::LoggedValue;

/// The bits of an id that number the parts.
const PART_BITS: u32 = 20;
/// Older entries of a longer log are purged, however few commits they are.
const MAX_LOG_BYTES: i64 = 512 << 20;
/// Parts that one transaction deletes.
const PURGE_BATCH: i64 = 500;

macro_rules! logged_tables {
    ($($table:ident = $number:literal: $name:ident, $n_keys:literal;)+) => {
        /// The tables whose rows are logged.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum LoggedTable {
            $($table = $number,)+
        }

        impl LoggedTable {
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$table => stringify!($name),)+
                }
            }

            /// How many of the first columns are the key.
            pub(crate) fn n_keys(self) -> usize {
                match self {
                    $(Self::$table => $n_keys,)+
                }
            }

            fn from_number(number: u8) -> Result<Self, Cause> {
                match number {
                    $($number => Ok(Self::$table),)+
                    _ => Err(format!("there is no table number {number}").into()),
                }
            }
        }
    };
}

// Number, name and number of key columns. The numbers are in stored entries: none is ever used for another table.
logged_tables! {
    Hosts = 1: hosts, 1;
    Names = 2: names, 1;
    Definitions = 3: definitions, 1;
    Processes = 4: processes, 1;
    ProcessGroups = 5: process_groups, 2;
    Tasks = 6: tasks, 1;
    Targets = 7: targets, 2;
    Outcomes = 8: outcomes, 2;
    Events = 9: events, 2;
    Apps = 10: apps, 1;
    Users = 11: users, 1;
    JoinTokens = 12: join_tokens, 1;
    Logins = 13: logins, 1;
    Webhooks = 14: webhooks, 1;
    Businesses = 15: businesses, 1;
    Clouds = 16: clouds, 1;
    Sets = 17: sets, 1;
    Modules = 18: modules, 1;
    Machines = 19: machines, 1;
    Services = 20: services, 1;
    Programs = 21: programs, 1;
    ViewProcesses = 22: view_processes, 1;
    Jobs = 23: jobs, 1;
    JobTasks = 24: job_tasks, 2;
    ConfigTemplates = 25: config_templates, 1;
    TemplateVersions = 26: template_versions, 1;
    ConfigFiles = 27: config_files, 3;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// A row as it is after the commit.
    Live = 0,
    /// The key of a deleted row.
    Gone = 1,
}

impl RowKind {
    fn from_number(number: u8) -> Result<Self, Cause> {
        match number {
            0 => Ok(Self::Live),
            1 => Ok(Self::Gone),
            other => Err(format!("there is no kind {other} of rows").into()),
        }
    }
}

/// The entry of a commit under way.
#[derive(Debug)]
pub(crate) struct LogEntry {
    encoder: Encoder,
    /// PostgreSQL stores texts without NUL; followers must see the same.
    replace_nul: bool,
}

impl LogEntry {
    pub(crate) fn new(conn: &Connection) -> Self {
        Self {
            encoder: Encoder::default(),
            replace_nul: conn.replaces_nul(),
        }
    }

    /// Adds rows, given as their values one after the other.
    pub(crate) fn add(
        &mut self,
        table: LoggedTable,
        kind: RowKind,
        n_rows: usize,
        values: &[Value],
    ) {
        if n_rows == 0 {
            return;
        }
        let n_columns = values.len() / n_rows;
        if self.replace_nul && values.iter().any(Value::has_nul) {
            let values = Vec::from_iter(values.iter().cloned().map(Value::without_nul));
            self.encoder.add(table, kind, n_columns, &values);
        } else {
            self.encoder.add(table, kind, n_columns, values);
        }
    }

    /// The mark tells this commit from another that would have taken the same revision.
    pub(crate) async fn write(
        self,
        conn: &mut Connection,
        revision: Revision,
        mark: i64,
    ) -> Result<(), StoreError> {
        for (id, part) in (first_part(revision)..).zip(self.encoder.finish()) {
            Statement::new("INSERT INTO commit_log (id, mark, body) VALUES ($1, $2, $3)")
                .bind(id)
                .bind(mark)
                .bind(part)
                .execute(conn)
                .await?;
        }
        Ok(())
    }
}

fn first_part(revision: Revision) -> i64 {
    int(revision.0 << PART_BITS)
}

fn revision_of(part: i64) -> Revision {
    Revision(part.cast_unsigned() >> PART_BITS)
}

/// The mark of the commit that wrote this revision, if its entry is still there.
pub(crate) async fn mark(
    conn: &mut Connection,
    revision: Revision,
) -> Result<Option<i64>, StoreError> {
    Statement::new("SELECT mark FROM commit_log WHERE id = $1")
        .bind(first_part(revision))
        .fetch_value(conn)
        .await
}

pub(crate) use follow::{changes_between, changes_since, events_of};

/// The last revision whose entry must go, so that the rest of the log stays within its size; 0 if there is none.
pub(crate) async fn oversize_through(conn: &mut Connection) -> Result<Revision, StoreError> {
    let last: Option<i64> = Statement::new(
        "SELECT max(id) FROM (SELECT id, sum(length(body)) OVER (ORDER BY id DESC) AS n_bytes FROM commit_log) AS sizes \
         WHERE n_bytes > $1",
    )
    .bind(MAX_LOG_BYTES)
    .fetch_one(conn)
    .await?
    .get(0)?;
    Ok(last.map_or(Revision(0), revision_of))
}

/// Deletes some entries, the oldest first; answers whether there may be more.
pub(crate) async fn purge(conn: &mut Connection, through: Revision) -> Result<bool, StoreError> {
    let deleted = Statement::new(
        "DELETE FROM commit_log WHERE id IN (SELECT id FROM commit_log WHERE id < $1 ORDER BY id LIMIT $2)",
    )
    .bind(first_part(through.next()))
    .bind(PURGE_BATCH)
    .execute(conn)
    .await?;
    Ok(deleted > 0)
}
