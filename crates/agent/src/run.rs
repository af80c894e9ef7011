//! The boot order: configuration → data directory → identity → supervisor → enrolment → sessions.
//!
//! Everything runs on one thread as one future: a panic anywhere ends the agent, and a restart recovers. Stopping the agent
//! touches no process.

use std::io::Write;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use rcgen::KeyPair;
use supervisor::ourselves::{hold_hangups, take_hangups};
use supervisor::{Options, Supervisor, missing_features};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::answer::UpgradeFolder;
use crate::backoff::{Attempt, Backoff, random_fraction};
use crate::check::CheckSubject;
use crate::config::{AgentArgs, AgentConfig};
use crate::connect::connect;
use crate::data::DataDir;
use crate::enrol::{EnrolError, enrol};
use crate::error::{AgentError, chain};
use crate::facts::HostFacts;
use crate::identity::{self, EnrolmentState, Identity, IdentityError};
use crate::image::{self, Image};
use crate::join_only::join_only;
use crate::log;
use crate::memory::MemoryWatch;
use crate::renewal::{Credentials, keep_renewing};
use crate::server_order::ServerOrder;
use crate::session::AgentInfo;
use crate::sessions::{SessionsEnd, run_sessions, wait};
use crate::state::AgentState;
use crate::supervisor_link::{SupervisorGone, SupervisorLink};

/// Within the data directory.
const SUPERVISOR_DIR: &str = "supervisor";
/// Capacity of the queues to and from the supervisor.
const QUEUE: usize = 256;
/// Limit for the supervisor to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
const OOM_SCORE_ADJ: &str = "-900";

/// Implements `muster-agent` and `muster agent`; `program` is the name of the binary.
pub fn command(program: &'static str, args: AgentArgs) -> Result<(), AgentError> {
    let config = AgentConfig::resolve(&args, |name| std::env::var(name).ok())?;
    if args.print_config {
        std::io::stdout().write_all(config.to_toml().as_bytes())?;
        return Ok(());
    }
    log::init(config.log, config.log_format);
    if args.join_only {
        writeln!(std::io::stdout(), "{}", join_only(&config)?)?;
        return Ok(());
    }
    run(program, config)
}

/// Runs an agent on this thread until SIGTERM or SIGINT. On SIGHUP, or when it uses too much memory, it executes the program
/// at its path.
pub fn run(program: &'static str, config: AgentConfig) -> Result<(), AgentError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Other threads block SIGHUP, so that one that arrives during `execve` stays pending for the next image.
        .on_thread_start(hold_hangups)
        .build()?;
    runtime.block_on(async {
        let mut signals = Signals::new()?;
        // The previous image left SIGHUP blocked; the handler is installed now.
        take_hangups();
        let mut memory = MemoryWatch::new(config.memory_max);
        let image = Image::this(program)?;
        let mut exec_error = None;
        loop {
            let stop = CancellationToken::new();
            let image_state = Some((&image, exec_error.take()));
            let agent = run_agent(config.clone(), stop.clone(), image_state);
            tokio::pin!(agent);
            let reason = tokio::select! {
                result = &mut agent => return result,
                reason = signals.recv() => reason,
                () = memory.too_much() => StopReason::Reexec,
            };
            stop.cancel();
            agent.await?;
            // A SIGTERM of meanwhile would be lost with `execve`.
            if reason == StopReason::Exit || signals.must_exit().await {
                return Ok(());
            }
            tracing::info!("upgrading: starting the binary that is now at this agent's path");
            let error = image.exec(memory.reexec_at());
            tracing::error!(%error, "the new binary cannot be started: this agent continues");
            exec_error = Some(error.to_string());
        }
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopReason {
    Exit,
    Reexec,
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn recv(&mut self) -> StopReason {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => StopReason::Exit,
            _ = self.interrupt.recv() => StopReason::Exit,
            _ = self.hangup.recv() => StopReason::Reexec,
        }
    }

    async fn must_exit(&mut self) -> bool {
        tokio::task::yield_now().await;
        tokio::select! {
            biased;
            _ = self.terminate.recv() => true,
            _ = self.interrupt.recv() => true,
            () = std::future::ready(()) => false,
        }
    }
}

/// Runs an agent until `stop`, which leaves every process running.
///
/// Needs a thread of its own with a current-thread runtime: the supervisor switches the credentials of its thread.
/// Boxed, so that this crate compiles the agent's futures once: an `async fn` is compiled by each crate that awaits it.
pub fn run_until(
    config: AgentConfig,
    stop: CancellationToken,
) -> LocalBoxFuture<'static, Result<(), AgentError>> {
    Box::pin(run_agent(config, stop, None))
}

/// `image` is set if the process is nothing but this agent: then the agent can be upgraded, and writes `agent.run`.
async fn run_agent(
    config: AgentConfig,
    stop: CancellationToken,
    image: Option<(&Image, Option<String>)>,
) -> Result<(), AgentError> {
    let data = DataDir::open(&config.data)?;
    let enrolment = identity::determine(&data, &config, crate::session::now())?;
    protect_from_oom();

    let options = Options {
        // In a process that is more than an agent, the agent cannot tell its own CPU time.
        cpu_max: image.is_some().then_some(config.cpu_max),
        control_groups: config.cgroups,
        output_runs: config.output_runs,
        output_max: config.output_max,
        ..Options::default()
    };
    let (supervisor, recovered) = Supervisor::open(&data.path().join(SUPERVISOR_DIR), options)?;
    let (request_tx, requests) = mpsc::channel(QUEUE);
    let (notices, notice_rx) = mpsc::channel(QUEUE);
    let facts = HostFacts {
        missing: missing_features(config.cgroups),
        program: image
            .as_ref()
            .map_or("", |(image, _)| image.program())
            .to_owned(),
        ..HostFacts::read()
    };
    for feature in facts.missing.iter() {
        tracing::warn!(
            feature = feature.as_str(),
            "this kernel does not offer or permit it: the agent {}",
            feature.without()
        );
    }
    let mut state = AgentState::new(recovered, SupervisorLink::new(request_tx, notice_rx))
        .with_release(config.release.clone())
        .with_check(CheckSubject::of(&config))
        .with_facts(facts);
    if let Some((image, _)) = &image {
        state = state.with_upgrades(UpgradeFolder::new(data.path(), image.program()));
    }

    let connected = state.connected();
    let writing_run_file = async {
        match image {
            Some((image, exec_error)) => {
                let file = image.run_file(&data, exec_error);
                image::keep_run_file(&data, file, connected).await;
            }
            None => std::future::pending().await,
        }
    };
    let (stop_supervisor, supervisor_stopped) = watch::channel(false);
    let supervising = supervisor.run(requests, notices, supervisor_stopped);
    let connecting = async {
        keep_connected(&config, &data, enrolment, &mut state, &stop).await?;
        tracing::info!(held = state.n_held(), "agent stops; processes keep running");
        // Fails if the supervisor has ended.
        let _ = stop_supervisor.send(true);
        // Notices after the timeout are in the journal and are read at the next start.
        let _ = timeout(STOP_TIMEOUT, state.serve_supervisor()).await;
        Ok::<_, AgentError>(())
    };
    // Written after the supervisor's first poll, because `agent.run` says that it supervises.
    let supervising = async {
        tokio::pin!(supervising, writing_run_file);
        tokio::select! {
            biased;
            ended = &mut supervising => ended,
            () = &mut writing_run_file => supervising.await,
        }
    };
    tokio::select! {
        biased;
        stopped = connecting => stopped,
        ended = supervising => match (ended, stop.is_cancelled()) {
            (Ok(()), false) => Err(SupervisorGone.into()),
            (ended, _) => Ok(ended?),
        },
    }
}

/// Keeps the agent connected until `stop`: enrols it if needed, runs sessions, and renews the certificate.
pub async fn keep_connected(
    config: &AgentConfig,
    data: &DataDir,
    enrolment: EnrolmentState,
    state: &mut AgentState,
    stop: &CancellationToken,
) -> Result<(), AgentError> {
    let mut identity = match enrolment {
        EnrolmentState::Enrolled(identity) => identity,
        EnrolmentState::NotEnrolled { host, key } => {
            let enrolment = Enrolment {
                config,
                data,
                host,
                key,
            };
            match enrolment.run(state, stop).await? {
                Some(identity) => identity,
                None => return Ok(()),
            }
        }
    };
    loop {
        match keep_connected_as(identity, config, data, state, stop).await? {
            SessionsEnd::Stopping => return Ok(()),
            SessionsEnd::MustJoin => {}
        }
        let Some(joined) = join_again(config, data, state, stop).await? else {
            return Ok(());
        };
        identity = joined;
    }
}

/// Runs sessions with one identity, and its renewals.
async fn keep_connected_as(
    identity: Identity,
    config: &AgentConfig,
    data: &DataDir,
    state: &mut AgentState,
    stop: &CancellationToken,
) -> Result<SessionsEnd, AgentError> {
    let credentials = Credentials::new(&identity)?;
    let info = AgentInfo {
        host: identity.host,
        agent_id: identity.agent_id.clone(),
        facts: state.facts().clone(),
        clock: crate::session::now,
    };
    tracing::info!(host = %info.host, agent_id = %info.agent_id, held = state.n_held(), "agent started");

    let running = run_sessions(
        config.servers.len(),
        async |server| connect(&config.servers[server], &credentials.tls()).await,
        random_fraction,
        &info,
        state,
        stop,
    );
    let renewing = keep_renewing(config, data, identity, &credentials, info.clock);
    tokio::select! {
        ended = running => ended,
        // Boxed: it sleeps for weeks.
        failed = Box::pin(renewing) => Err(failed),
    }
}

/// Enrols again, with a new key, when the server does not accept the certificate any more. Without a valid token it waits
/// and keeps the old identity. `None` when the agent is stopping.
async fn join_again(
    config: &AgentConfig,
    data: &DataDir,
    state: &mut AgentState,
    stop: &CancellationToken,
) -> Result<Option<Identity>, AgentError> {
    let known = identity::load(data)?.ok_or(IdentityError::NoToken)?;
    if let Some(token) = &config.join {
        let key = identity::make_key()?;
        let order = ServerOrder::new(config.servers.len(), random_fraction);
        let server = &config.servers[order.current()];
        let enrolled = tokio::select! {
            gone = state.serve_supervisor() => return Err(gone.into()),
            () = stop.cancelled() => return Ok(None),
            enrolled = enrol(server, &token.0, known.host, Some(&known.agent_id), &key) => enrolled,
        };
        match enrolled {
            Ok(identity) => {
                identity::save(data, &identity, &key)?;
                tracing::info!(host = %identity.host, agent_id = %identity.agent_id, "joined again");
                return Ok(Some(identity));
            }
            Err(error) => {
                tracing::error!(error = %chain(&error), "the join token did not let this agent join again")
            }
        }
    }
    let delay = Backoff::default().delay(Attempt::Refused, random_fraction());
    match wait(delay, state, stop).await?.is_stopping() {
        true => Ok(None),
        false => Ok(Some(known)),
    }
}

/// The first enrolment, retried until it succeeds or is refused.
struct Enrolment<'a> {
    config: &'a AgentConfig,
    data: &'a DataDir,
    host: model::Host,
    key: KeyPair,
}

impl Enrolment<'_> {
    /// `None` when the agent is stopping.
    async fn run(
        &self,
        state: &mut AgentState,
        stop: &CancellationToken,
    ) -> Result<Option<Identity>, AgentError> {
        let token = self.config.join.as_ref().ok_or(IdentityError::NoToken)?;
        let agent_id = self.config.agent_id.as_ref();
        let mut backoff = Backoff::default();
        let mut order = ServerOrder::new(self.config.servers.len(), random_fraction);
        loop {
            let server = &self.config.servers[order.current()];
            let enrolled = tokio::select! {
                gone = state.serve_supervisor() => return Err(gone.into()),
                () = stop.cancelled() => return Ok(None),
                enrolled = enrol(server, &token.0, self.host, agent_id, &self.key) => enrolled,
            };
            let error = match enrolled {
                Ok(identity) => {
                    identity::save(self.data, &identity, &self.key)?;
                    tracing::info!(host = %identity.host, agent_id = %identity.agent_id, "enrolled");
                    return Ok(Some(identity));
                }
                Err(error) if !error.is_transient() => return Err(error.into()),
                Err(error) => error,
            };
            let delay = match (&error, order.failed()) {
                // All servers give the same answer.
                (EnrolError::NotYet(_), _) => backoff.delay(Attempt::Refused, random_fraction()),
                (_, true) => Backoff::next_server(random_fraction()),
                (_, false) => backoff.delay(Attempt::Failed, random_fraction()),
            };
            tracing::warn!(error = %chain(&error), retry_in_secs = delay.as_secs(), "cannot enrol; trying again");
            if wait(delay, state, stop).await?.is_stopping() {
                return Ok(None);
            }
        }
    }
}

/// Makes the out-of-memory killer choose the agent last. Its children reset their score.
fn protect_from_oom() {
    if rustix::process::geteuid().is_root()
        && let Err(error) = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE_ADJ)
    {
        tracing::debug!(%error, "no protection from the out-of-memory killer");
    }
}
