//! A PostgreSQL server for a test.

mod template;

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::EngineError;
use crate::port::Port;
use crate::programs::{self, RunAs};
use crate::server_process::{ServerProcess, StopSignal};

/// The owner of all databases; needs no password.
const USER: &str = "muster";
/// The default database.
const DATABASE: &str = "postgres";

/// How much of `/dev/shm` must be free for a server to be there.
const ENOUGH_MEMORY: u64 = 2 << 30;

/// Options of a server.
#[derive(Debug, Clone, Default)]
pub struct PostgresOptions {
    /// Whether the data is on disk and commits are fsynced. Otherwise commits survive a kill of the server, but not of the
    /// machine.
    pub fsync: bool,
    /// Additional settings for `postgres -c NAME=VALUE`.
    pub settings: Vec<(String, String)>,
}

/// A PostgreSQL server with its own folder, port and socket. It ends when this is dropped.
#[derive(Debug)]
pub struct Postgres {
    /// Fields are dropped in this order: the server ends before its folder is removed.
    running: Option<ServerProcess>,
    programs: PathBuf,
    options: PostgresOptions,
    port: Port,
    folder: TempDir,
}

impl Postgres {
    /// A server without fsync.
    pub fn start() -> Result<Self, EngineError> {
        Self::start_with(PostgresOptions::default())
    }

    pub fn start_with(options: PostgresOptions) -> Result<Self, EngineError> {
        let programs = programs::postgres()?;
        let run_as = RunAs::for_postgres();
        let parent = parent_folder(&options);
        let folder = TempDir::with_prefix_in("muster-postgres-", &parent)
            .map_err(EngineError::io("make a folder in", &parent))?;
        run_as.chown(folder.path())?;
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

    /// Starts a stopped server on its old data and port.
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
            // In its folder, so that it is removed with it.
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
        let mut process =
            ServerProcess::start("postgres", run_as, &server, StopSignal::Quit, folder, &log)?;
        let pid = process.server().as_raw_nonzero().to_string();
        let pid_file = self.pid_file();
        process.await_ready(&log, || {
            let text = std::fs::read_to_string(&pid_file).unwrap_or_default();
            let mut lines = text.lines();
            lines.next() == Some(&pid) && lines.next_back().is_some_and(|l| l.trim() == "ready")
        })?;
        self.running = Some(process);
        Ok(())
    }

    /// The URL of the default database.
    pub fn url(&self) -> String {
        self.url_of(DATABASE)
    }

    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Creates a database and answers its URL.
    pub fn create_database(&self, name: &str) -> Result<String, EngineError> {
        self.execute(&format!(r#"CREATE DATABASE "{name}""#))?;
        Ok(self.url_of(name))
    }

    /// Runs statements in the default database, and answers the output of `psql`.
    pub fn execute(&self, sql: &str) -> Result<String, EngineError> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]);
        programs::run(psql.arg(self.url()))
    }

    /// Shuts it down with SIGINT, which closes its connections.
    pub fn stop(&mut self) -> Result<(), EngineError> {
        let Some(process) = self.running.take() else {
            return Ok(());
        };
        process.signal(Signal::INT);
        process.await_gone()
    }

    /// Kills all its processes; written data stays.
    pub fn kill(&mut self) -> Result<(), EngineError> {
        self.running.take().map_or(Ok(()), ServerProcess::kill)
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

/// The parent folder: memory for a server without fsync, if there is enough. A new server has 40 MB in 1000 files.
fn parent_folder(options: &PostgresOptions) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |it| it.f_bavail * it.f_frsize);
    if options.fsync || free < ENOUGH_MEMORY {
        std::env::temp_dir()
    } else {
        memory.to_owned()
    }
}

/// A killed server leaves a shared memory segment behind, of which a machine has a limited number. Its pid file has the id.
fn remove_shared_memory(pid_file: &Path) {
    let text = std::fs::read_to_string(pid_file).unwrap_or_default();
    let line = text.lines().nth(6).unwrap_or_default();
    if let Some(id) = line.split_whitespace().nth(1) {
        // An error means that it is gone already.
        let _ = programs::run(Command::new("ipcrm").args(["-m", id]));
    }
}
