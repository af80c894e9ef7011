//! A NATS server for a test.

mod cluster;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::EngineError;
use crate::port::Port;
use crate::programs::{self, RunAs};
use crate::server_process::{ServerProcess, StopSignal};

pub use cluster::NatsCluster;

/// A NATS server with its own ports. It ends when this is dropped.
#[derive(Debug)]
pub struct Nats {
    /// Fields are dropped in this order: the server ends before its folder is removed.
    running: Option<ServerProcess>,
    port: Port,
    monitoring: Port,
    arguments: Vec<String>,
    folder: TempDir,
}

impl Nats {
    pub fn start() -> Result<Self, EngineError> {
        Self::start_with(&[])
    }

    /// With additional arguments for `nats-server`.
    pub fn start_with(arguments: &[&str]) -> Result<Self, EngineError> {
        let mut nats = Self::prepare(arguments.iter().map(|&it| it.into()).collect())?;
        nats.start_again()?;
        Ok(nats)
    }

    fn prepare(arguments: Vec<String>) -> Result<Self, EngineError> {
        let temporary = std::env::temp_dir();
        let folder = TempDir::with_prefix_in("muster-nats-", &temporary)
            .map_err(EngineError::io("make a folder in", &temporary))?;
        Ok(Self {
            running: None,
            port: Port::take()?,
            monitoring: Port::take()?,
            arguments,
            folder,
        })
    }

    /// Starts a stopped server on its old port.
    pub fn start_again(&mut self) -> Result<(), EngineError> {
        if self.running.is_some() {
            return Ok(());
        }
        let folder = self.folder.path();
        let log = folder.join("log");
        let mut server = Command::new(programs::nats_server()?);
        server.args(["-a", "127.0.0.1", "-p", &self.port.number().to_string()]);
        server.args(["-m", &self.monitoring.number().to_string()]);
        server.args(&self.arguments);
        let stop_signal = StopSignal::Kill;
        let mut process = ServerProcess::start(
            "nats-server",
            RunAs::SameUser,
            &server,
            stop_signal,
            folder,
            &log,
        )?;
        let port = self.port();
        process.await_ready(&log, || sends_info(port))?;
        self.running = Some(process);
        Ok(())
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port())
    }

    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Shuts it down with SIGTERM.
    pub fn stop(&mut self) -> Result<(), EngineError> {
        let Some(process) = self.running.take() else {
            return Ok(());
        };
        process.signal(Signal::TERM);
        process.await_gone()
    }

    pub fn kill(&mut self) -> Result<(), EngineError> {
        self.running.take().map_or(Ok(()), ServerProcess::kill)
    }

    /// Makes it hang: connections stay open, without answers.
    pub fn pause(&self) {
        if let Some(process) = &self.running {
            process.signal(Signal::STOP);
        }
    }

    pub fn resume(&self) {
        if let Some(process) = &self.running {
            process.signal(Signal::CONT);
        }
    }
}

impl Nats {
    /// The names of the servers that it has routes to; empty if it does not answer.
    fn routes(&self) -> BTreeSet<String> {
        let page = self.monitoring_page("/routez").unwrap_or_default();
        let names = page.split("\"remote_id\"").skip(1);
        names
            .filter_map(|rest| Some(rest.split('"').nth(1)?.to_owned()))
            .collect()
    }

    fn monitoring_page(&self, path: &str) -> std::io::Result<String> {
        let mut connection = connect(self.monitoring.number())?;
        write!(connection, "GET {path} HTTP/1.0\r\n\r\n")?;
        let mut page = String::new();
        connection.read_to_string(&mut page)?;
        Ok(page)
    }
}

fn connect(port: u16) -> std::io::Result<TcpStream> {
    let connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    connection.set_read_timeout(Some(Duration::from_secs(1)))?;
    Ok(connection)
}

/// A server that is ready sends `INFO` first.
fn sends_info(port: u16) -> bool {
    let mut first = [0; 4];
    let read = connect(port).and_then(|mut connection| connection.read_exact(&mut first));
    read.is_ok() && first == *b"INFO"
}
