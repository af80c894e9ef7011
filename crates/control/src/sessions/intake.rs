//! Reports wait here for their turn, so that heartbeats, operations and results go before them however many there are.
//!
//! A session only queues the bytes of a report. One task reads the statuses of many reports, applies them under one lock of the
//! fleet, and lets the other tasks of the runtime go first before it does so again. So whatever is asked, a frame that is no report
//! waits for about one batch. A result waits only for the statuses that its own agent sent before it.
//!
//! What waits here is short, because an agent that waits for grants has few statuses of its own accord on the way: [`GRANT`], and
//! the rest of a frame. While little waits, more agents are granted than have reported; with enough waiting as many; with too much
//! fewer. So the server always has statuses to apply while there are any, and those that it cannot take yet stay with their agents,
//! where newer ones replace them.
//!
//! Agents of earlier versions send when they like: their sessions apply their reports themselves.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use locks::Mutex;
use model::change::HostId;
use tokio::sync::{Notify, watch};
use tokio::task::yield_now;
use tokio::time::timeout;
use wire::Bye;

use super::report::Report;
use super::{Outbox, Refused, Session, Sessions};
use crate::stopped;

/// How many statuses a grant is for: many small reports, or one with all processes of a usual host.
pub(super) const GRANT: u32 = 128;
/// How many bytes of reports are applied at a time: about a millisecond's work.
const BATCH: usize = 48 * 1024;
/// Up to so many bytes of one agent are applied by its own session when a result waits for them.
const SHORT: usize = 2 * 1024;
/// With so many bytes waiting, further reports are applied by their own sessions.
const MAX_WAITING: usize = 16 * 1024 * 1024;
/// With so many bytes waiting, no more reports are granted than were applied.
const ENOUGH_WAITING: usize = 4 * BATCH;
/// With so many, fewer.
const TOO_MUCH_WAITING: usize = 32 * BATCH;
/// How many reports are granted at a time while little waits, beside those that take the place of applied ones.
const MORE_GRANTS: usize = 64;
/// How long the end of a session waits for its last statuses.
const LAST_STATUSES: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Intake {
    queues: Mutex<Queues>,
    work: Notify,
    is_closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Queues {
    /// Agents whose next frame waits for their statuses.
    urgent: VecDeque<Agent>,
    /// Agents with statuses that wait. Those whose session did not wait, or that were urgent meanwhile, have none any more.
    waiting: VecDeque<Agent>,
    n_bytes: usize,
    /// Agents to grant a report, in the order in which they were last heard.
    ungranted: VecDeque<Arc<Outbox>>,
}

#[derive(Debug)]
struct Agent {
    host: HostId,
    outbox: Arc<Outbox>,
}

/// What the intake knows of one session.
#[derive(Debug, Default)]
pub(crate) struct ReportState {
    /// The agent reports only what it was granted.
    waits_for_grants: AtomicBool,
    /// How many statuses it may still report; more, as long as statuses of before its last grant are on the way.
    n_granted: AtomicU32,
    /// It is in the queue of those to be granted.
    is_ungranted: AtomicBool,
    progress: Mutex<Progress>,
    applied: Notify,
}

#[derive(Debug, Default)]
struct Progress {
    waiting: Vec<Report>,
    is_applying: bool,
}

impl ReportState {
    fn waits_for_grants(&self) -> bool {
        self.waits_for_grants.load(Ordering::SeqCst)
    }

    fn is_applied(&self) -> bool {
        let progress = self.progress.lock();
        progress.waiting.is_empty() && !progress.is_applying
    }

    /// Counts applied statuses; true when it is time for the next grant.
    fn spend(&self, n_statuses: usize) -> bool {
        let n_statuses = u32::try_from(n_statuses).unwrap_or(u32::MAX);
        let left = |granted: u32| Some(granted.saturating_sub(n_statuses));
        let before = self
            .n_granted
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, left);
        before
            .unwrap_or_else(|granted| granted)
            .saturating_sub(n_statuses)
            <= GRANT / 2
    }
}

impl Intake {
    /// Lets the agent of a new session report as soon as there is time for it.
    pub(super) fn welcome(&self, outbox: &Arc<Outbox>) {
        let reports = &outbox.reports;
        reports.waits_for_grants.store(true, Ordering::SeqCst);
        self.owe(&mut self.queues.lock(), outbox.clone());
        self.work.notify_one();
    }

    fn owe(&self, queues: &mut Queues, outbox: Arc<Outbox>) {
        if !outbox.reports.is_ungranted.swap(true, Ordering::SeqCst) {
            queues.ungranted.push_back(outbox);
        }
    }

    /// Queues a report; returns it if its session has to apply it itself.
    fn queue(&self, host: HostId, outbox: &Arc<Outbox>, report: Report) -> Option<Report> {
        let mut queues = self.queues.lock();
        let n_bytes = queues.n_bytes + report.bytes.n_bytes();
        if n_bytes > MAX_WAITING || self.is_closed.load(Ordering::SeqCst) {
            return Some(report);
        }
        let was_idle = queues.n_bytes == 0;
        queues.n_bytes = n_bytes;
        let mut progress = outbox.reports.progress.lock();
        if progress.waiting.is_empty() {
            let outbox = outbox.clone();
            queues.waiting.push_back(Agent { host, outbox });
        }
        progress.waiting.push(report);
        drop(progress);
        drop(queues);
        // Otherwise the task is awake until nothing waits.
        if was_idle {
            self.work.notify_one();
        }
        None
    }

    /// Puts the statuses of one agent before all others.
    fn hurry(&self, host: HostId, outbox: &Arc<Outbox>) {
        let outbox = outbox.clone();
        self.queues.lock().urgent.push_back(Agent { host, outbox });
        self.work.notify_one();
    }

    /// Takes short reports of one agent out of the queue, for its own session to apply.
    fn take_of(&self, outbox: &Outbox) -> Option<Vec<Report>> {
        let mut queues = self.queues.lock();
        let mut progress = outbox.reports.progress.lock();
        let n_bytes = n_bytes(&progress.waiting);
        if progress.is_applying || progress.waiting.is_empty() || n_bytes > SHORT {
            return None;
        }
        progress.is_applying = true;
        queues.n_bytes -= n_bytes;
        Some(std::mem::take(&mut progress.waiting))
    }

    /// The next reports to apply.
    fn take(&self) -> Vec<(Agent, Vec<Report>)> {
        let mut queues = self.queues.lock();
        let (mut batch, mut n_bytes) = (Vec::new(), 0);
        while n_bytes < BATCH {
            let next = queues.urgent.pop_front();
            let Some(agent) = next.or_else(|| queues.waiting.pop_front()) else {
                break;
            };
            let mut progress = agent.outbox.reports.progress.lock();
            let reports = std::mem::take(&mut progress.waiting);
            if reports.is_empty() {
                continue;
            }
            progress.is_applying = true;
            drop(progress);
            n_bytes += self::n_bytes(&reports);
            batch.push((agent, reports));
        }
        queues.n_bytes -= n_bytes;
        batch
    }

    /// Grants reports to agents that wait for it, after so many agents had theirs applied.
    fn grant(&self, n_applied: usize) {
        let granted: Vec<Arc<Outbox>> = {
            let mut queues = self.queues.lock();
            let n = match queues.n_bytes {
                TOO_MUCH_WAITING.. => n_applied / 2,
                ENOUGH_WAITING.. => n_applied,
                _ => n_applied + MORE_GRANTS,
            };
            let n = n.min(queues.ungranted.len());
            queues.ungranted.drain(..n).collect()
        };
        for outbox in &granted {
            outbox.reports.is_ungranted.store(false, Ordering::SeqCst);
            outbox.reports.n_granted.store(GRANT, Ordering::SeqCst);
            outbox.change(|pending| pending.may_report = true);
        }
    }

    /// Grants a report at once, or in its turn while enough waits: the heartbeats of a large fleet must not grant more than the
    /// server can take.
    fn grant_again(&self, outbox: &Arc<Outbox>) -> bool {
        let mut queues = self.queues.lock();
        if queues.n_bytes >= ENOUGH_WAITING {
            // The task is awake while bytes wait.
            self.owe(&mut queues, outbox.clone());
            return false;
        }
        outbox.reports.n_granted.store(GRANT, Ordering::SeqCst);
        true
    }

    fn is_idle(&self) -> bool {
        let queues = self.queues.lock();
        queues.urgent.is_empty() && queues.waiting.is_empty() && queues.ungranted.is_empty()
    }
}

fn n_bytes(reports: &[Report]) -> usize {
    reports.iter().map(|one| one.bytes.n_bytes()).sum()
}

/// Applies and grants reports until told to stop; then everything that waits.
pub(crate) async fn run(sessions: Arc<Sessions>, mut stop: watch::Receiver<bool>) {
    let intake = &sessions.intake;
    loop {
        tokio::select! {
            () = intake.work.notified() => {}
            () = stopped(&mut stop) => {
                intake.is_closed.store(true, Ordering::SeqCst);
                while sessions.apply_waiting().await > 0 {}
                return;
            }
        }
        while !intake.is_idle() {
            let n_applied = sessions.apply_waiting().await;
            intake.grant(n_applied);
            yield_now().await;
        }
    }
}

impl Sessions {
    /// Applies a batch; returns of how many agents.
    async fn apply_waiting(&self) -> usize {
        let batch = self.intake.take();
        if batch.is_empty() {
            return 0;
        }
        let n_applied = batch.len();
        // Statuses of a connection that was replaced are older than what the new one tells.
        let is_current = |agent: &Agent| self.core.outboxes.is_current(agent.host, &agent.outbox);
        let (mut agents, mut all) = (Vec::with_capacity(n_applied), Vec::new());
        for (agent, reports) in batch {
            let n_before = all.len();
            if is_current(&agent)
                && let Err(refused) = self.pack(agent.host, &reports, &mut all)
            {
                agent.outbox.refuse(refused);
            }
            agents.push((agent.outbox, all.len() - n_before));
        }
        if self.apply(all).await.is_err() {
            tracing::debug!("the server is stopping: flags are not recorded any more");
        }
        let mut queues = self.intake.queues.lock();
        for (outbox, n_statuses) in agents {
            outbox.reports.progress.lock().is_applying = false;
            outbox.reports.applied.notify_one();
            if outbox.reports.spend(n_statuses) {
                self.intake.owe(&mut queues, outbox);
            }
        }
        n_applied
    }
}

impl Outbox {
    /// Ends the connection of an agent whose report cannot be taken.
    fn refuse(&self, refused: Refused) {
        let Refused {
            reason,
            permanent,
            rejoin,
        } = refused;
        self.change(|pending| {
            pending.bye.get_or_insert(Bye {
                reason,
                permanent,
                rejoin,
            });
        });
    }
}

impl Session {
    /// Applies everything that the agent has reported, or waits until it is applied.
    ///
    /// The few statuses that led to a result are applied here: to wait for the intake would cost more. While another thread
    /// changes the fleet, this one has better things to do.
    pub(super) async fn settle(&self) -> Result<(), Refused> {
        let (sessions, reports) = (&self.sessions, &self.outbox.reports);
        while !reports.is_applied() {
            let short = match sessions.core.is_fleet_busy() {
                true => None,
                false => sessions.intake.take_of(&self.outbox),
            };
            match short {
                Some(short) => self.apply_own(&short).await?,
                None => {
                    sessions.intake.hurry(self.host, &self.outbox);
                    reports.applied.notified().await;
                }
            }
        }
        Ok(())
    }

    /// Applies reports that were taken out of the queue.
    async fn apply_own(&self, reports: &[Report]) -> Result<(), Refused> {
        let mut packed = Vec::new();
        // Statuses of a connection that was replaced are older than what the new one tells.
        let is_current = self
            .sessions
            .core
            .outboxes
            .is_current(self.host, &self.outbox);
        let taken = match is_current {
            true => self.sessions.pack(self.host, reports, &mut packed),
            false => Ok(()),
        };
        let n_statuses = packed.len();
        let applied = self.sessions.apply(packed).await;
        self.outbox.reports.progress.lock().is_applying = false;
        applied?;
        if self.outbox.reports.spend(n_statuses) {
            let intake = &self.sessions.intake;
            intake.owe(&mut intake.queues.lock(), self.outbox.clone());
            intake.work.notify_one();
        }
        taken
    }

    /// The same at the end of the session, for a short time: a new connection tells every status again.
    pub async fn settle_last(&self) {
        // A report that cannot be read ends the session, which has ended.
        if timeout(LAST_STATUSES, self.settle()).await.is_err() {
            tracing::debug!(host = %self.address, "the last statuses of a session wait still");
        }
    }

    /// Answers a heartbeat. An agent with nothing on the way may have missed its grant, and gets another.
    pub(super) fn answer_heartbeat(&self) {
        let reports = &self.outbox.reports;
        let has_nothing_on_the_way = reports.waits_for_grants() && reports.is_applied();
        let may_report = has_nothing_on_the_way && self.sessions.intake.grant_again(&self.outbox);
        self.outbox.change(|pending| {
            pending.heartbeat = true;
            pending.may_report |= may_report;
        });
    }

    /// Queues a report, or applies it at once for an agent that sends when it likes.
    pub(super) async fn take_report(&self, report: Report) -> Result<(), Refused> {
        let report = match self.outbox.reports.waits_for_grants() {
            true => self.sessions.intake.queue(self.host, &self.outbox, report),
            false => Some(report),
        };
        let Some(report) = report else {
            return Ok(());
        };
        // What it reported before comes first.
        self.settle().await?;
        let mut packed = Vec::new();
        self.sessions.pack(self.host, &[report], &mut packed)?;
        self.sessions.apply(packed).await?;
        if self.outbox.reports.waits_for_grants() {
            let intake = &self.sessions.intake;
            intake.owe(&mut intake.queues.lock(), self.outbox.clone());
            intake.work.notify_one();
        }
        Ok(())
    }
}
