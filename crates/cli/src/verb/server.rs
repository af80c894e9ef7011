//! `muster server`: runs a server.

mod systemd;

use serde_json::json;

use super::{Context, environment};
use crate::config::{ServerArgs, ServerConfig};
use crate::failure::{Exit, Failure, Kind, chain};
use crate::out::Out;

pub const EXAMPLES: &str = "\
Examples:
  For this machine only:
    muster server --data ./data
  For a fleet: agents from anywhere (they prove who they are), the API on this machine:
    muster server --data /var/lib/muster --http 127.0.0.1:7100 --agents '[::]:7101'
  One of several replicas, each with a data directory of its own:
    muster server --data /var/lib/muster --store postgres://muster@db/muster \\
      --bus nats://n1:4222,nats://n2:4222,nats://n3:4222
  What would it use?
    muster server --config /etc/muster/server.toml --print-config

Keys and credentials are made at the first start; the command line on this machine finds
them in the data directory. See muster token create for agents.";

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub server: ServerArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let config = ServerConfig::resolve(&args.server, context.data(), &environment)?;
    if args.server.print_config {
        context.out.config(&config.to_table())?;
        return Ok(Exit::Ok);
    }
    agent::log::init(config.log, config.log_format);
    block_on(serve(&context.out, config.server))
}

async fn serve(out: &Out, config: server::Config) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let mut running = server::start(config).await.map_err(|e| boot_failure(&e))?;
    running.control.return_memory_by(agent::give_memory_back);
    let url = match running.url.starts_with("https:") {
        true => running.url.clone(),
        false => format!("http://{}", running.http),
    };
    match out.is_document() {
        true => out.stream_document(&json!({
            "url": url,
            "agents": running.agents,
        }))?,
        false => out.success(format!("API on {url}, agents on {}", running.agents))?,
    }
    systemd::tell_ready();
    tokio::select! {
        () = signals.recv() => {}
        error = running.finished() => return Err(boot_failure(&error)),
    }
    // A second signal skips waiting for the agents.
    tokio::select! {
        () = running.drain() => {}
        () = signals.recv() => {}
    }
    running.stop().await;
    Ok(Exit::Ok)
}

/// Runs a server to its end. A call to a webhook or to the CMDB that still waits for its response is abandoned.
pub(super) fn block_on(
    server: impl Future<Output = Result<Exit, Failure>>,
) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let exit = runtime.block_on(server);
    runtime.shutdown_background();
    exit
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::new(Kind::Failed, format!("cannot start: {e}")))
}

/// Catches SIGINT and SIGTERM from its creation on.
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    pub(super) fn new() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let bad = |e| Failure::new(Kind::Failed, format!("signals cannot be caught: {e}"));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(bad)?,
            terminate: signal(SignalKind::terminate()).map_err(bad)?,
        })
    }

    pub(super) async fn recv(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// The failure of a server that does not start or does not go on, with advice.
pub(super) fn boot_failure(error: &server::BootError) -> Failure {
    let failure = Failure::new(Kind::Failed, chain(error));
    match error {
        server::BootError::Listen { .. } => failure.advise(
            "is another Muster running? choose other addresses with --http and --agents, or port 0 for any",
        ),
        server::BootError::InUse { .. } => failure
            .advise("one server uses a data directory at a time: stop that one, or choose another --data"),
        server::BootError::BusAlone => failure.advise("leave --bus out, or move to PostgreSQL: muster store copy --help"),
        server::BootError::Data { .. } => failure.advise("choose a directory that you may write: --data DIR"),
        _ => failure,
    }
}
