//! A PostgreSQL server of one's own.

mod template;

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::EngineError;
use crate::leash::{Farewell, Leash};
use crate::port::Port;
use crate::programs::{self, RunAs};

/// The owner of everything; trusted without a password.
const USER: &str = "muster";
/// The database that is always there.
const DATABASE: &str = "postgres";

/// What must be free of the file system in memory for a server to live there.
const ENOUGH_MEMORY: u64 = 2 << 30;

/// How a server differs from the plain one.
#[derive(Debug, Clone, Default)]
pub struct PostgresOptions {
    /// Whether the data is on a disk and a commit waits for it. Without, nothing is lost when the server is killed, only
    /// when the machine is.
    pub fsync: bool,
    /// More settings, as `postgres -c NAME=VALUE` takes them.
    pub settings: Vec<(String, String)>,
}

/// A PostgreSQL server with its own folder, port and socket; gone when it is dropped.
#[derive(Debug)]
pub struct Postgres {
    /// First, as fields are dropped in this order: the server ends before its folder goes.
    running: Option<Leash>,
    programs: PathBuf,
    options: PostgresOptions,
    port: Port,
    folder: TempDir,
}

impl Postgres {
    /// A server that does not wait for the disk.
    pub fn start() -> Result<Self, EngineError> {
        Self::start_with(PostgresOptions::default())
    }

    pub fn start_with(options: PostgresOptions) -> Result<Self, EngineError> {
        let programs = programs::postgres()?;
        let run_as = RunAs::for_postgres();
        let place = place(&options);
        let folder = TempDir::with_prefix_in("muster-postgres-", &place)
            .map_err(EngineError::io("make a folder in", &place))?;
        run_as.give(folder.path())?;
        template::copy(&programs, run_as, &folder.path().join("data"))?;
        let mut postgres = Self {
            running: None,
            programs,
            options,
            port: Port::take()?,
            folder,
        };
        postgres.start_again()?;
        Ok(postgres)
    }

    /// Starts the server on the data and port that it had. One that runs goes on.
    pub fn start_again(&mut self) -> Result<(), EngineError> {
        if self.running.is_some() {
            return Ok(());
        }
        let folder = self.folder.path();
        let log = folder.join("log");
        let mut server = Command::new(self.programs.join("postgres"));
        server.arg("-D").arg(self.data()).arg("-k").arg(folder);
        server.args(["-p", &self.port.number().to_string()]);
        let fsync = if self.options.fsync { "on" } else { "off" };
        let fixed = [
            ("listen_addresses", "127.0.0.1"),
            // In its folder, and so gone with it.
            ("dynamic_shared_memory_type", "mmap"),
            ("fsync", fsync),
            ("full_page_writes", fsync),
            ("max_connections", "200"),
            ("max_wal_size", "256MB"),
            ("shared_buffers", "64MB"),
            ("timezone", "UTC"),
        ];
        let more = &self.options.settings;
        let more = more.iter().map(|(name, value)| (&**name, &**value));
        for (name, value) in fixed.into_iter().chain(more) {
            server.args(["-c", &format!("{name}={value}")]);
        }
        let run_as = RunAs::for_postgres();
        let mut leash = Leash::start("postgres", run_as, &server, Farewell::Quit, folder, &log)?;
        let pid = leash.server().as_raw_nonzero().to_string();
        let pid_file = self.pid_file();
        leash.await_ready(&log, || {
            let text = std::fs::read_to_string(&pid_file).unwrap_or_default();
            let mut lines = text.lines();
            lines.next() == Some(&pid) && lines.next_back().is_some_and(|l| l.trim() == "ready")
        })?;
        self.running = Some(leash);
        Ok(())
    }

    /// The address of the database that is always there.
    pub fn url(&self) -> String {
        self.url_of(DATABASE)
    }

    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Makes a database and answers its address.
    pub fn create_database(&self, name: &str) -> Result<String, EngineError> {
        self.execute(&format!(r#"CREATE DATABASE "{name}""#))?;
        Ok(self.url_of(name))
    }

    /// Runs statements in the database that is always there, and answers what `psql` writes.
    pub fn execute(&self, sql: &str) -> Result<String, EngineError> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]);
        programs::run(psql.arg(self.url()))
    }

    /// Ends it in order; connections are cut.
    pub fn stop(&mut self) -> Result<(), EngineError> {
        let Some(leash) = self.running.take() else {
            return Ok(());
        };
        leash.signal(Signal::INT);
        leash.await_gone()
    }

    /// Kills the whole server, as a power cut would, but for what it has written.
    pub fn kill(&mut self) -> Result<(), EngineError> {
        self.running.take().map_or(Ok(()), Leash::kill)
    }

    fn url_of(&self, database: &str) -> String {
        let port = self.port.number();
        format!("postgres://{USER}@127.0.0.1:{port}/{database}")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn pid_file(&self) -> PathBuf {
        self.data().join("postmaster.pid")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.running.take().is_none() {
            remove_shared_memory(&self.pid_file());
        }
    }
}

/// Whoever does not wait for the disk needs none, where there is memory enough: a fresh server is 40 MB in 1000 files.
fn place(options: &PostgresOptions) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |it| it.f_bavail * it.f_frsize);
    if options.fsync || free < ENOUGH_MEMORY {
        std::env::temp_dir()
    } else {
        memory.to_owned()
    }
}

/// One that was killed leaves a piece of shared memory behind, of which a machine has only so many. Its pid file, which it
/// leaves behind as well, tells which.
fn remove_shared_memory(pid_file: &Path) {
    let text = std::fs::read_to_string(pid_file).unwrap_or_default();
    let line = text.lines().nth(6).unwrap_or_default();
    if let Some(id) = line.split_whitespace().nth(1) {
        // Whether it is still there or not: nothing is lost by failing.
        let _ = programs::run(Command::new("ipcrm").args(["-m", id]));
    }
}
