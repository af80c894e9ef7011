//! Boot: data directory → addresses → store → control → first keys and CA → listeners. Shutdown is the same list backwards.

mod data;
mod replica;

pub use data::replace_private;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bus::{Bus, NatsError};
use control::{Control, ControlError, FirstKeys, LoginCode};
use futures_util::future::BoxFuture;
use store::{Store, StoreError};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};

use crate::agents::{self, AgentListener};
use crate::ca::{Ca, CaError};
use crate::cmdb::Cmdb;
use crate::http::listen::{CertificateError, HttpListener};
use crate::http::{HttpState, Readiness};
use crate::outgoing::tls_roots;
use crate::webhooks::WebhookClient;
use crate::{Config, Senders, limits};
use data::DataDir;
use replica::ReplicaParts;

/// Within the data directory.
const AGENT_BINARIES: &str = "agents";
const PACKAGED_BINARIES: &str = "/usr/lib/muster/agents";
/// How long requests and sessions may take to end when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error("cannot use the data directory {path}")]
    Data {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the data directory {path} is in use by another server")]
    InUse { path: PathBuf },
    #[error("cannot listen on {address} for {what}")]
    Listen {
        what: &'static str,
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot open the store")]
    Store(#[from] StoreError),
    #[error("cannot use the bus")]
    Bus(#[from] NatsError),
    #[error("a bus is for replicas, which need a store that they can share: --store postgres://…")]
    BusAlone,
    #[error("cannot start")]
    Control(#[from] ControlError),
    #[error("cannot use the certificate of the API")]
    HttpTls(#[from] CertificateError),
    #[error("cannot read the root certificates for webhooks and the CMDB")]
    Trust(#[source] CertificateError),
    #[error("cannot prepare the fleet's certificates")]
    Ca(#[from] CaError),
    #[error(
        "this replica was away for so long that the changes since are not all known: start it again, it will load everything"
    )]
    FellBehind,
    #[error("{part} ended by itself")]
    Ended {
        part: &'static str,
        #[source]
        source: Option<JoinError>,
    },
}

/// A server that is up.
#[derive(Debug)]
pub struct Running {
    /// The address of the API, with the port.
    pub http: SocketAddr,
    /// The same as a URL for clients on this machine.
    pub url: String,
    /// The address for agents, with the port.
    pub agents: SocketAddr,
    /// A join token for an agent on this machine, with the fingerprint of the CA.
    pub join_token: Option<String>,
    /// For programs that embed the server.
    pub control: Control,
    store: Store,
    bus: Option<Bus>,
    drain_timeout: Duration,
    stop_listeners: watch::Sender<bool>,
    stop_background: watch::Sender<bool>,
    http_task: JoinHandle<()>,
    agents_task: JoinHandle<()>,
    senders_task: JoinHandle<()>,
    background_task: JoinHandle<()>,
    _data: DataDir,
}

/// Starts everything; nothing is left behind when it fails.
///
/// Boxed, so that this crate compiles the server's futures once: an `async fn` is compiled by each crate that awaits it.
pub fn start(config: Config) -> BoxFuture<'static, Result<Running, BootError>> {
    Box::pin(start_parts(config))
}

async fn start_parts(config: Config) -> Result<Running, BootError> {
    limits::raise_open_files();
    let data = DataDir::open(&config.data)?;
    let http_listener = bind("the API", config.http)?;
    let http_listener = listen("the API", config.http, http_listener)?;
    let http_listener = HttpListener::new(http_listener, config.http_listener.clone())?;
    let tls = tls_roots(config.outgoing_ca.as_deref()).map_err(BootError::Trust)?;
    let agents_socket = bind("agents", config.agents)?;
    let agents_address = agents_socket.local_addr();
    let agents_address = agents_address.expect("a bound socket has an address");
    let http_address = http_listener.address();

    let ReplicaParts {
        store,
        bus,
        control,
        background,
    } = ReplicaParts::open(&config, data.sqlite_url()).await?;
    control.replicas().set_address(http_address.to_string());
    if let Some(cmdb) = config.cmdb.clone() {
        control
            .topology()
            .set_source(Arc::new(Cmdb::new(cmdb, &tls)));
    }
    let fixed = FirstKeys {
        app_code: config.app_code.clone(),
        app_secret: config.app_secret.clone(),
        join_token: config.join_token.clone(),
        is_app_trusted: None,
    };
    let keys = control.access().ensure_first_keys(fixed).await?;
    add_agent_binaries(&control, &config);
    let ca = Ca::load(&store).await?;
    let ca = Arc::new(ca.with_agent_life(config.agent_listener.certificate_life));
    let join_token = data.remember_join_token(keys.join_token.as_deref(), ca.fingerprint())?;
    data.remember_cli(&http_listener, &keys)?;

    let url = http_listener.url();
    let (stop_listeners, listeners_stopped) = watch::channel(false);
    let (stop_background, background_stopped) = watch::channel(false);
    let readiness = Readiness::default();
    let webhooks = WebhookClient::new(&tls);
    let state = HttpState::new(
        control.clone(),
        env!("CARGO_PKG_VERSION"),
        readiness,
        listeners_stopped.clone(),
    )
    .with_ca(ca.fingerprint())
    .with_agents_address(agents_address)
    .with_https(url.starts_with("https:"))
    .with_webhook_client(webhooks.clone());
    let limits = config.agent_listener.limits;
    let background_task = tokio::spawn(background.run(background_stopped));
    let senders_task =
        tokio::spawn(Senders::new(control.clone(), webhooks).run(listeners_stopped.clone()));
    // First learn which agents the other replicas have: an operation must not fail because this one does not know yet.
    control.replicas().wait_for_peers().await;
    // The kernel accepts no agent before: it would wait for an answer that does not come, instead of going to another replica. If
    // this fails, the tasks above stop with what stops them.
    let agents_listener = listen("agents", config.agents, agents_socket)?;
    let agents = AgentListener::new(control.clone(), ca, agents_listener, limits)?
        .beside(config.http_listener.max_connections, state.shed.clone())
        .with_relays(config.agent_listener.relays.clone())
        .with_relayed_agents(config.agent_listener.relayed_agents);
    let agents_task = tokio::spawn(agents.run(listeners_stopped.clone()));
    let http_task = tokio::spawn(http_listener.run(state, listeners_stopped));
    tracing::info!(http = %http_address, agents = %agents_address, data = %config.data.display(), "server is up");
    Ok(Running {
        http: http_address,
        url,
        agents: agents_address,
        join_token,
        control,
        store,
        bus,
        drain_timeout: config.agent_listener.drain_timeout,
        stop_listeners,
        stop_background,
        http_task,
        agents_task,
        senders_task,
        background_task,
        _data: data,
    })
}

/// The binaries of agents that this server hands out: those of its folders, of its package, and the programs that it was
/// installed or built with.
fn add_agent_binaries(control: &Control, config: &Config) {
    let binaries = control.agents().binaries();
    let own = config.data.join(AGENT_BINARIES);
    for folder in [own, PathBuf::from(PACKAGED_BINARIES)] {
        binaries.add_folder(folder);
    }
    let Ok(exe) = std::env::current_exe() else {
        return;
    };
    // An archive that was unpacked anywhere has the same layout.
    if let Some(root) = exe.parent().and_then(Path::parent) {
        binaries.add_folder(root.join("lib/muster/agents"));
    }
    let (version, arch) = (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    for program in ["muster-agent", "muster"] {
        let path = exe.with_file_name(program);
        if path.is_file() {
            binaries.add_file(path, program, version, arch);
        }
    }
}

impl Running {
    /// A link that logs a browser on this machine in once, as the first administrator, who is created if there are no users;
    /// None if that user was deleted or is no administrator any more.
    pub async fn login_link(&self) -> Result<Option<String>, BootError> {
        let code = self.control.access().first_login_code().await?;
        let link = |code: LoginCode| format!("{}{}", self.url, console::login_path(&code.code));
        Ok(code.map(link))
    }

    /// Asks the agents to move to other replicas, if there are any, and waits for that up to the drain timeout.
    pub async fn drain(&self) {
        if !self.control.sessions().has_other_replica() {
            return;
        }
        self.control.replicas().set_draining(true);
        tracing::info!(agents = self.control.sessions().n_agents(), "draining");
        let drained = tokio::time::timeout(
            self.drain_timeout,
            self.control.sessions().wait_until_drained(),
        );
        if drained.await.is_err() {
            let left = self.control.sessions().n_agents();
            tracing::warn!(left, "some agents did not move to another replica in time");
        }
    }

    /// Ends requests and sessions, saves statuses, and closes the bus and the store.
    pub fn stop(self) -> BoxFuture<'static, ()> {
        Box::pin(self.stop_parts())
    }

    async fn stop_parts(self) {
        self.stop_listeners.send_replace(true);
        let listeners = async { tokio::join!(self.http_task, self.agents_task, self.senders_task) };
        if tokio::time::timeout(STOP_TIMEOUT, listeners).await.is_err() {
            tracing::warn!("some connections did not end in time");
        }
        self.stop_background.send_replace(true);
        if tokio::time::timeout(STOP_TIMEOUT, self.background_task)
            .await
            .is_err()
        {
            tracing::warn!("the background work did not end in time");
        }
        if let Some(bus) = self.bus {
            bus.close().await;
        }
        self.store.close().await;
        tracing::info!("server stopped");
    }

    /// Resolves when the server cannot go on, with the reason.
    pub async fn finished(&mut self) -> BootError {
        let control = self.control.clone();
        let (part, ended) = tokio::select! {
            () = control.replicas().wait_until_too_old() => return BootError::FellBehind,
            ended = &mut self.http_task => ("the API", ended),
            ended = &mut self.agents_task => ("the listener for agents", ended),
            ended = &mut self.senders_task => ("the senders of webhooks", ended),
            ended = &mut self.background_task => ("the background work", ended),
        };
        BootError::Ended {
            part,
            source: ended.err(),
        }
    }
}

fn bind(what: &'static str, address: SocketAddr) -> Result<TcpSocket, BootError> {
    agents::bind(address).map_err(|source| BootError::Listen {
        what,
        address,
        source,
    })
}

fn listen(
    what: &'static str,
    address: SocketAddr,
    socket: TcpSocket,
) -> Result<TcpListener, BootError> {
    agents::listen(socket).map_err(|source| BootError::Listen {
        what,
        address,
        source,
    })
}
