//! Connected agents: who is connected, what they are sent, what they report, and live questions to them.

mod behind;
mod check;
mod config_files;
mod dependencies;
mod figures;
mod held;
mod intake;
mod leaving;
mod logs;
mod moving;
mod outbox;
mod pace;
mod question;
mod report;
mod runs;
mod wake_queue;

pub use config_files::FileOnHost;
pub(crate) use dependencies::run as tell_dependencies;
pub use held::{Comparison, DesiredState, HeldDifference, HeldView};
pub(crate) use intake::run as take_reports;
pub use logs::LogsOf;
pub(crate) use moving::run as move_agents;
pub(crate) use outbox::{Outbox, Outboxes};
pub use question::AnswerStream;
pub(crate) use question::{AnswerChunk, LocalAnswer, Unfinished};
pub(crate) use wake_queue::run as wake_sessions;

use std::collections::{BTreeSet, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fleet::{AgentInfo, Fleet, Link, Row};
use model::change::{HostId, NameId};
use model::kernel::{KernelFeature, KernelFeatures};
use model::spec::SpecExtensions;
use model::{Host, Namespace, OpId, UnixMillis, digest};
use wire::down::{GroupSet, NameRef};
use wire::{Ack, Command, Desired, DesiredProcess, Down, FRAME_BUDGET, Hello, Welcome};

use crate::core::Core;
use crate::operations::Tasks;
use crate::{Access, ChangeEvent, Enrolment, Operations, Replicas};
use intake::{GRANT, Intake};
use outbox::ChangedProcesses;

/// How many commands become frames at a time.
const COMMANDS_AT_A_TIME: usize = 64;

/// Connected agents.
#[derive(Debug)]
pub struct Sessions {
    core: Arc<Core>,
    access: Arc<Access>,
    enrolment: Arc<Enrolment>,
    replicas: Arc<Replicas>,
    operations: Arc<Operations>,
    intake: Intake,
}

/// Why an agent may not connect, or must disconnect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refused {
    pub reason: String,
    /// A retry is useless until an operator changes something.
    pub permanent: bool,
    /// The agent's certificate is invalid: it has to join again.
    pub rejoin: bool,
}

impl Refused {
    /// A retry, or another replica, may accept it.
    pub fn for_now(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            permanent: false,
            rejoin: false,
        }
    }
}

/// One connected agent. Dropping it marks the agent as disconnected.
#[derive(Debug)]
pub struct Session {
    sessions: Arc<Sessions>,
    host: HostId,
    address: Host,
    outbox: Arc<Outbox>,
}

impl Sessions {
    pub(crate) fn new(
        core: &Arc<Core>,
        access: &Arc<Access>,
        enrolment: &Arc<Enrolment>,
        replicas: &Arc<Replicas>,
        operations: &Arc<Operations>,
    ) -> Self {
        Self {
            core: core.clone(),
            access: access.clone(),
            enrolment: enrolment.clone(),
            replicas: replicas.clone(),
            operations: operations.clone(),
            intake: Intake::default(),
        }
    }

    /// Accepts an agent whose certificate is for `certified`.
    pub fn attach(self: &Arc<Self>, certified: Host, hello: &Hello) -> Result<Session, Refused> {
        self.attach_through(certified, hello, None)
    }

    /// The same for an agent that may come through a relay.
    pub fn attach_through(
        self: &Arc<Self>,
        certified: Host,
        hello: &Hello,
        relay: Option<SocketAddr>,
    ) -> Result<Session, Refused> {
        let refuse = |reason: String| Refused {
            reason,
            permanent: true,
            rejoin: false,
        };
        let version = wire::version::agree(hello.oldest, hello.newest)
            .ok_or_else(|| refuse(no_common_version(hello)))?;
        let claimed =
            Host::parse(i64::from(hello.cloud), &hello.ip).map_err(|e| refuse(e.to_string()))?;
        if claimed != certified {
            return Err(refuse(format!(
                "the certificate is for host {certified}, not {claimed}"
            )));
        }
        let at = self.core.now();
        let (host, enrolled_at) = self
            .enrolment
            .enrolled(certified)
            .ok_or_else(|| self.enrolment.refuse_unenrolled(certified))?;
        let outbox = Arc::new(Outbox {
            enrolled_at: (!self.core.is_behind()).then_some(enrolled_at),
            ..Outbox::default()
        });
        outbox.session.store(hello.session, Ordering::SeqCst);
        outbox
            .is_behind
            .store(self.core.is_behind(), Ordering::SeqCst);
        outbox.pending().welcome = Some(Welcome {
            version,
            server_time_ms: at.0,
            server_version: env!("CARGO_PKG_VERSION").to_owned(),
            grants_reports: true,
        });
        if hello.waits_for_grants {
            self.intake.welcome(&outbox);
        }
        // Insert first, so that new changes reach the outbox; then look up what the agent has missed. From here on the
        // connection that this one replaces cannot mark the agent as disconnected.
        self.core.outboxes.insert(host, outbox.clone());
        let (in_step, groups) = {
            let mut fleet = self.core.fleet_mut();
            // Later commits find the outbox themselves.
            match fleet.host(host) {
                Some(view) => outbox.disconnect_if_revoked(certified, view.enrolled_at),
                None => outbox.disconnect_removed(certified),
            }
            if let Some(view) = fleet.host(host) {
                let log = &self.core.agent_log;
                log.came(host, view.link, at, self.core.started_at);
            }
            fleet.set_agent_info(host, info_of(hello, relay));
            fleet.set_link(host, Link::Up { since: at });
            // Also namespaces without groups: they may have had some before.
            let named = fleet.processes_of(host).map(|row| &row.name().namespace);
            let grouped = fleet.groups_of(host).map(|(namespace, _)| namespace);
            let groups: BTreeSet<Namespace> = named.chain(grouped).cloned().collect();
            (held_digest(&fleet, host) == hello.held_digest, groups)
        };
        let session = self.replicas.publish_attached(host, hello.session);
        outbox.session.store(session, Ordering::SeqCst);
        // Open operations are sent again, oldest first. The agent recognises those that it has by their ids.
        let open = self.core.tasks.open_on(host);
        outbox.change(|pending| {
            if !in_step {
                pending.desired = ChangedProcesses::All;
            }
            pending.groups.extend(groups);
            let commands: BTreeSet<OpId> =
                open.into_iter().chain(pending.commands.drain(..)).collect();
            pending.commands = commands.into_iter().collect();
        });
        self.core.watchers.send(ChangeEvent::Agent {
            host: certified,
            up: true,
            at,
        });
        Ok(Session {
            sessions: self.clone(),
            host,
            address: certified,
            outbox,
        })
    }

    /// Asks every agent to reconnect elsewhere, and ends its connection.
    pub fn disconnect_all(&self, reason: &str) {
        self.core.outboxes.disconnect_all(reason);
    }
}

impl Session {
    pub fn host(&self) -> Host {
        self.address
    }

    /// The next frames for the agent; waits until there are any. A `Bye` is the last.
    pub async fn next(&self) -> Vec<Down> {
        loop {
            let frames = self.frames();
            if !frames.is_empty() {
                return frames;
            }
            tokio::select! {
                () = self.outbox.notify.notified() => {}
                () = self.pause() => {}
                () = self.catch_up(), if self.is_behind() => {}
            }
        }
    }

    fn frames(&self) -> Vec<Down> {
        let mut pending = std::mem::take(&mut *self.outbox.pending());
        if self.is_behind() {
            self.keep_for_later(&mut pending);
        }
        self.pace(&mut pending);
        // Commands are taken a few at a time; everything else at once.
        let rest = pending
            .commands
            .split_off(pending.commands.len().min(COMMANDS_AT_A_TIME));
        if !rest.is_empty() {
            self.outbox.change(|now| {
                let newer = std::mem::replace(&mut now.commands, rest);
                now.commands.extend(newer);
            });
        }
        let mut frames = Vec::new();
        frames.extend(pending.welcome.map(Down::from));
        let acknowledges = !pending.results.is_empty() || pending.events_through > 0;
        if pending.heartbeat || pending.may_report || acknowledges {
            let results = pending.results.into_iter().map(Into::into).collect();
            frames.push(
                Ack {
                    results,
                    events_through: pending.events_through,
                    may_report: if pending.may_report { GRANT } else { 0 },
                }
                .into(),
            );
        }
        {
            let fleet = self.sessions.core.fleet();
            match pending.desired {
                ChangedProcesses::None => {}
                ChangedProcesses::Names(names) => {
                    frames.extend(some_processes(&fleet, self.host, names))
                }
                ChangedProcesses::All => frames.extend(every_process(&fleet, self.host)),
            }
            if !pending.groups.is_empty() {
                let set = |namespace: &Namespace| {
                    GroupSet::new(namespace, fleet.groups(self.host, namespace))
                };
                let groups = pending.groups.iter().map(set).collect();
                frames.push(
                    Desired {
                        groups,
                        ..Default::default()
                    }
                    .into(),
                );
            }
        }
        frames.extend(pending.dependencies.map(Down::from));
        let now = self.sessions.core.now();
        let commands = pending
            .commands
            .into_iter()
            .filter_map(|op| command(&self.sessions.core.tasks, op, now));
        frames.extend(commands.map(Down::from));
        frames.extend(self.outbox.questions.frames());
        frames.extend(pending.move_away.map(Down::from));
        frames.extend(pending.bye.map(Down::from));
        frames
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.outbox.questions.close();
        self.outbox.file_slots.close();
        if self.sessions.core.outboxes.remove(self.host, &self.outbox) {
            let session = self.outbox.session.load(Ordering::SeqCst);
            let replicas = &self.sessions.replicas;
            match self.outbox.was_asked_to_move() {
                true => replicas.detach_when_late(self.host, session),
                false => replicas.detach(self.host, session),
            }
        }
    }
}

/// Why an agent is refused that speaks no version of the protocol that this server speaks, and which side is to be upgraded.
fn no_common_version(hello: &Hello) -> String {
    use wire::version::{NEWEST, OLDEST};
    let remedy = match hello.newest < OLDEST {
        true => "upgrade the agent on its host, with its package or install.sh",
        false => "upgrade the server",
    };
    format!(
        "no common protocol version: agent {} speaks {} to {}, server {} speaks {OLDEST} to {NEWEST}; {remedy}",
        hello.agent_version,
        hello.oldest,
        hello.newest,
        env!("CARGO_PKG_VERSION"),
    )
}

/// Those of these names that this server knows.
pub(crate) fn features(names: &[String]) -> KernelFeatures {
    let known = names.iter().filter_map(|name| KernelFeature::parse(name));
    known.collect()
}

fn info_of(hello: &Hello, relay: Option<SocketAddr>) -> AgentInfo {
    AgentInfo {
        version: hello.agent_version.clone(),
        root: hello.root,
        hostname: hello.hostname.clone(),
        kernel: hello.kernel.clone(),
        cores: hello.cores,
        memory_kib: hello.memory_kib,
        missing: features(&hello.missing),
        arch: hello.arch.clone(),
        program: hello.program.clone(),
        protocol_oldest: hello.oldest,
        protocol: hello.newest,
        extensions: SpecExtensions::of_names(&hello.extensions),
        relay,
    }
    .bound()
}

fn held_digest(fleet: &Fleet, host: HostId) -> u64 {
    let rows = fleet.processes_of(host);
    digest::held_digest(rows.map(|row| (row.name(), row.incarnation().0, row.definition().hash)))
}

fn desired(row: &Row<'_>) -> DesiredProcess {
    DesiredProcess {
        name: Some(NameRef::new(row.name())),
        incarnation: row.incarnation().0,
        spec_json: row.definition().spec_json.to_string(),
        labels_json: row.definition().labels_json.to_string(),
        flag: u32::from(u8::from(row.flag())),
        managed: row.managed(),
        registered_at_ms: row.registered_at().0,
    }
}

fn some_processes(fleet: &Fleet, host: HostId, names: HashSet<NameId>) -> Vec<Down> {
    let (mut processes, mut forget) = (Vec::new(), Vec::new());
    for name in names {
        match fleet.process(host, name) {
            Some(row) => processes.push(desired(&row)),
            None => forget.extend(fleet.name(name).map(NameRef::new)),
        }
    }
    let mut frames = split(processes, false);
    if !forget.is_empty() {
        frames.push(
            Desired {
                forget,
                ..Default::default()
            }
            .into(),
        );
    }
    frames
}

fn every_process(fleet: &Fleet, host: HostId) -> Vec<Down> {
    split(
        fleet.processes_of(host).map(|row| desired(&row)).collect(),
        true,
    )
}

/// Splits processes into frames within the budget; a full list has at least one frame.
fn split(processes: Vec<DesiredProcess>, full: bool) -> Vec<Down> {
    let mut frames: Vec<Desired> = Vec::new();
    let mut room = 0;
    for process in processes {
        let size = process.spec_json.len() + process.labels_json.len() + 400;
        if size > room {
            frames.push(Desired {
                full,
                ..Default::default()
            });
            room = FRAME_BUDGET;
        }
        room = room.saturating_sub(size);
        if let Some(frame) = frames.last_mut() {
            frame.processes.push(process);
        }
    }
    if full {
        if frames.is_empty() {
            frames.push(Desired {
                full,
                ..Default::default()
            });
        }
        if let Some(frame) = frames.last_mut() {
            frame.last = true;
        }
    }
    frames.into_iter().map(Down::from).collect()
}

/// None when the target has ended.
fn command(tasks: &Tasks, op: OpId, now: UnixMillis) -> Option<Command> {
    let task = tasks.get(op.task)?;
    if task.outcome(op).is_some() {
        return None;
    }
    let target = task.target(op)?;
    Some(Command {
        op: Some(op.into()),
        name: Some(NameRef::new(&target.process)),
        op_type: u32::from(target.op.number()),
        probe_json: target
            .probe
            .as_ref()
            .map(|probe| to_json(probe))
            .unwrap_or_default(),
        deadline_ms: target.deadline.0,
        sent_ms: now.0,
    })
}

fn to_json(probe: &model::spec::Probe) -> String {
    serde_json::to_string(probe).expect("a probe has only string keys")
}
