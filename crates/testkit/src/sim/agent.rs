//! One simulated agent: its state between connections, and one connection after the other.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::agent::backoff::{Attempt, Backoff};
use ::agent::identity::Identity;
use ::agent::report::{Allowance, Granted};
use ::agent::tls::session_config;
use model::event::{Event, EventKind};
use model::spec::SpecExtensions;
use model::status::Exit;
use model::{AgentId, Host, UnixMillis};
use rustls::ClientConfig;
use testing::Random;
use tokio::time::{Instant, sleep, sleep_until};
use wire::{Ack, Command, Desired, EventFrame, Hello, Up, version};

use super::SimError;
use super::operations::Operations;
use super::processes::{EncodedReport, Processes};
use super::session::{Connector, OpenError, SessionEnd, run_session};
use super::shared::Shared;
use super::upgrade::Upgrade;

/// The processor that simulated agents say they have: a binary for it is never executed.
const ARCH: &str = "simulated";
/// Limit of unacknowledged events.
const MAX_EVENTS: usize = 64;
/// Source addresses of agents on loopback: the first, and how many.
const SOURCES: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 0);
const MAX_SOURCES: u32 = 1 << 23;

pub(super) struct Agent {
    index: usize,
    host: Host,
    agent_id: AgentId,
    tls: Arc<ClientConfig>,
    pub(super) shared: Arc<Shared>,
    pub(super) processes: Processes,
    pub(super) operations: Operations,
    events: VecDeque<EventFrame>,
    /// How many of them were sent on this connection.
    n_events_sent: usize,
    last_event: u64,
    last_session: u64,
    server: usize,
    pub(super) upgrade: Upgrade,
    allowance: Allowance,
    pub(super) random: Random,
}

/// What an agent sends next.
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time: it is sent and gone"
)]
pub(super) enum NextFrame {
    Report(EncodedReport),
    Other(Up),
}

impl Agent {
    pub(super) fn all(
        identities: Vec<Identity>,
        shared: &Arc<Shared>,
    ) -> Result<Vec<Self>, SimError> {
        let agents = identities.into_iter().enumerate().map(|(index, identity)| {
            let tls = session_config(&identity).map_err(|e| SimError::Options(e.to_string()))?;
            Ok(Self {
                index,
                host: identity.host,
                agent_id: identity.agent_id,
                tls,
                shared: shared.clone(),
                processes: Processes::default(),
                operations: Operations::default(),
                events: VecDeque::new(),
                n_events_sent: 0,
                last_event: 0,
                last_session: 0,
                server: index % shared.options.server.len(),
                upgrade: Upgrade::default(),
                allowance: Allowance::new(true),
                random: Random::new(index as u64 + 1),
            })
        });
        agents.collect()
    }

    /// Connects, runs a session, waits and connects again, for ever.
    pub(super) async fn run(mut self) {
        sleep_until(self.shared.start_at()).await;
        let mut backoff = Backoff::default();
        let mut welcomed = None;
        loop {
            let opened = match welcomed.take() {
                Some(connection) => Ok(connection),
                None => self.connector().open().await,
            };
            let attempt = match opened {
                Ok(connection) => {
                    let since = Instant::now();
                    match run_session(connection, &mut self).await {
                        SessionEnd::Moved(elsewhere) => {
                            welcomed = Some(*elsewhere);
                            continue;
                        }
                        SessionEnd::Upgraded => {
                            self.upgrade.is_due = false;
                            continue;
                        }
                        SessionEnd::Lost => Attempt::Lost(since.elapsed()),
                        SessionEnd::Refused => Attempt::Refused,
                    }
                }
                Err(OpenError::Refused) => Attempt::Refused,
                Err(OpenError::Io(error)) if error.kind() == ErrorKind::ConnectionRefused => {
                    Attempt::NotListening
                }
                Err(OpenError::Io(_) | OpenError::Wire(_) | OpenError::NoWelcome) => {
                    Attempt::Failed
                }
            };
            let counters = &self.shared.counters;
            match attempt {
                Attempt::Failed | Attempt::NotListening => counters.failed_connects.add(1),
                Attempt::Lost(_) => counters.lost.add(1),
                Attempt::Refused => counters.refused.add(1),
            }
            self.server = (self.server + 1) % self.shared.options.server.len();
            sleep(backoff.delay(attempt, self.random.fraction())).await;
        }
    }

    fn connector(&mut self) -> Connector {
        Connector {
            server: self.shared.options.server[self.server].clone(),
            tls: self.tls.clone(),
            source: self.source(),
            hello: self.hello(),
        }
    }

    /// Several simulators of one fleet have other hosts, and so other sources.
    fn source(&self) -> Ipv4Addr {
        let host = match self.host.ip {
            IpAddr::V4(ip) => ip.to_bits(),
            IpAddr::V6(ip) => ip.to_bits() as u32,
        };
        Ipv4Addr::from_bits(SOURCES.to_bits() + host % MAX_SOURCES)
    }

    /// To another server; `None` if there is only one.
    pub(super) fn connector_elsewhere(&mut self) -> Option<Connector> {
        let n_servers = self.shared.options.server.len();
        if n_servers < 2 {
            return None;
        }
        let further = 1 + self.random.below(n_servers - 1);
        self.server = (self.server + further) % n_servers;
        Some(self.connector())
    }

    fn hello(&mut self) -> Hello {
        self.last_session = (now_ms() as u64).max(self.last_session + 1);
        Hello {
            oldest: version::OLDEST,
            newest: version::NEWEST,
            agent_version: self.upgrade.version.clone(),
            cloud: self.host.cloud,
            ip: self.host.ip.to_string(),
            agent_id: self.agent_id.to_string(),
            held_digest: self.processes.digest(),
            held_ops: self.operations.held(),
            root: true,
            hostname: format!("sim-{}", self.index),
            kernel: "6.1.0-simulated".to_owned(),
            cores: 8,
            memory_kib: 32 << 20,
            session: self.last_session,
            missing: Vec::new(),
            arch: ARCH.to_owned(),
            program: "muster-agent".to_owned(),
            extensions: SpecExtensions::all().names().map(str::to_owned).collect(),
            waits_for_grants: true,
        }
    }

    /// Prepares for a new connection: everything unacknowledged is sent again.
    pub(super) fn rewind(&mut self, now: Instant, server_grants: bool) {
        self.processes.rewind(now);
        self.allowance = Allowance::new(server_grants);
        self.operations.rewind();
        self.n_events_sent = 0;
    }

    pub(super) fn desired(&mut self, desired: Desired) {
        self.processes
            .desired(desired, &self.shared.names, &mut self.random);
    }

    pub(super) fn command(&mut self, command: &Command) {
        self.shared.counters.commands.add(1);
        let options = &self.shared.options;
        self.operations
            .take(command, &self.shared.names, options.delay, &mut self.random);
    }

    pub(super) fn end_operations(&mut self, now: Instant) {
        if self.operations.due().is_none_or(|due| due > now) {
            return;
        }
        let fail = self.shared.options.fail;
        let (processes, random) = (&mut self.processes, &mut self.random);
        self.operations.end(now, now_ms(), processes, fail, random);
    }

    pub(super) fn acknowledge(&mut self, ack: &Ack) {
        self.allowance.grant(ack.may_report);
        if !ack.results.is_empty() {
            self.operations
                .acknowledge(&ack.results, now_ms(), &self.shared);
        }
        while self
            .events
            .pop_front_if(|event| event.seq <= ack.events_through)
            .is_some()
        {
            self.n_events_sent = self.n_events_sent.saturating_sub(1);
        }
    }

    /// When the next report is due, if one may be sent.
    pub(super) fn report_due(&self) -> Option<Instant> {
        self.processes.due().filter(|_| self.allowance.may_report())
    }

    /// The next frame to send now. A result never overtakes the status that it led to. Other statuses wait for a grant.
    pub(super) fn next_frame(&mut self, now: Instant) -> Option<NextFrame> {
        let is_due = self.processes.due().is_some_and(|due| due <= now);
        let granted = Granted::now(self.allowance, is_due, self.operations.is_waiting());
        let (processes, random) = (&mut self.processes, &mut self.random);
        if let Some(granted) = granted
            && let Some(report) = processes.take_report(granted, now_ms(), random)
        {
            self.allowance.spend(report.n_statuses);
            self.shared.counters.reports.add(1);
            self.shared.counters.statuses.add(report.n_statuses);
            return Some(NextFrame::Report(report));
        }
        if let Some(result) = self.operations.next_result() {
            return Some(NextFrame::Other(result.into()));
        }
        let event = self.events.get(self.n_events_sent)?;
        self.n_events_sent += 1;
        self.shared.counters.events.add(1);
        Some(NextFrame::Other(event.clone().into()))
    }

    /// How often this agent reports all of its processes, so that the fleet reaches its status rate.
    pub(super) fn status_period(&self) -> Option<Duration> {
        let rate = self.shared.load.borrow().statuses_per_sec;
        let n_processes = self.processes.len() * self.shared.options.agents;
        (rate > 0.0 && n_processes > 0).then(|| Duration::from_secs_f64(n_processes as f64 / rate))
    }

    pub(super) fn event_period(&self) -> Option<Duration> {
        let rate = self.shared.load.borrow().events_per_sec;
        (rate > 0.0 && self.processes.len() > 0)
            .then(|| Duration::from_secs_f64(self.shared.options.agents as f64 / rate))
    }

    /// One of the processes dies and is started again.
    pub(super) fn crash(&mut self) {
        let Some(name) = self.processes.any(&mut self.random) else {
            return;
        };
        if self.events.len() >= MAX_EVENTS {
            return;
        }
        let now = now_ms();
        self.processes.run_anew(&name, now, &mut self.random);
        self.last_event = (now as u64).max(self.last_event + 1);
        let event = Event {
            at: UnixMillis(now),
            process: name.full.clone(),
            kind: EventKind::ProcessExit,
            reason: "exited with code 1 (simulated); started again".to_owned(),
            exit: Some(Exit::Code(1)),
            report_id: 0,
        };
        self.events
            .push_back(EventFrame::new(self.last_event, &event));
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}
