//! What an agent keeps between two connections: the processes it holds, their statuses, unacknowledged results and events.
//!
//! One owner, no locks: the session borrows it, and so does the wait for the next session.

use std::collections::HashSet;

use model::event::Event;
use model::{OpId, Outcome, UnixMillis};
use supervisor::{AllowedPaths, Notice, Recovered, Request};
use tokio::sync::watch;
use tokio::time::Instant;
use wire::up::OpRef;
use wire::{Ack, Command, Desired, EventFrame, ResultFrame, Up};

use crate::ack_queue::AckQueue;
use crate::answer::{Answers, HostChecker, HostFiles, UpgradeFolder};
use crate::check::CheckSubject;
use crate::facts::HostFacts;
use crate::reconcile::{self, ClockOffset, HeldProcesses};
use crate::report::{Allowance, Granted, Statuses};
use crate::session::ConnectionNumbers;
use crate::supervisor_link::{SupervisorGone, SupervisorLink};

/// Limit of unacknowledged operations. Further commands are not taken until the server acknowledges results.
pub const MAX_OPERATIONS: usize = 20_000;
/// Limit of unacknowledged events: a day of twenty processes that each die every minute. Beyond it the oldest
/// [`DROPPED_EVENTS`] are dropped.
pub const MAX_EVENTS: usize = 50_000;
const DROPPED_EVENTS: usize = 1_000;
/// How many of the last acknowledged operations are remembered at most.
const MAX_ACKNOWLEDGED: usize = 8_192;

/// The last operations that were acknowledged: at least half of [`MAX_ACKNOWLEDGED`], in two halves, of which the older is
/// dropped when the newer is full.
#[derive(Debug, Default)]
struct Acknowledged {
    newer: HashSet<OpId>,
    older: HashSet<OpId>,
}

impl Acknowledged {
    fn contains(&self, id: &OpId) -> bool {
        self.newer.contains(id) || self.older.contains(id)
    }

    fn extend(&mut self, ids: &[OpId]) {
        for id in ids {
            if self.newer.len() >= MAX_ACKNOWLEDGED / 2 {
                self.older = std::mem::take(&mut self.newer);
            }
            self.newer.insert(*id);
        }
    }
}

#[derive(Debug)]
pub struct AgentState {
    supervisor: SupervisorLink,
    held: HeldProcesses,
    statuses: Statuses,
    under_way: HashSet<OpId>,
    results: AckQueue<OpId, Outcome>,
    events: AckQueue<u64, Event>,
    last_event: u64,
    numbers: ConnectionNumbers,
    /// Operations acknowledged last. Another server may not know it yet and send them again.
    acknowledged: Acknowledged,
    connected: watch::Sender<bool>,
    files: HostFiles,
    checker: HostChecker,
    facts: HostFacts,
    upgrades: UpgradeFolder,
}

impl AgentState {
    pub fn new(recovered: Recovered, supervisor: SupervisorLink) -> Self {
        let mut state = Self {
            supervisor,
            held: HeldProcesses::new(&recovered.held),
            statuses: Statuses::default(),
            under_way: recovered.under_way.into_iter().collect(),
            results: AckQueue::default(),
            events: AckQueue::default(),
            last_event: 0,
            numbers: ConnectionNumbers::default(),
            acknowledged: Acknowledged::default(),
            connected: watch::Sender::new(false),
            files: HostFiles::new(AllowedPaths::default()),
            checker: HostChecker::new(None),
            facts: HostFacts::default(),
            upgrades: UpgradeFolder::default(),
        };
        for (id, outcome) in recovered.results {
            state.end(id, outcome);
        }
        for (seq, event) in recovered.events {
            state.happened(seq, event);
        }
        state
    }

    /// Sets where the server may write files.
    pub fn with_release(mut self, allowed: AllowedPaths) -> Self {
        self.files = HostFiles::new(allowed);
        self
    }

    /// Sets what it checks when the server asks whether the host is fit.
    pub fn with_check(mut self, subject: CheckSubject) -> Self {
        self.checker = HostChecker::new(Some(subject));
        self
    }

    /// Sets what it tells about its host.
    pub fn with_facts(mut self, facts: HostFacts) -> Self {
        self.facts = facts;
        self
    }

    /// Lets the server replace the binary.
    pub(crate) fn with_upgrades(mut self, upgrades: UpgradeFolder) -> Self {
        self.upgrades = upgrades;
        self
    }

    pub(crate) fn facts(&self) -> &HostFacts {
        &self.facts
    }

    /// For the answers of a new connection.
    pub(crate) fn answers(&self) -> Answers {
        Answers::new(
            self.files.clone(),
            self.upgrades.clone(),
            self.checker.clone(),
        )
    }

    pub fn n_held(&self) -> usize {
        self.held.len()
    }

    /// Whether the agent is connected, now and at each change.
    pub fn connected(&self) -> watch::Receiver<bool> {
        self.connected.subscribe()
    }

    pub(crate) fn set_connected(&self) {
        self.connected.send_replace(true);
    }

    pub(crate) fn set_disconnected(&self) {
        self.connected.send_if_modified(std::mem::take);
    }

    pub(crate) fn connection_numbers(&self) -> ConnectionNumbers {
        self.numbers.clone()
    }

    pub fn held_digest(&self) -> u64 {
        self.held.digest()
    }

    /// Operations that the server does not need to send again.
    pub fn held_ops(&self) -> Vec<OpRef> {
        self.under_way
            .iter()
            .chain(self.results.keys())
            .map(|id| OpRef::from(*id))
            .collect()
    }

    /// Exchanges one request or notice with the supervisor. Cancel-safe.
    pub async fn exchange(&mut self) -> Result<(), SupervisorGone> {
        match self.supervisor.exchange().await? {
            Some(Notice::Status(name, status)) if self.held.contains(&name) => {
                self.statuses.update(name, status, Instant::now());
            }
            // A late status of a process that was forgotten meanwhile.
            Some(Notice::Status(..)) => {}
            Some(Notice::Ended(id, outcome)) => self.end(id, outcome),
            Some(Notice::Event(seq, event)) => self.happened(seq, event),
            None => {}
        }
        Ok(())
    }

    /// Exchanges with the supervisor while nothing else happens. Returns only when the supervisor has ended.
    pub async fn serve_supervisor(&mut self) -> SupervisorGone {
        loop {
            if let Err(gone) = self.exchange().await {
                return gone;
            }
        }
    }

    /// Whether the supervisor has taken every request so far.
    pub fn is_idle(&self) -> bool {
        self.supervisor.is_idle()
    }

    /// Queues a request to the supervisor.
    pub(crate) fn submit(&mut self, request: Request) {
        self.supervisor.submit(request);
    }

    /// Prepares for a new connection: everything unacknowledged is sent again.
    pub fn rewind(&mut self) {
        self.held.rewind();
        self.statuses.rewind(Instant::now());
        self.results.rewind();
        self.events.rewind();
    }

    pub fn desired(&mut self, frame: Desired) {
        for request in self.held.apply(frame) {
            if let Request::Forget(name) = &request {
                self.statuses.forget(name);
            }
            self.supervisor.submit(request);
        }
    }

    pub fn command(&mut self, command: &Command, clock: ClockOffset, now: UnixMillis) {
        let Some(id) = command.op.map(OpId::from) else {
            tracing::warn!("the server sent a command without an id");
            return;
        };
        if self.under_way.contains(&id) || self.acknowledged.contains(&id) {
            return;
        }
        if self.results.contains(&id) {
            self.results.send_again(&id);
            return;
        }
        if self.under_way.len() + self.results.len() >= MAX_OPERATIONS {
            tracing::error!(%id, "refused an operation: the server has not acknowledged the results of {MAX_OPERATIONS} earlier ones");
            return;
        }
        match reconcile::operation(id, command, clock, now) {
            Ok(operation) => {
                self.under_way.insert(id);
                self.supervisor.submit(Request::Operate(operation));
            }
            Err(outcome) => self.end(id, *outcome),
        }
    }

    /// Drops what the server has stored.
    pub fn acknowledge(&mut self, ack: Ack) {
        if !ack.results.is_empty() {
            let has: HashSet<OpId> = ack.results.into_iter().map(OpId::from).collect();
            let gone = self.results.acknowledge(&has);
            if !gone.is_empty() {
                self.acknowledged.extend(&gone);
                self.supervisor.submit(Request::AcknowledgeResults(gone));
            }
        }
        let through = ack.events_through;
        if let Some(last) = self.events.acknowledge_first(|seq| *seq <= through) {
            self.supervisor.submit(Request::AcknowledgeEvents(last));
        }
    }

    /// When the next report is due.
    pub fn due(&self) -> Option<Instant> {
        self.statuses.due()
    }

    /// The next frame to send now. Statuses go before results, so that a result never overtakes the status it led to. Other
    /// statuses wait until the server lets the agent report.
    pub fn next_frame(&mut self, now: Instant, allowance: &mut Allowance) -> Option<Up> {
        let is_due = self.statuses.due().is_some_and(|due| due <= now);
        if let Some(granted) = Granted::now(*allowance, is_due, self.results.is_waiting())
            && let Some(report) = self.statuses.take(granted, wire::FRAME_BUDGET)
        {
            allowance.spend(report.statuses.len());
            return Some(report.into());
        }
        if let Some((id, outcome)) = self.results.next_to_send() {
            return Some(result_frame(*id, outcome).into());
        }
        let (seq, event) = self.events.next_to_send()?;
        Some(EventFrame::new(*seq, event).into())
    }

    fn end(&mut self, id: OpId, outcome: Outcome) {
        self.under_way.remove(&id);
        if self.under_way.is_empty() {
            self.under_way = HashSet::new();
        }
        self.results.push(id, outcome);
    }

    fn happened(&mut self, seq: u64, event: Event) {
        if seq <= self.last_event {
            return;
        }
        self.last_event = seq;
        self.events.push(seq, event);
        if self.events.len() > MAX_EVENTS {
            let dropped = (0..DROPPED_EVENTS).map_while(|_| self.events.drop_oldest());
            if let Some(last) = dropped.last() {
                tracing::warn!("dropped the oldest {DROPPED_EVENTS} events: the server is away");
                self.supervisor.submit(Request::AcknowledgeEvents(last));
            }
        }
    }
}

/// Drops the output of an outcome that is too large for a frame.
fn result_frame(id: OpId, outcome: &Outcome) -> ResultFrame {
    let frame = ResultFrame::new(id, outcome);
    if frame.outcome_json.len() < wire::MAX_FRAME / 2 {
        return frame;
    }
    let message = outcome.message.chars().take(1000).collect::<String>();
    let short = Outcome {
        flag: outcome.flag,
        managed: outcome.managed,
        ..Outcome::plain(outcome.code, message, outcome.ended_at)
    };
    ResultFrame::new(id, &short)
}
