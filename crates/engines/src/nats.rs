//! NATS servers of one's own.

mod cluster;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::EngineError;
use crate::leash::{Farewell, Leash};
use crate::port::Port;
use crate::programs::{self, RunAs};

pub use cluster::NatsCluster;

/// A NATS server with its own ports; gone when it is dropped.
#[derive(Debug)]
pub struct Nats {
    /// First, as fields are dropped in this order: the server ends before its folder goes.
    running: Option<Leash>,
    port: Port,
    monitoring: Port,
    arguments: Vec<String>,
    folder: TempDir,
}

impl Nats {
    pub fn start() -> Result<Self, EngineError> {
        Self::start_with(&[])
    }

    /// With more arguments, as `nats-server` takes them.
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

    /// Starts the server on the port that it had. One that runs goes on.
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
        let farewell = Farewell::Kill;
        let mut leash = Leash::start(
            "nats-server",
            RunAs::Ourselves,
            &server,
            farewell,
            folder,
            &log,
        )?;
        let port = self.port();
        leash.await_ready(&log, || greets(port))?;
        self.running = Some(leash);
        Ok(())
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port())
    }

    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Ends it in order.
    pub fn stop(&mut self) -> Result<(), EngineError> {
        let Some(leash) = self.running.take() else {
            return Ok(());
        };
        leash.signal(Signal::TERM);
        leash.await_gone()
    }

    pub fn kill(&mut self) -> Result<(), EngineError> {
        self.running.take().map_or(Ok(()), Leash::kill)
    }

    /// Lets it hang: connections stay, and nobody answers.
    pub fn pause(&self) {
        if let Some(leash) = &self.running {
            leash.signal(Signal::STOP);
        }
    }

    pub fn resume(&self) {
        if let Some(leash) = &self.running {
            leash.signal(Signal::CONT);
        }
    }
}

impl Nats {
    /// The names of the servers that it has routes to; none, when it does not answer.
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

/// A server that serves speaks first.
fn greets(port: u16) -> bool {
    let mut greeting = [0; 4];
    let heard = connect(port).and_then(|mut connection| connection.read_exact(&mut greeting));
    heard.is_ok() && greeting == *b"INFO"
}
