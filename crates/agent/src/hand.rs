//! Everything that an agent knows between two connections: what it holds, how it is, what the server has not heard yet.
//!
//! One owner, no locks: the session borrows it while there is one, and the wait for the next session otherwise.

use std::collections::{HashSet, VecDeque};

use model::event::Event;
use model::{OpId, Outcome, UnixMillis};
use supervisor::{Allowed, Notice, Recovered, Request};
use tokio::sync::watch;
use tokio::time::Instant;
use wire::up::OpRef;
use wire::{Ack, Command, Desired, EventFrame, ResultFrame, Up};

use crate::answer::Files;
use crate::keeper::{Keeper, SupervisorGone};
use crate::lane::Lane;
use crate::reconcile::{self, ClockOffset, Held};
use crate::report::Statuses;
use crate::session::Numbers;

/// Operations taken and not acknowledged, at most. A server that never acknowledges gets no further.
pub const MAX_OPERATIONS: usize = 20_000;
/// Events kept for a server that is away: a day of twenty processes that each die every minute. Beyond this the oldest go,
/// this many at a time.
pub const MAX_EVENTS: usize = 50_000;
const DROPPED_EVENTS: usize = 1_000;
/// Acknowledged operations that are remembered, the newest of them.
const MAX_ACKNOWLEDGED: usize = 4_096;

#[derive(Debug)]
pub struct Hand {
    keeper: Keeper,
    held: Held,
    statuses: Statuses,
    under_way: HashSet<OpId>,
    results: Lane<OpId, Outcome>,
    events: Lane<u64, Event>,
    last_event: u64,
    numbers: Numbers,
    /// Operations that a server has acknowledged last. Another server may not have heard of it yet, and ask again.
    acknowledged: VecDeque<OpId>,
    connected: watch::Sender<bool>,
    files: Files,
}

impl Hand {
    pub fn new(recovered: Recovered, keeper: Keeper) -> Self {
        let mut hand = Self {
            keeper,
            held: Held::new(&recovered.held),
            statuses: Statuses::default(),
            under_way: recovered.under_way.into_iter().collect(),
            results: Lane::default(),
            events: Lane::default(),
            last_event: 0,
            numbers: Numbers::default(),
            acknowledged: VecDeque::new(),
            connected: watch::Sender::new(false),
            files: Files::new(Allowed::default()),
        };
        for (id, outcome) in recovered.results {
            hand.end(id, outcome);
        }
        for (seq, event) in recovered.events {
            hand.happened(seq, event);
        }
        hand
    }

    /// Bounds where a server may write files.
    pub fn with_release(mut self, allowed: Allowed) -> Self {
        self.files = Files::new(allowed);
        self
    }

    pub(crate) fn files(&self) -> Files {
        self.files.clone()
    }

    pub fn n_held(&self) -> usize {
        self.held.len()
    }

    /// Whether a server is there, now and whenever it changes.
    pub fn connected(&self) -> watch::Receiver<bool> {
        self.connected.subscribe()
    }

    pub(crate) fn welcomed(&self) {
        self.connected.send_replace(true);
    }

    pub(crate) fn parted(&self) {
        self.connected.send_if_modified(std::mem::take);
    }

    pub(crate) fn numbers(&self) -> Numbers {
        self.numbers.clone()
    }

    pub fn held_digest(&self) -> u64 {
        self.held.digest()
    }

    /// Operations that the server need not send again.
    pub fn held_ops(&self) -> Vec<OpRef> {
        self.under_way
            .iter()
            .chain(self.results.keys())
            .map(|id| OpRef::from(*id))
            .collect()
    }

    /// One exchange with the supervisor. May be cancelled without loss.
    pub async fn turn(&mut self) -> Result<(), SupervisorGone> {
        match self.keeper.turn().await? {
            Some(Notice::Status(name, status)) if self.held.contains(&name) => {
                self.statuses.update(name, status, Instant::now());
            }
            // The last word about a process that was forgotten meanwhile.
            Some(Notice::Status(..)) => {}
            Some(Notice::Ended(id, outcome)) => self.end(id, outcome),
            Some(Notice::Event(seq, event)) => self.happened(seq, event),
            None => {}
        }
        Ok(())
    }

    /// Serves the supervisor while there is nobody else to talk to. Returns only when it is gone.
    pub async fn attend(&mut self) -> SupervisorGone {
        loop {
            if let Err(gone) = self.turn().await {
                return gone;
            }
        }
    }

    /// Whether the supervisor has taken everything that the server asked so far.
    pub fn is_idle(&self) -> bool {
        self.keeper.is_idle()
    }

    /// Asks the supervisor something that only this connection wants to know.
    pub(crate) fn ask(&mut self, request: Request) {
        self.keeper.ask(request);
    }

    /// A new connection: its server has heard nothing of what it did not acknowledge.
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
            self.keeper.ask(request);
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
        if self.results.keys().any(|ended| *ended == id) {
            self.results.send_again(&id);
            return;
        }
        if self.under_way.len() + self.results.len() >= MAX_OPERATIONS {
            tracing::error!(%id, "not taken: {MAX_OPERATIONS} operations are not acknowledged yet");
            return;
        }
        match reconcile::operation(id, command, clock, now) {
            Ok(operation) => {
                self.under_way.insert(id);
                self.keeper.ask(Request::Operate(operation));
            }
            Err(outcome) => self.end(id, outcome),
        }
    }

    /// The server has these: they need not be kept.
    pub fn acknowledge(&mut self, ack: Ack) {
        if !ack.results.is_empty() {
            let has: HashSet<OpId> = ack.results.into_iter().map(OpId::from).collect();
            let gone = self.results.acknowledge(|id| has.contains(id));
            if !gone.is_empty() {
                self.acknowledged.extend(&gone);
                let too_many = self.acknowledged.len().saturating_sub(MAX_ACKNOWLEDGED);
                self.acknowledged.drain(..too_many);
                self.keeper.ask(Request::AcknowledgeResults(gone));
            }
        }
        let through = ack.events_through;
        if let Some(last) = self.events.acknowledge_first(|seq| *seq <= through) {
            self.keeper.ask(Request::AcknowledgeEvents(last));
        }
    }

    /// When there will be something to send that may still wait.
    pub fn due(&self) -> Option<Instant> {
        self.statuses.due()
    }

    /// The next frame that should go out now. A result never overtakes the status that it led to.
    pub fn next_frame(&mut self, now: Instant) -> Option<Up> {
        let is_due = self.statuses.due().is_some_and(|due| due <= now);
        if (is_due || self.results.is_waiting())
            && let Some(report) = self.statuses.take(wire::FRAME_BUDGET)
        {
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
        if !self.results.keys().any(|ended| *ended == id) {
            self.results.push(id, outcome);
        }
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
                self.keeper.ask(Request::AcknowledgeEvents(last));
            }
        }
    }
}

/// An outcome that no frame can carry is sent without its output, rather than never.
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
