//! The boot order, in one place: configuration → data directory → who we are → supervisor → enrolment → sessions.
//!
//! Everything runs on one thread, as parts of one future: a panic in any of them ends the agent, and starting again is
//! the tested way on. Leaving touches no process.

use std::io::Write;
use std::time::Duration;

use rcgen::KeyPair;
use supervisor::ourselves::{hold_hangups, take_hangups};
use supervisor::{Options, Supervisor};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::backoff::{Attempt, Backoff, chance};
use crate::choice::Choice;
use crate::config::{AgentArgs, AgentConfig};
use crate::connect::connect;
use crate::data::DataDir;
use crate::enrol::{EnrolError, enrol};
use crate::error::{AgentError, chain};
use crate::facts::Facts;
use crate::hand::Hand;
use crate::identity::{self, Identity, IdentityError, Standing};
use crate::image::{self, Image};
use crate::keeper::{Keeper, SupervisorGone};
use crate::log;
use crate::memory::MemoryWatch;
use crate::renewal::{Credentials, keep_renewing};
use crate::session::Speaker;
use crate::sessions::{Parted, sessions, wait};

/// Within the data directory.
const SUPERVISOR_DIR: &str = "supervisor";
/// Requests and notices on their way, each.
const QUEUE: usize = 256;
/// How long the supervisor may take to leave.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);
const OOM_SCORE_ADJ: &str = "-900";

/// The whole of `muster-agent` and `muster agent`; `program` is which of the two.
pub fn command(program: &'static str, args: AgentArgs) -> Result<(), AgentError> {
    let config = AgentConfig::resolve(&args, |name| std::env::var(name).ok())?;
    if args.print_config {
        std::io::stdout().write_all(config.to_toml().as_bytes())?;
        return Ok(());
    }
    log::init(config.log, config.log_format);
    run(program, config)
}

/// Runs an agent on this thread until SIGTERM or SIGINT. At SIGHUP it becomes the program that is at its path by then, and
/// likewise when it uses too much memory.
pub fn run(program: &'static str, config: AgentConfig) -> Result<(), AgentError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Only this thread hears SIGHUP, so that the next image hears what this one did not.
        .on_thread_start(hold_hangups)
        .build()?;
    runtime.block_on(async {
        let mut signals = Signals::new()?;
        // Held by the image before this one, until now that somebody listens.
        take_hangups();
        let mut memory = MemoryWatch::new(config.memory_max);
        let image = Image::this(program)?;
        let mut exec_error = None;
        loop {
            let stop = CancellationToken::new();
            let note = Some((&image, exec_error.take()));
            let agent = live(config.clone(), stop.clone(), note);
            tokio::pin!(agent);
            let asked = tokio::select! {
                result = &mut agent => return result,
                asked = signals.recv() => asked,
                () = memory.too_much() => Asked::ToMakeWay,
            };
            stop.cancel();
            agent.await?;
            // Whoever wants it gone meanwhile would not be heard by the next image.
            if asked == Asked::ToLeave || signals.has_been_asked_to_leave().await {
                return Ok(());
            }
            tracing::info!("making way for the program that is at this one's path now");
            let error = image.exec(memory.shrunk_at());
            tracing::error!(%error, "the new program cannot be started: this one goes on");
            exec_error = Some(error.to_string());
        }
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    ToLeave,
    ToMakeWay,
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

    async fn recv(&mut self) -> Asked {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => Asked::ToLeave,
            _ = self.interrupt.recv() => Asked::ToLeave,
            _ = self.hangup.recv() => Asked::ToMakeWay,
        }
    }

    async fn has_been_asked_to_leave(&mut self) -> bool {
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
/// Belongs on a thread of its own with a current-thread runtime: the supervisor takes thread-bound rights for moments.
pub async fn run_until(config: AgentConfig, stop: CancellationToken) -> Result<(), AgentError> {
    Box::pin(live(config, stop, None)).await
}

/// `note` is there when the whole program is this agent: then it can be replaced, and says so in its data directory.
async fn live(
    config: AgentConfig,
    stop: CancellationToken,
    note: Option<(&Image, Option<String>)>,
) -> Result<(), AgentError> {
    let data = DataDir::open(&config.data)?;
    let standing = identity::settle(&data, &config, crate::session::now())?;
    protect_from_oom();

    let options = Options {
        // Of a program that is more than an agent, the agent does not know its own part.
        cpu_max: note.is_some().then_some(config.cpu_max),
        control_groups: config.cgroups,
        ..Options::default()
    };
    let (supervisor, recovered) = Supervisor::open(&data.path().join(SUPERVISOR_DIR), options)?;
    let (request_tx, requests) = mpsc::channel(QUEUE);
    let (notices, notice_rx) = mpsc::channel(QUEUE);
    let mut hand = Hand::new(recovered, Keeper::new(request_tx, notice_rx))
        .with_release(config.release.clone());

    let connected = hand.connected();
    let noting = async {
        match note {
            Some((image, exec_error)) => {
                image::note(&data, image.entry(&data, exec_error), connected).await;
            }
            None => std::future::pending().await,
        }
    };
    let (stop_keeping, kept_until) = watch::channel(false);
    let keeping = supervisor.run(requests, notices, kept_until);
    let speaking = async {
        speak(&config, &data, standing, &mut hand, &stop).await?;
        tracing::info!(
            held = hand.n_held(),
            "leaving; every process is left as it is"
        );
        let _it_ended_already = stop_keeping.send(true);
        // What it still says is in its journal, and heard at the next start.
        let _in_vain = timeout(LEAVE_TIMEOUT, hand.attend()).await;
        Ok::<_, AgentError>(())
    };
    // Noted only once the supervisor is at work, which is what the note says.
    let keeping = async {
        tokio::pin!(keeping, noting);
        tokio::select! {
            biased;
            kept = &mut keeping => kept,
            () = &mut noting => keeping.await,
        }
    };
    tokio::select! {
        biased;
        spoken = speaking => spoken,
        kept = keeping => match (kept, stop.is_cancelled()) {
            (Ok(()), false) => Err(SupervisorGone.into()),
            (kept, _) => Ok(kept?),
        },
    }
}

/// Everything between the supervisor and the server: enrolment where it is needed, then one session after the other, and
/// the next certificate beside them.
pub async fn speak(
    config: &AgentConfig,
    data: &DataDir,
    standing: Standing,
    hand: &mut Hand,
    stop: &CancellationToken,
) -> Result<(), AgentError> {
    let mut identity = match standing {
        Standing::Enrolled(identity) => identity,
        Standing::Stranger { host, key } => {
            let enrolment = Enrolment {
                config,
                data,
                host,
                key,
            };
            match enrolment.run(hand, stop).await? {
                Some(identity) => identity,
                None => return Ok(()),
            }
        }
    };
    loop {
        match speak_as(identity, config, data, hand, stop).await? {
            Parted::Leaving => return Ok(()),
            Parted::MustJoin => {}
        }
        let Some(joined) = join_again(config, data, hand, stop).await? else {
            return Ok(());
        };
        identity = joined;
    }
}

/// One session after the other, with one identity and what it is renewed to.
async fn speak_as(
    identity: Identity,
    config: &AgentConfig,
    data: &DataDir,
    hand: &mut Hand,
    stop: &CancellationToken,
) -> Result<Parted, AgentError> {
    let credentials = Credentials::new(&identity)?;
    let speaker = Speaker {
        host: identity.host,
        agent_id: identity.agent_id.clone(),
        facts: Facts::read(),
        clock: crate::session::now,
    };
    tracing::info!(host = %speaker.host, agent_id = %speaker.agent_id, held = hand.n_held(), "agent runs");

    let talking = sessions(
        config.servers.len(),
        async |server| connect(&config.servers[server], &credentials.tls()).await,
        chance,
        &speaker,
        hand,
        stop,
    );
    let renewing = keep_renewing(config, data, identity, &credentials, speaker.clock);
    tokio::select! {
        parted = talking => parted,
        // In a box, because it sleeps for weeks.
        failed = Box::pin(renewing) => Err(failed),
    }
}

/// The server does not take the certificate any more. With a token that it takes the agent joins again, with a new key;
/// without one it goes on as it is, and asks from time to time. None when the agent is leaving.
async fn join_again(
    config: &AgentConfig,
    data: &DataDir,
    hand: &mut Hand,
    stop: &CancellationToken,
) -> Result<Option<Identity>, AgentError> {
    let known = identity::load(data)?.ok_or(IdentityError::NoToken)?;
    if let Some(token) = &config.join {
        let key = identity::make_key()?;
        let choice = Choice::new(config.servers.len(), chance);
        let server = &config.servers[choice.current()];
        let enrolled = tokio::select! {
            gone = hand.attend() => return Err(gone.into()),
            () = stop.cancelled() => return Ok(None),
            enrolled = enrol(server, &token.0, known.host, Some(&known.agent_id), &key) => enrolled,
        };
        match enrolled {
            Ok(identity) => {
                identity::keep(data, &identity, &key)?;
                tracing::info!(host = %identity.host, agent_id = %identity.agent_id, "joined again");
                return Ok(Some(identity));
            }
            Err(error) => tracing::error!(error = %chain(&error), "not joined again"),
        }
    }
    let delay = Backoff::default().delay(Attempt::Refused, chance());
    match wait(delay, hand, stop).await?.is_leaving() {
        true => Ok(None),
        false => Ok(Some(known)),
    }
}

/// Getting a certificate, however long the server is away.
struct Enrolment<'a> {
    config: &'a AgentConfig,
    data: &'a DataDir,
    host: model::Host,
    key: KeyPair,
}

impl Enrolment<'_> {
    /// None when the agent is leaving.
    async fn run(
        &self,
        hand: &mut Hand,
        stop: &CancellationToken,
    ) -> Result<Option<Identity>, AgentError> {
        let token = self.config.join.as_ref().ok_or(IdentityError::NoToken)?;
        let agent_id = self.config.agent_id.as_ref();
        let mut backoff = Backoff::default();
        let mut choice = Choice::new(self.config.servers.len(), chance);
        loop {
            let server = &self.config.servers[choice.current()];
            let enrolled = tokio::select! {
                gone = hand.attend() => return Err(gone.into()),
                () = stop.cancelled() => return Ok(None),
                enrolled = enrol(server, &token.0, self.host, agent_id, &self.key) => enrolled,
            };
            let error = match enrolled {
                Ok(identity) => {
                    identity::keep(self.data, &identity, &self.key)?;
                    tracing::info!(host = %identity.host, agent_id = %identity.agent_id, "enrolled");
                    return Ok(Some(identity));
                }
                Err(error) if !error.is_passing() => return Err(error.into()),
                Err(error) => error,
            };
            let delay = match (&error, choice.failed()) {
                // Every server says the same.
                (EnrolError::NotYet(_), _) => backoff.delay(Attempt::Refused, chance()),
                (_, true) => Backoff::next_server(chance()),
                (_, false) => backoff.delay(Attempt::Failed, chance()),
            };
            tracing::warn!(error = %chain(&error), retry_in_secs = delay.as_secs(), "not enrolled yet: trying again");
            if wait(delay, hand, stop).await?.is_leaving() {
                return Ok(None);
            }
        }
    }
}

/// When memory runs out the keeper of all processes should go last. Its children start neutral again.
fn protect_from_oom() {
    if rustix::process::geteuid().is_root()
        && let Err(error) = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE_ADJ)
    {
        tracing::debug!(%error, "no protection from the out-of-memory killer");
    }
}
