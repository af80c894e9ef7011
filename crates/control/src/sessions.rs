//! Connected agents. Each has an outbox of what it should hear; nothing in it grows with how slowly an agent reads.
//!
//! The outbox holds no frames, only what to look at again: which processes changed, which operations wait, what to
//! acknowledge. Frames are made when the connection can take them, from what is true by then.

mod behind;
mod leaving;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fleet::{AgentInfo, Fleet, Link, Row};
use locks::{Mutex, MutexGuard, RwLock};
use model::change::{Changes, HostId, NameId};
use model::{Host, Namespace, OpId, UnixMillis, digest};
use tokio::sync::Notify;
use tokio::time::Instant;
use wire::down::{GroupSet, NameRef};
use wire::{Ack, Bye, Command, Desired, DesiredProcess, Down, FRAME_BUDGET, Hello, Move, Welcome};

use crate::config_files::Room;
use crate::question::Questions;
use crate::tasks::Tasks;
use crate::{Control, Happening, lock_order};

/// More changed processes than this, and the whole list is sent instead.
const MAX_CHANGED_NAMES: usize = 1000;
/// How many commands are made into frames at a time.
const COMMANDS_AT_A_TIME: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    by_host: RwLock<HashMap<HostId, Arc<Outbox>>, { lock_order::SESSIONS }>,
}

/// An agent that may not connect, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refused {
    pub reason: String,
    /// Trying again is of no use before somebody changes something.
    pub permanent: bool,
    /// The agent's certificate is of no use any more: it has to join again.
    pub rejoin: bool,
}

impl Refused {
    /// Another time, or at another replica, it may be different.
    pub fn for_now(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            permanent: false,
            rejoin: false,
        }
    }
}

/// One connected agent. Dropping it says that the agent is gone.
#[derive(Debug)]
pub struct Session {
    pub(crate) control: Control,
    pub(crate) host: HostId,
    pub(crate) address: Host,
    pub(crate) outbox: Arc<Outbox>,
}

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Waiting, { lock_order::OUTBOX }>,
    pub(crate) questions: Questions,
    pub(crate) files: Room,
    notify: Notify,
    /// The number of the connection, as other replicas know it.
    session: AtomicU64,
    /// When its host was enrolled: an agent that enrols later takes its place. None where this replica was behind and may
    /// not know of the enrolment that the agent's certificate is from.
    enrolled_at: Option<UnixMillis>,
    asked_to_move: Mutex<Option<Instant>>,
    /// This replica may know less than the agent: it is told nothing that it should hold, or do.
    is_behind: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    welcome: Option<Welcome>,
    desired: Changed,
    /// Namespaces whose process groups changed.
    groups: BTreeSet<Namespace>,
    commands: VecDeque<OpId>,
    results: Vec<OpId>,
    events_through: u64,
    /// A heartbeat wants an answer, even an empty one.
    heartbeat: bool,
    move_away: Option<Move>,
    bye: Option<Bye>,
}

/// Which processes the agent should hear of again.
#[derive(Debug, Default)]
enum Changed {
    #[default]
    None,
    Names(HashSet<NameId>),
    All,
}

impl Outbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock()
    }

    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut self.waiting());
        self.notify.notify_one();
    }

    pub(crate) fn acknowledge(&self, results: &[OpId], events_through: u64) {
        self.change(|waiting| {
            waiting.results.extend(results);
            waiting.events_through = waiting.events_through.max(events_through);
        });
    }

    /// There may be something new to say.
    pub(crate) fn wake(&self) {
        self.notify.notify_one();
    }

    pub(crate) fn answer_heartbeat(&self) {
        self.change(|waiting| waiting.heartbeat = true);
    }
}

impl Sessions {
    pub(crate) fn outbox(&self, host: HostId) -> Option<Arc<Outbox>> {
        self.by_host.read().get(&host).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        let by_host = self.by_host.read();
        by_host.len()
    }

    /// The agent has made this connection to another replica: an older one here is told to go.
    pub(crate) fn evict(&self, host: HostId, session: u64) {
        let mut by_host = self.by_host.write();
        let is_older = |outbox: &Arc<Outbox>| outbox.session.load(Ordering::SeqCst) < session;
        if by_host.get(&host).is_some_and(is_older)
            && let Some(older) = by_host.remove(&host)
        {
            older.replaced();
        }
    }

    /// Puts the newest connection in; an older one of the same host is told to go.
    fn insert(&self, host: HostId, outbox: Arc<Outbox>) {
        let mut by_host = self.by_host.write();
        if let Some(older) = by_host.insert(host, outbox) {
            older.replaced();
        }
    }

    /// Takes this connection out; false when the host has another one by now.
    fn remove(&self, host: HostId, outbox: &Arc<Outbox>) -> bool {
        let mut by_host = self.by_host.write();
        let current = by_host.get(&host);
        let is_last = current.is_none_or(|current| Arc::ptr_eq(current, outbox));
        if is_last {
            by_host.remove(&host);
        }
        is_last
    }

    pub(crate) fn desire(&self, changed: &[(HostId, NameId)]) {
        for (host, name) in changed {
            let Some(outbox) = self.outbox(*host) else {
                continue;
            };
            outbox.change(|waiting| match &mut waiting.desired {
                Changed::All => {}
                Changed::None => waiting.desired = Changed::Names(HashSet::from([*name])),
                Changed::Names(names) if names.len() >= MAX_CHANGED_NAMES => {
                    waiting.desired = Changed::All
                }
                Changed::Names(names) => drop(names.insert(*name)),
            });
        }
    }

    /// Lets agents know of process groups that changed.
    pub(crate) fn regroup(&self, changes: &Changes) {
        for row in &changes.groups {
            if let Some(outbox) = self.outbox(row.host) {
                outbox.change(|waiting| {
                    waiting.groups.insert(row.namespace.clone());
                });
            }
        }
    }

    /// Lets agents know of operations that were just committed.
    pub(crate) fn dispatch(&self, changes: &Changes) {
        let ended: HashSet<OpId> = changes.outcomes.iter().map(|row| row.op_id).collect();
        for target in changes
            .targets
            .iter()
            .filter(|target| !ended.contains(&target.op_id))
        {
            if let Some(outbox) = target.host.and_then(|host| self.outbox(host)) {
                outbox.change(|waiting| waiting.commands.push_back(target.op_id));
            }
        }
    }

    /// Asks every agent to go elsewhere, for a server that is about to stop.
    pub(crate) fn say_bye(&self, reason: &str) {
        for outbox in self.by_host.read().values() {
            let bye = Bye {
                reason: reason.to_owned(),
                permanent: false,
                rejoin: false,
            };
            outbox.change(|waiting| waiting.bye = Some(bye));
        }
    }
}

impl Control {
    /// Takes in an agent whose certificate names `certified`.
    pub fn attach(&self, certified: Host, hello: &Hello) -> Result<Session, Refused> {
        let refuse = |reason: String| Refused {
            reason,
            permanent: true,
            rejoin: false,
        };
        let version = wire::version::agree(hello.oldest, hello.newest).ok_or_else(|| {
            refuse(format!(
                "no common protocol version: the agent speaks {} to {}",
                hello.oldest, hello.newest
            ))
        })?;
        let claimed =
            Host::parse(i64::from(hello.cloud), &hello.ip).map_err(|e| refuse(e.to_string()))?;
        if claimed != certified {
            return Err(refuse(format!(
                "the certificate is for host {certified}, not {claimed}"
            )));
        }
        let at = self.now();
        let (host, enrolled_at) = self
            .enrolled(certified)
            .ok_or_else(|| self.refuse_stranger(certified))?;
        let outbox = Arc::new(Outbox {
            enrolled_at: (!self.is_behind()).then_some(enrolled_at),
            ..Outbox::default()
        });
        outbox.session.store(hello.session, Ordering::SeqCst);
        outbox.is_behind.store(self.is_behind(), Ordering::SeqCst);
        outbox.waiting().welcome = Some(Welcome {
            version,
            server_time_ms: at.0,
            server_version: env!("CARGO_PKG_VERSION").to_owned(),
        });
        // In this order: from the first line on, new changes reach the outbox; only then is it looked up what the agent
        // has missed. A connection that this one replaces can no longer say that the agent is gone.
        self.0.sessions.insert(host, outbox.clone());
        let (in_step, groups) = {
            let mut fleet = self.fleet_mut();
            // A commit that is folded in from here on finds the outbox itself.
            if let Some(view) = fleet.host(host) {
                outbox.dismiss(certified, view.enrolled_at);
            }
            fleet.set_agent_info(host, info_of(hello));
            fleet.set_link(host, Link::Up { since: at });
            // Of every namespace that has a process here, also those without groups: they may have had some before.
            let named = fleet.processes_of(host).map(|row| &row.name().namespace);
            let grouped = fleet.groups_of(host).map(|(namespace, _)| namespace);
            let groups: BTreeSet<Namespace> = named.chain(grouped).cloned().collect();
            (held_digest(&fleet, host) == hello.held_digest, groups)
        };
        let session = self.tell_attached(host, hello.session);
        outbox.session.store(session, Ordering::SeqCst);
        // What was under way is asked again, oldest first. An agent that has seen an operation before knows its id.
        let open = self.0.tasks.open_on(host);
        outbox.change(|waiting| {
            if !in_step {
                waiting.desired = Changed::All;
            }
            waiting.groups.extend(groups);
            let commands: BTreeSet<OpId> =
                open.into_iter().chain(waiting.commands.drain(..)).collect();
            waiting.commands = commands.into_iter().collect();
        });
        self.tell(Happening::Agent {
            host: certified,
            up: true,
            at,
        });
        Ok(Session {
            control: self.clone(),
            host,
            address: certified,
            outbox,
        })
    }

    /// Asks every agent to reconnect elsewhere; their connections then end.
    pub fn say_bye(&self, reason: &str) {
        self.0.sessions.say_bye(reason);
    }
}

impl Session {
    pub fn host(&self) -> Host {
        self.address
    }

    /// The next frames for the agent; waits until there are any. A [`Bye`] is the last.
    pub async fn next(&self) -> Vec<Down> {
        loop {
            let frames = self.frames();
            if !frames.is_empty() {
                return frames;
            }
            tokio::select! {
                () = self.outbox.notify.notified() => {}
                () = self.catch_up(), if self.is_behind() => {}
            }
        }
    }

    fn frames(&self) -> Vec<Down> {
        let mut waiting = std::mem::take(&mut *self.outbox.waiting());
        if self.is_behind() {
            self.keep_for_later(&mut waiting);
        }
        // Commands wait their turn; the rest is taken whole.
        let rest = waiting
            .commands
            .split_off(waiting.commands.len().min(COMMANDS_AT_A_TIME));
        if !rest.is_empty() {
            self.outbox.change(|now| {
                let newer = std::mem::replace(&mut now.commands, rest);
                now.commands.extend(newer);
            });
        }
        let mut frames = Vec::new();
        frames.extend(waiting.welcome.map(Down::from));
        if waiting.heartbeat || !waiting.results.is_empty() || waiting.events_through > 0 {
            let results = waiting.results.into_iter().map(Into::into).collect();
            frames.push(
                Ack {
                    results,
                    events_through: waiting.events_through,
                }
                .into(),
            );
        }
        {
            let fleet = self.control.fleet();
            match waiting.desired {
                Changed::None => {}
                Changed::Names(names) => frames.extend(some_processes(&fleet, self.host, names)),
                Changed::All => frames.extend(every_process(&fleet, self.host)),
            }
            if !waiting.groups.is_empty() {
                let set = |namespace: &Namespace| {
                    GroupSet::new(namespace, fleet.groups(self.host, namespace))
                };
                let groups = waiting.groups.iter().map(set).collect();
                frames.push(
                    Desired {
                        groups,
                        ..Default::default()
                    }
                    .into(),
                );
            }
        }
        let now = self.control.now();
        let commands = waiting
            .commands
            .into_iter()
            .filter_map(|op| command(&self.control.0.tasks, op, now));
        frames.extend(commands.map(Down::from));
        frames.extend(self.outbox.questions.frames());
        frames.extend(waiting.move_away.map(Down::from));
        frames.extend(waiting.bye.map(Down::from));
        frames
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.outbox.questions.close();
        self.outbox.files.close();
        if self.control.0.sessions.remove(self.host, &self.outbox) {
            // It may be at another replica by now: then neither is news.
            let session = self.outbox.session.load(Ordering::SeqCst);
            self.control.tell_detached(self.host, session);
            self.control.show_gone(self.host);
        }
    }
}

fn info_of(hello: &Hello) -> AgentInfo {
    AgentInfo {
        version: hello.agent_version.clone(),
        root: hello.root,
        hostname: hello.hostname.clone(),
        kernel: hello.kernel.clone(),
        cores: hello.cores,
        memory_kib: hello.memory_kib,
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

/// As many frames as it takes to keep each within its budget; a full list has at least one.
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

/// None when the target has ended meanwhile.
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
