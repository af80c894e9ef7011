//! PostgreSQL: several replicas on one truth.
//!
//! Whoever waits for it must learn in time that it is not there, and go on by itself when it is back. sqlx finds out about
//! connections that are cut; about those that are silent it does not, so [`Pulse`] watches.

mod pulse;

use std::time::Duration;

use model::change::Revision;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};
use tokio::time::timeout;

use crate::error::without_secrets;
use crate::migrate::migrate;
use crate::sql::{self, Connection, Statement};
use crate::transaction::Transaction;
use crate::{Cause, StoreError};
pub(crate) use pulse::{Pulse, in_time};

const MIGRATIONS: [&str; 3] = [
    include_str!("../migrations/postgres/0001_first.sql"),
    include_str!("../migrations/postgres/0002_supplier.sql"),
    include_str!("../migrations/postgres/0003_commit_log.sql"),
];
/// Any number will do, as long as no other program has it.
const MIGRATION_LOCK: i64 = 0x006d_7573_7465_7200;

/// Few, because each keeps the statements that write many rows, which are large.
const WRITERS: u32 = 3;
const READERS: u32 = 5;
/// Of their own, so that no big call keeps others from asking for the head.
const HEAD_CONNECTIONS: u32 = 2;
/// How long a call waits for a connection, and for the begin and the end of a transaction.
const PATIENCE: Duration = Duration::from_secs(5);
/// The head is asked for again and again, by callers who have better things to do than to wait.
const HEAD_PATIENCE: Duration = Duration::from_secs(2);
/// A connection that was not used for so long is asked whether it is still there.
const IDLE: Duration = Duration::from_secs(1);
/// Prepared statements kept by a connection: every table in every chunk size.
const STATEMENTS: usize = 512;

/// What a connection is told first.
///
/// A replica that stops in the middle of a commit holds up all others: not for long. One that is gone must not be worked
/// for. And acknowledged means durable, whatever the server is set to.
///
/// The statements are written so that each finds its rows through an index, in their order, as SQLite must. A planner that
/// has not yet counted a table that has just grown would rather read all of it, again for each piece.
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

/// Says nothing of how it connects: there may be a password in it.
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
        // A pool would only say that nobody answers, not why.
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

    /// Whichever replica comes first does it, the others wait.
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

    /// For one statement.
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
        Ok(Connection::postgres(conn, Pulse::new(self.heads.clone())))
    }

    /// One tiny query.
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

    pub(crate) async fn begin_read(&self) -> Result<Transaction, StoreError> {
        let statement = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        self.begin(&self.readers, statement).await
    }

    /// Each statement sees what was committed before it: after the wait for a lock, what its holder did.
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
                // It was cut while nobody used it. Nothing has begun, so another one will do.
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
        // A server that is silent now does not hear the farewell.
        let _heard = timeout(PATIENCE, all).await;
    }
}

/// sqlx would go on without, and write the value to the log: a connection that was to be encrypted would not be, and a
/// password with a wrong name would be shown.
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

/// Whether the connection was cut, as opposed to a server that refuses or is silent.
fn is_lost(error: &StoreError) -> bool {
    let StoreError::Unavailable { source } = error else {
        return false;
    };
    match source.downcast_ref::<sqlx::Error>() {
        Some(sqlx::Error::Io(_)) => true,
        // The server ended it: shutdown, crash of another, idle for too long.
        Some(sqlx::Error::Database(e)) => e
            .code()
            .is_some_and(|code| code.starts_with("57P") || code == "25P03"),
        _ => false,
    }
}

pub(crate) fn silent(patience: Duration) -> Cause {
    format!("PostgreSQL did not answer within {} s", patience.as_secs()).into()
}
