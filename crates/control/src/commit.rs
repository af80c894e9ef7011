//! Plan, commit, fold in: the one way in which anything durable changes.
//!
//! A plan reads the state at one revision, the clock and random numbers, and at most uses an id up. The store takes its
//! changes only if that revision is still the head; if another replica was faster, its commits are folded in and the plan is
//! made again.

use std::pin::pin;
use std::time::Duration;

use fleet::Fleet;
use locks::FailStop;
use model::change::{Changes, HostId, NameId, Revision};
use store::StoreError;
use tokio::sync::MutexGuard;

use crate::access::Access;
use crate::{Control, ControlError, Happening};

/// How often whoever waits for its turn looks whether the store is there.
const LOOK_UP: Duration = Duration::from_millis(500);

/// What a plan may look at.
#[derive(Debug)]
pub(crate) struct World<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) access: &'a Access,
    /// The revision that the commit will have.
    pub(crate) revision: Revision,
}

impl Control {
    /// Carries a plan out. Answers when it is durable and visible; a plan without changes is answered at once.
    ///
    /// The work goes on even if the caller goes away: a commit that reached the store is always folded in.
    pub(crate) async fn commit<T, P>(&self, plan: P) -> Result<T, ControlError>
    where
        T: Send + 'static,
        P: FnMut(&World<'_>) -> Result<(Changes, T), ControlError> + Send + 'static,
    {
        let control = self.clone();
        let work = tokio::spawn(async move { control.commit_here(plan).await });
        match work.await {
            Ok(answer) => answer,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(ControlError::Busy("the server is stopping".to_owned())),
            },
        }
    }

    async fn commit_here<T, P>(&self, mut plan: P) -> Result<T, ControlError>
    where
        P: FnMut(&World<'_>) -> Result<(Changes, T), ControlError>,
    {
        let _turn = self.turn().await?;
        loop {
            let (head, changes, answer) = {
                let fleet = self.fleet();
                let access = self.access();
                let head = fleet.revision();
                let world = World {
                    fleet: &fleet,
                    access: &access,
                    revision: head.next(),
                };
                let (changes, answer) = plan(&world)?;
                (head, changes, answer)
            };
            if changes.is_empty() {
                return Ok(answer);
            }
            match self.0.store.commit(head, &changes).await {
                Ok(revision) => {
                    self.fold(revision, &changes);
                    self.0.counters.commits.add(1);
                    self.0.bus.publish(bus::Message::Committed(revision));
                    return Ok(answer);
                }
                Err(StoreError::Moved { .. }) => self.catch_up(head).await?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for everybody who came before. While the store is away each of them waits for it, so nobody queues up behind
    /// them.
    async fn turn(&self) -> Result<MutexGuard<'_, ()>, ControlError> {
        let mut turn = pin!(self.0.committing.lock());
        loop {
            tokio::select! {
                turn = &mut turn => return Ok(turn),
                () = tokio::time::sleep(LOOK_UP) => {}
            }
            if self.is_behind() {
                let source = "others wait for it already".into();
                return Err(StoreError::Unavailable { source }.into());
            }
        }
    }

    /// Folds in whatever other replicas committed.
    pub(crate) async fn follow(&self) -> Result<(), ControlError> {
        let _turn = self.0.committing.lock().await;
        let head = self.fleet().revision();
        self.catch_up(head).await
    }

    /// Folds in what other replicas committed after `head`.
    async fn catch_up(&self, head: Revision) -> Result<(), ControlError> {
        let (revision, changes) = match self.0.store.changes_since(head).await {
            Err(StoreError::TooOld { since }) => {
                self.0.replicas.fall_behind();
                return Err(StoreError::TooOld { since }.into());
            }
            read => read?,
        };
        self.fold(revision, &changes);
        self.tell_of_events(&changes);
        Ok(())
    }

    /// Events that another replica took: here nobody has been told of them.
    fn tell_of_events(&self, changes: &Changes) {
        if changes.events.is_empty() || !self.has_watchers() {
            return;
        }
        for row in &changes.events {
            let host = self.fleet().host(row.host).map(|view| view.host);
            if let Some(host) = host {
                let event = row.event.clone();
                self.tell(Happening::Event { host, event });
            }
        }
    }

    /// Makes a commit visible: to readers first and whole, then to waiting agents and watchers.
    ///
    /// All locks are taken before anything is changed and released after everything is, so a reader that has seen a part of the
    /// commit sees the rest. A panic ends the process: the store has the commit, and memory would have half of it.
    fn fold(&self, revision: Revision, changes: &Changes) {
        let _fail_stop = FailStop::new();
        let (desired, tasks, jobs) = {
            let mut fleet = self.fleet_mut();
            let mut access = self.access_mut();
            let mut jobs = self.0.jobs.table();
            let mut tasks = self.0.tasks.table();
            let desired = desired_changes(&fleet, changes);
            fleet.apply(revision, changes);
            access.apply(changes);
            (desired, tasks.apply(changes), jobs.apply(changes))
        };
        self.0.tasks.announce(&tasks);
        self.0.sessions.desire(&desired);
        self.0.sessions.regroup(changes);
        self.0.sessions.dispatch(changes);
        self.0.sessions.dismiss(changes);
        self.0.webhooks.apply(changes);
        self.tell_of_tasks(&tasks);
        self.0.jobs.announce(&jobs);
        jobs.moved.into_iter().for_each(|moved| self.tell(moved));
    }
}

/// Which agents should hear of which processes: those whose spec or existence changed, not those whose flag did.
fn desired_changes(fleet: &Fleet, changes: &Changes) -> Vec<(HostId, NameId)> {
    let gone = changes
        .processes_gone
        .iter()
        .filter_map(|id| fleet.row(*id))
        .map(|row| {
            let change = row.to_change();
            (change.host, change.name)
        });
    let put = changes.processes.iter().filter(|row| {
        fleet.process(row.host, row.name).is_none_or(|before| {
            let before = before.to_change();
            (before.definition, before.incarnation) != (row.definition, row.incarnation)
        })
    });
    gone.chain(put.map(|row| (row.host, row.name))).collect()
}
