//! Plan, commit, fold in: the only way in which durable state changes.
//!
//! A plan reads the state at one revision, the clock and random numbers; its only side effect is that it may use up an id. The
//! store accepts its changes only if that revision is still the head. Otherwise this replica keeps the turn to commit, so that
//! the head stays where it is: it folds the commits of other replicas in, and the plan runs again.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fleet::Fleet;
use locks::{FailStop, Mutex};
use model::change::{Changes, HostId, NameId, Revision};
use store::{CommitTurn, StoreError};
use tokio::sync::{MutexGuard, watch};
use tokio::time::Instant;

use crate::access::Accounts;
use crate::core::Core;
use crate::watch::Committed;
use crate::{ChangeEvent, ControlError, timeline};

/// How often a commit that waits for its turn checks whether the store is away.
const LOOK_UP: Duration = Duration::from_millis(500);
/// A plan that takes so long is not made while other replicas wait for their turn.
const LONG_PLAN: Duration = Duration::from_secs(1);
/// Unless it was made in vain so often: under a steady load another replica commits during each plan.
const MAX_IN_VAIN: u32 = 3;
/// A plan that takes so long is never made in the turn, which the store takes away after ten seconds.
const LONGEST_IN_TURN: Duration = Duration::from_secs(5);

/// What a plan may read.
#[derive(Debug)]
pub(crate) struct World<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) accounts: &'a Accounts,
    /// The revision that the commit will have.
    pub(crate) revision: Revision,
}

/// How long a plan may take.
#[derive(Debug, Clone, Copy)]
enum PlanSize {
    Short,
    Any,
}

/// The locks of this replica's commits. Neither is held while the fleet is only read.
#[derive(Debug, Default)]
pub(crate) struct Committing {
    /// One commit of this replica at a time: the store would make them wait for each other anyway.
    queue: tokio::sync::Mutex<()>,
    /// Held from the turn of a commit to its end, while commits of other replicas are read, so that each is folded in once, and
    /// while a plan reads what is folded in.
    folding: tokio::sync::Mutex<()>,
    /// The last plan that was made before its turn was in vain.
    is_contended: AtomicBool,
    /// The revision that was folded in last, for those that wait for it.
    folded: watch::Sender<Revision>,
}

impl Committing {
    /// Resolves when everything up to `head` has been folded in.
    async fn has_folded(&self, head: Revision) {
        let mut folded = self.folded.subscribe();
        // Fails only without a sender, which lives as long as `self`.
        let _ = folded.wait_for(|folded| *folded >= head).await;
    }
}

/// Whether a plan that took so long may be made while other replicas wait.
fn may_take_turn(took: Duration, n_in_vain: u32) -> bool {
    took < LONG_PLAN || (n_in_vain >= MAX_IN_VAIN && took < LONGEST_IN_TURN)
}

/// Plans changes, and keeps its answer to itself.
type Plan = Box<dyn FnMut(&World<'_>) -> Result<Changes, ControlError> + Send>;

impl Core {
    /// Commits a plan. Returns when its changes are durable and visible; a plan without changes returns at once.
    ///
    /// The work continues when the caller is dropped: a commit that reached the store is always folded in.
    pub(crate) async fn commit<T, P>(self: &Arc<Self>, plan: P) -> Result<T, ControlError>
    where
        T: Send + 'static,
        P: FnMut(&World<'_>) -> Result<(Changes, T), ControlError> + Send + 'static,
    {
        self.commit_as(PlanSize::Any, plan).await
    }

    /// The same for a plan that takes milliseconds, however large the fleet is. One that every replica makes all the time is
    /// made in its turn only, while it would be made in vain before.
    pub(crate) async fn commit_short<T, P>(self: &Arc<Self>, plan: P) -> Result<T, ControlError>
    where
        T: Send + 'static,
        P: FnMut(&World<'_>) -> Result<(Changes, T), ControlError> + Send + 'static,
    {
        self.commit_as(PlanSize::Short, plan).await
    }

    async fn commit_as<T, P>(
        self: &Arc<Self>,
        size: PlanSize,
        mut plan: P,
    ) -> Result<T, ControlError>
    where
        T: Send + 'static,
        P: FnMut(&World<'_>) -> Result<(Changes, T), ControlError> + Send + 'static,
    {
        let answer = Arc::new(Mutex::new(None));
        let planned = answer.clone();
        let plan = Box::new(move |world: &World<'_>| {
            let (changes, answer) = plan(world)?;
            *planned.lock() = Some(answer);
            Ok(changes)
        });
        let n_rows = self.commit_plan(size, plan).await?;
        self.freed_memory.count(n_rows).await;
        let answer = answer.lock().take();
        Ok(answer.expect("a plan that was committed has run"))
    }

    /// Returns how many rows it wrote. Not generic and boxed, so that it is compiled once for all plans.
    fn commit_plan(
        self: &Arc<Self>,
        size: PlanSize,
        plan: Plan,
    ) -> Pin<Box<dyn Future<Output = Result<usize, ControlError>> + Send>> {
        let core = self.clone();
        Box::pin(async move {
            let work = tokio::spawn(async move { core.commit_here(size, plan).await });
            match work.await {
                Ok(ended) => ended,
                Err(ended) => match ended.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => Err(ControlError::Busy("the server is stopping".to_owned())),
                },
            }
        })
    }

    async fn commit_here(&self, size: PlanSize, mut plan: Plan) -> Result<usize, ControlError> {
        let _place = self.place().await?;
        let mut n_in_vain = 0;
        loop {
            let is_contended = self.committing.is_contended.load(Ordering::Relaxed);
            let mut took = Duration::ZERO;
            let early = match (size, is_contended) {
                (PlanSize::Any, _) | (PlanSize::Short, false) => {
                    let _folding = self.committing.folding.lock().await;
                    let began = Instant::now();
                    let early = self.plan(&mut plan)?;
                    took = began.elapsed();
                    Some(early)
                }
                (PlanSize::Short, true) => None,
            };
            if early
                .as_ref()
                .is_some_and(|(_, changes)| changes.is_empty())
            {
                return Ok(0);
            }
            let mut turn = self.store.turn().await?;
            let _folding = self.committing.folding.lock().await;
            let head = turn.planned_at();
            let has_moved = self.fleet().revision() != head;
            if has_moved && let Err(error) = self.catch_up_in(&mut turn).await {
                turn.release().await?;
                return Err(error);
            }
            let is_contended = match &early {
                Some((planned_at, _)) => *planned_at != head,
                None => has_moved,
            };
            self.committing
                .is_contended
                .store(is_contended, Ordering::Relaxed);
            let changes = match early.filter(|(planned_at, _)| *planned_at == head) {
                Some((_, changes)) => changes,
                None if !may_take_turn(took, n_in_vain) => {
                    n_in_vain += 1;
                    turn.release().await?;
                    continue;
                }
                None => match self.plan(&mut plan) {
                    Ok((_, changes)) if !changes.is_empty() => changes,
                    refused_or_empty => {
                        turn.release().await?;
                        return refused_or_empty.map(|_| 0);
                    }
                },
            };
            match turn.commit(&changes).await {
                Ok(revision) => {
                    self.fold(revision, &changes);
                    self.counters.commits.add(1);
                    self.bus.publish(bus::Message::Committed(revision));
                    return Ok(changes.n_rows());
                }
                // It was lost with its connection, and another replica took its revision.
                Err(StoreError::Moved { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Runs a plan; answers the revision that it read, and its changes.
    fn plan(&self, plan: &mut Plan) -> Result<(Revision, Changes), ControlError> {
        let fleet = self.fleet();
        let accounts = self.accounts();
        let head = fleet.revision();
        let world = World {
            fleet: &fleet,
            accounts: &accounts,
            revision: head.next(),
        };
        let mut changes = plan(&world)?;
        changes.timeline = timeline::rows_of(&fleet, &changes, self.now());
        Ok((head, changes))
    }

    /// Waits for earlier commits. While the store is away each of those blocks on it, so later ones fail instead of queueing.
    async fn place(&self) -> Result<MutexGuard<'_, ()>, ControlError> {
        let mut place = pin!(self.committing.queue.lock());
        loop {
            tokio::select! {
                place = &mut place => return Ok(place),
                () = tokio::time::sleep(LOOK_UP) => {}
            }
            if self.is_behind() {
                let source = "earlier commits wait for it already".into();
                return Err(StoreError::Unavailable { source }.into());
            }
        }
    }

    /// Folds in the commits of other replicas, unless those up to `head` are known by now. A commit of this replica folds them
    /// in at the begin of its turn, and nothing has to wait for its end.
    pub(crate) async fn follow(&self, head: Revision) -> Result<(), ControlError> {
        let folding = tokio::select! {
            folding = self.committing.folding.lock() => folding,
            () = self.committing.has_folded(head) => return Ok(()),
        };
        let known = self.fleet().revision();
        if known >= head {
            return Ok(());
        }
        let read = self.store.changes_since(known).await;
        let (revision, changes) = self.note_too_old(read)?;
        self.fold_of_others(revision, &changes);
        drop(folding);
        let n_rows = changes.n_rows();
        drop(changes);
        self.freed_memory.count(n_rows).await;
        Ok(())
    }

    /// Folds in what other replicas committed before this turn.
    async fn catch_up_in(&self, turn: &mut CommitTurn) -> Result<(), ControlError> {
        let read = turn.changes_since(self.fleet().revision()).await;
        let changes = self.note_too_old(read)?;
        self.fold_of_others(turn.planned_at(), &changes);
        Ok(())
    }

    fn note_too_old<T>(&self, read: Result<T, StoreError>) -> Result<T, ControlError> {
        if matches!(read, Err(StoreError::TooOld { .. })) {
            self.store_link.set_too_old();
        }
        Ok(read?)
    }

    fn fold_of_others(&self, revision: Revision, changes: &Changes) {
        self.fold(revision, changes);
        self.publish_events(changes);
    }

    /// Sends watchers here the events that another replica recorded.
    fn publish_events(&self, changes: &Changes) {
        if changes.events.is_empty() || !self.watchers.any() {
            return;
        }
        for row in &changes.events {
            let host = self.fleet().address(row.host);
            if let Some(host) = host {
                let event = row.event.clone();
                self.watchers.send(ChangeEvent::Event { host, event });
            }
        }
    }

    /// Makes a commit visible: first to readers, atomically, then to waiting agents and watchers.
    ///
    /// The fleet is changed aside, while readers read the snapshot before. Then all locks are taken before the first change is
    /// shown, and released after the last, so a reader sees all of the commit or none (`lock_order.rs`). A panic ends the
    /// process: the store has the commit, and memory would have half of it.
    fn fold(&self, revision: Revision, changes: &Changes) {
        let _fail_stop = FailStop::new();
        let (desired, tasks, jobs, watched) = {
            let mut fleet = self.fleet_mut();
            let desired = desired_changes(&fleet, changes);
            let watched = (self.watchers.any()).then(|| Committed::before(&fleet, changes));
            fleet.apply(revision, changes);
            let watched = watched.map(|watched| watched.after(&fleet, changes, self.now()));
            let mut accounts = self.accounts_mut();
            let mut jobs = self.jobs.table();
            let mut tasks = self.tasks.table();
            fleet.publish();
            accounts.apply(changes);
            (desired, tasks.apply(changes), jobs.apply(changes), watched)
        };
        self.committing.folded.send_replace(revision);
        self.tasks.announce(&tasks);
        self.outboxes.send_processes(&desired);
        self.outboxes.send_groups(changes);
        self.outboxes.send_commands(changes);
        self.outboxes.disconnect_revoked(changes);
        self.deliveries.apply(changes);
        self.watchers.send_tasks(&tasks);
        self.jobs.announce(&jobs);
        for event in jobs.events.into_iter().chain(watched.into_iter().flatten()) {
            self.watchers.send(event);
        }
    }
}

/// The processes that agents must be sent again: those whose spec or existence changed, not those whose flag did.
fn desired_changes(fleet: &Fleet, changes: &Changes) -> Vec<(HostId, NameId)> {
    let gone = changes.processes_gone.iter();
    let gone = gone
        .filter_map(|id| fleet.registration(*id))
        .map(|row| (row.host, row.name));
    let put = changes.processes.iter().filter(|row| {
        fleet.registered(row.host, row.name).is_none_or(|before| {
            (before.definition, before.incarnation) != (row.definition, row.incarnation)
        })
    });
    gone.chain(put.map(|row| (row.host, row.name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_plan_takes_the_turn_after_some_in_vain() {
        let (short, long) = (LONG_PLAN / 2, LONG_PLAN * 2);
        assert!(may_take_turn(short, 0));
        assert!(!may_take_turn(long, 0));
        assert!(!may_take_turn(long, MAX_IN_VAIN - 1));
        assert!(may_take_turn(long, MAX_IN_VAIN));
        assert!(!may_take_turn(LONGEST_IN_TURN, MAX_IN_VAIN));
    }

    #[tokio::test]
    async fn a_revision_that_is_folded_in_wakes_those_that_wait_for_it() {
        let committing = std::sync::Arc::new(Committing::default());
        let waiting = committing.clone();
        let waiting = tokio::spawn(async move { waiting.has_folded(Revision(2)).await });
        committing.folded.send_replace(Revision(1));
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        committing.folded.send_replace(Revision(3));
        waiting.await.unwrap();
    }
}
