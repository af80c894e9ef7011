//! PostgreSQL, for several replicas on one store.
//!
//! Callers must fail in time while the server is down, and recover by themselves afterwards. sqlx detects closed connections;
//! [`Watchdog`] detects connections that are open but dead.

mod watchdog;

use std::time::Duration;

use model::change::{Changes, Revision};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};
use tokio::time::timeout;

use crate::error::without_secrets;
use crate::migrate::migrate;
use crate::sql::{self, Connection, Statement};
use crate::transaction::Transaction;
use crate::{Cause, StoreError};
pub(crate) use watchdog::{Watchdog, in_time};

const MIGRATIONS: [&str; 9] = [
    include_str!("../migrations/postgres/0001_first.sql"),
    include_str!("../migrations/postgres/0002_supplier.sql"),
    include_str!("../migrations/postgres/0003_commit_log.sql"),
    include_str!("../migrations/postgres/0004_timeline.sql"),
    include_str!("../migrations/postgres/0005_task_operations.sql"),
    include_str!("../migrations/postgres/0006_logins.sql"),
    include_str!("../migrations/postgres/0007_removed_hosts.sql"),
    include_str!("../migrations/postgres/0008_host_labels.sql"),
    include_str!("../migrations/postgres/0009_versions.sql"),
];
/// An arbitrary number that no other program uses.
const MIGRATION_LOCK: i64 = 0x006d_7573_7465_7200;

/// Few, because each caches the statements that write many rows, which are large.
const WRITERS: u32 = 3;
const READERS: u32 = 5;
/// Reserved, so that no large call delays a query for the head.
const HEAD_CONNECTIONS: u32 = 2;
/// How long a call waits for a connection, for BEGIN and for COMMIT.
const PATIENCE: Duration = Duration::from_secs(5);
/// Every read waits for the head, so it fails early.
const HEAD_PATIENCE: Duration = Duration::from_secs(2);
/// A connection that was idle for this long is pinged before use.
const IDLE: Duration = Duration::from_secs(1);
/// Prepared statements that a connection caches: every table in every chunk size.
const STATEMENTS: usize = 512;

/// The settings of a new connection.
///
/// The timeouts limit how long a replica that hangs during a commit can block the others, and end statements of clients that
/// are gone. `synchronous_commit` must be on: an acknowledged commit is durable with any configuration of the server.
///
/// The statements are written so that each finds its rows through an index, in order. Without current statistics of a table
/// that has just grown, the planner would scan and sort all of it for each batch.
const SETTINGS: &str = "
    SET lock_timeout = '30s';
    SET statement_timeout = '120s';
    SET idle_in_transaction_session_timeout = '10s';
    SELECT set_config(name, '2s', false) FROM pg_settings WHERE name = 'client_connection_check_interval';
    SELECT set_config(name, 'on', false) FROM pg_settings WHERE name = 'synchronous_commit' AND setting = 'off';
    SET enable_seqscan = off;
    SET enable_sort = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SET plan_cache_mode = force_generic_plan;
    SET jit = off;
";

pub(crate) struct Postgres {
    writers: PgPool,
    readers: PgPool,
    heads: PgPool,
}

/// Does not show the options: they may contain a password.
impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").finish_non_exhaustive()
    }
}

impl Postgres {
    pub(crate) async fn open(url: &str) -> Result<Self, StoreError> {
        refuse_unknown_options(url)?;
        let options: PgConnectOptions = url.parse().map_err(|_| StoreError::Unsupported {
            url: without_secrets(url),
        })?;
        let options = options
            .application_name("muster")
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging();
        // A pool would report a timeout without its cause.
        let first = in_time(PATIENCE, options.connect()).await?;
        in_time(PATIENCE, first.close()).await?;
        let postgres = Self {
            writers: pool(WRITERS, PATIENCE, options.clone()),
            readers: pool(READERS, PATIENCE, options.clone()),
            heads: pool(HEAD_CONNECTIONS, HEAD_PATIENCE, options),
        };
        postgres.migrate().await?;
        Ok(postgres)
    }

    /// The first replica migrates, the others wait.
    async fn migrate(&self) -> Result<(), StoreError> {
        let mut tx = self.begin_write().await?;
        Statement::new("SELECT pg_advisory_xact_lock($1)")
            .bind(MIGRATION_LOCK)
            .execute(&mut tx)
            .await?;
        let versions = "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY)";
        migrate(&mut tx, versions, &MIGRATIONS).await?;
        tx.commit().await
    }

    /// A connection for one statement.
    pub(crate) async fn reader(&self) -> Result<Connection, StoreError> {
        let mut n_lost = 0;
        loop {
            let mut conn = self.connection(&self.readers).await?;
            match conn.run("SELECT 1", PATIENCE).await {
                Err(e) if is_lost(&e) && n_lost < READERS => n_lost += 1,
                answered => return answered.map(|()| conn),
            }
        }
    }

    async fn connection(&self, pool: &PgPool) -> Result<Connection, StoreError> {
        let conn = pool.acquire().await?;
        Ok(Connection::postgres(
            conn,
            Watchdog::new(self.heads.clone()),
        ))
    }

    /// Fails within [`HEAD_PATIENCE`].
    pub(crate) async fn head(&self) -> Result<Revision, StoreError> {
        in_time(HEAD_PATIENCE, async {
            let mut n_lost = 0;
            loop {
                let mut conn = self.connection(&self.heads).await?;
                match sql::revision::read(&mut conn).await {
                    Err(e) if is_lost(&e) && n_lost < HEAD_CONNECTIONS => n_lost += 1,
                    position => return Ok::<_, StoreError>(position?.head),
                }
            }
        })
        .await
    }

    /// Without a check of the connection before, which would cost as much as the statement: replicas follow each commit with it.
    pub(crate) async fn changes_since(
        &self,
        since: Revision,
    ) -> Result<(Revision, Changes), StoreError> {
        let mut n_lost = 0;
        loop {
            let mut conn = self.connection(&self.readers).await?;
            match sql::log::changes_since(&mut conn, since).await {
                Err(e) if is_lost(&e) && n_lost < READERS => n_lost += 1,
                read => return read,
            }
        }
    }

    pub(crate) async fn begin_read(&self) -> Result<Transaction, StoreError> {
        let statement = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        self.begin(&self.readers, statement).await
    }

    /// READ COMMITTED: a statement that waited for a lock sees the commit of its holder.
    pub(crate) async fn begin_write(&self) -> Result<Transaction, StoreError> {
        let statement = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
        self.begin(&self.writers, statement).await
    }

    async fn begin(
        &self,
        pool: &PgPool,
        statement: &'static str,
    ) -> Result<Transaction, StoreError> {
        let mut n_lost = 0;
        loop {
            let conn = self.connection(pool).await?;
            match Transaction::begin(conn, statement, PATIENCE).await {
                // The connection was closed while idle. No transaction has begun, so another connection will do.
                Err(e) if is_lost(&e) && n_lost < READERS.max(WRITERS) => n_lost += 1,
                begun => return begun,
            }
        }
    }

    pub(crate) async fn close(&self) {
        let all = async {
            self.writers.close().await;
            self.readers.close().await;
            self.heads.close().await;
        };
        // A server that does not answer is not waited for.
        let _ = timeout(PATIENCE, all).await;
    }
}

/// sqlx ignores unknown options and logs their values: a connection meant to be encrypted would not be, and a password under a
/// misspelt name would be logged.
fn refuse_unknown_options(url: &str) -> Result<(), StoreError> {
    let known = [
        "sslmode",
        "sslrootcert",
        "sslcert",
        "sslkey",
        "host",
        "hostaddr",
        "port",
        "dbname",
        "user",
        "password",
        "application_name",
        "options",
    ];
    let options = url.split_once('?').map_or("", |(_, options)| options);
    let mut names = options
        .split('&')
        .filter(|option| !option.is_empty())
        .map(|option| option.split(['=', '[']).next().unwrap_or_default());
    match names.find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(_) => Err(StoreError::UnknownOption {
            known: known.join(", "),
        }),
    }
}

fn pool(size: u32, patience: Duration, options: PgConnectOptions) -> PgPool {
    PgPoolOptions::new()
        .max_connections(size)
        .acquire_timeout(patience)
        .test_before_acquire(false)
        .before_acquire(|conn, state| {
            Box::pin(async move {
                if state.idle_for > IDLE {
                    conn.ping().await?;
                }
                Ok(true)
            })
        })
        .after_connect(|conn, _| {
            Box::pin(async move {
                conn.execute(sqlx::raw_sql(SETTINGS)).await?;
                Ok(())
            })
        })
        .connect_lazy_with(options)
}

/// Whether the connection was closed, in contrast to a server that refuses or does not answer.
fn is_lost(error: &StoreError) -> bool {
    let StoreError::Unavailable { source } = error else {
        return false;
    };
    match source.downcast_ref::<sqlx::Error>() {
        Some(sqlx::Error::Io(_)) => true,
        // The server closed it: shutdown, crash of another backend, idle timeout.
        Some(sqlx::Error::Database(e)) => e
            .code()
            .is_some_and(|code| code.starts_with("57P") || code == "25P03"),
        _ => false,
    }
}

pub(crate) fn no_answer(patience: Duration) -> Cause {
    format!("PostgreSQL did not answer within {} s", patience.as_secs()).into()
}
