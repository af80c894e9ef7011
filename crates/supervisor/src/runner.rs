//! Turns the machines' actions into system calls and what happens on the host into their events.
//!
//! One loop, one thread. Each turn takes what there is (requests, ends, timers), steps the machines concerned, writes
//! their new states, and syncs the journal once for all of them before anything that must be durable is told. A process
//! at rest costs a pidfd in one epoll set: no task, no timer.

mod drive;
mod held;
mod inspect;
mod outbox;
mod request;
mod side;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use model::FullName;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior};

use crate::journal::Journal;
use crate::journal::entry::{Entry, Ledger};
use crate::machine::{Boot, Event, Run};
use crate::os::exits::Exits;
use crate::os::{clock, sink, spawn};
use crate::supervisor::Supervisor;
use crate::{Notice, Options, Request, SupervisorError};
use held::Held;
use outbox::Outbox;
use side::Side;

/// How many requests are taken in one turn: they share one sync.
const MAX_REQUESTS: usize = 1024;
/// How often files that something writes into are looked at.
const BOUND_OUTPUT_EVERY: Duration = Duration::from_secs(1);

/// A held process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Process(Key),
    /// A command beside the machine, by its pid.
    Side(i32),
}

#[derive(Debug)]
pub(crate) struct Runner {
    dir: PathBuf,
    options: Options,
    journal: Journal,
    ledger: Ledger,
    held: HashMap<Key, Held>,
    names: HashMap<FullName, Key>,
    next_key: u32,
    next_spool: u64,
    exits: Exits,
    /// Whom the end of a run concerns.
    watchers: HashMap<Run, Vec<Key>>,
    sides: HashMap<i32, Side>,
    timers: BinaryHeap<Reverse<(u64, Due)>>,
    outbox: Outbox,
    boot: Boot,
    _lock: std::fs::File,
}

impl Runner {
    pub(crate) fn new(
        supervisor: Supervisor,
        notices: mpsc::Sender<Notice>,
    ) -> Result<Self, SupervisorError> {
        spawn::prepare_ourselves();
        let mut runner = Self {
            dir: supervisor.dir,
            options: supervisor.options,
            journal: supervisor.journal,
            ledger: supervisor.picture.ledger,
            held: HashMap::new(),
            names: HashMap::new(),
            next_key: 0,
            next_spool: clock::boot_ms() << 20,
            exits: Exits::new().map_err(SupervisorError::Watch)?,
            watchers: HashMap::new(),
            sides: HashMap::new(),
            timers: BinaryHeap::new(),
            outbox: Outbox::new(notices),
            boot: supervisor.boot,
            _lock: supervisor._lock,
        };
        for (_, (hold, process)) in supervisor.picture.held {
            runner.insert(hold, process);
        }
        Ok(runner)
    }

    pub(crate) async fn run(
        mut self,
        mut requests: mpsc::Receiver<Request>,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), SupervisorError> {
        let mut children = signal(SignalKind::child()).map_err(SupervisorError::Watch)?;
        let mut sample = tokio::time::interval(self.options.sample_every);
        sample.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut bound = tokio::time::interval(BOUND_OUTPUT_EVERY);
        bound.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.recover();
        let mut batch = Vec::new();
        loop {
            self.settle();
            let wake = self.next_wake();
            let idle_outbox = self.outbox.is_empty();
            tokio::select! {
                stopped = stop.wait_for(|stop| *stop) => {
                    drop(stopped);
                    break;
                }
                ready = self.exits.ready() => {
                    ready.map_err(SupervisorError::Watch)?;
                    self.take_exits();
                }
                _ = children.recv() => {
                    self.take_exits();
                    self.exits.reap_orphans();
                }
                () = sleep_until(wake), if wake.is_some() => self.ring(),
                heard = self.outbox.heard(), if !idle_outbox => if !heard {
                    break;
                },
                taken = requests.recv_many(&mut batch, MAX_REQUESTS) => match taken {
                    0 => break,
                    _ => self.take_requests(batch.drain(..)),
                },
                _ = sample.tick() => self.period(),
                _ = bound.tick(), if self.writes_anything() => self.bound_output(),
            }
        }
        self.settle();
        Ok(())
    }

    /// Goes on where an earlier agent was.
    fn recover(&mut self) {
        let mut keys: Vec<Key> = self.held.keys().copied().collect();
        keys.sort();
        for key in keys {
            self.drive(key, Event::Recovered(self.boot));
        }
        if self.boot == Boot::Other {
            let boot_id = clock::boot_id();
            self.write(&[Entry::Opened { boot_id }]);
        }
        self.remove_stray_spools();
    }

    /// The end of a turn: durable first, then told.
    fn settle(&mut self) {
        if self.journal.is_behind() || self.journal.wants_rewriting(self.options.journal_bytes) {
            self.rewrite_journal();
        }
        if self.outbox.needs_sync() {
            match self.journal.is_behind() {
                true => {}
                false => match self.journal.sync() {
                    Ok(()) => self.outbox.synced(),
                    Err(error) => tracing::error!(%error, "cannot sync the journal"),
                },
            }
        }
        let held = &self.held;
        self.outbox.send(|key| held.get(&key).map(Held::notice));
    }

    fn rewrite_journal(&mut self) {
        let boot_id = clock::boot_id();
        let held = self.held.values().flat_map(|held| {
            let name = held.hold.name.clone();
            let state = Entry::State(name, Box::new(held.process.clone()));
            [Entry::Hold(Box::new((&held.hold).into())), state]
        });
        let entries = std::iter::once(Entry::Opened { boot_id })
            .chain(held)
            .chain(self.ledger.entries());
        if let Err(error) = self.journal.rewrite(entries) {
            tracing::error!(%error, "cannot write the journal anew");
        }
    }

    /// Writes entries, or says loudly that it cannot. Supervision goes on: the journal catches up when it can.
    fn write(&mut self, entries: &[Entry]) -> bool {
        match self.journal.append(entries) {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(%error, "cannot write to the journal");
                false
            }
        }
    }

    fn next_wake(&mut self) -> Option<Instant> {
        let now = clock::boot_ms();
        while let Some(Reverse((at, due))) = self.timers.peek() {
            if self.is_armed(*at, *due) {
                let wait = at.saturating_sub(now);
                return Some(Instant::now() + Duration::from_millis(wait));
            }
            self.timers.pop();
        }
        None
    }

    fn is_armed(&self, at: u64, due: Due) -> bool {
        match due {
            Due::Process(key) => self.held.get(&key).is_some_and(|h| h.armed == Some(at)),
            Due::Side(pid) => self.sides.get(&pid).is_some_and(|s| s.until_boot_ms == at),
        }
    }

    /// Ticks everyone whose time has come.
    fn ring(&mut self) {
        let now = clock::boot_ms();
        while let Some(Reverse((at, due))) = self.timers.peek().copied() {
            if at > now {
                return;
            }
            self.timers.pop();
            if !self.is_armed(at, due) {
                continue;
            }
            match due {
                Due::Process(key) => {
                    if let Some(held) = self.held.get_mut(&key) {
                        held.armed = None;
                    }
                    self.drive(key, Event::Tick);
                }
                Due::Side(pid) => self.side_timed_out(pid),
            }
        }
    }

    fn take_exits(&mut self) {
        for (run, exit) in self.exits.take() {
            if let Some(side) = self.sides.remove(&run.pid) {
                self.side_ended(side, exit);
            }
            for key in self.watchers.remove(&run).unwrap_or_default() {
                self.ended(key, run, exit);
            }
        }
    }

    /// Once a period: whoever is down may have been started by somebody else.
    fn period(&mut self) {
        let resting: Vec<Key> = self
            .held
            .iter()
            .filter(|(_, held)| held.is_resting())
            .map(|(key, _)| *key)
            .collect();
        for key in resting {
            self.drive(key, Event::Tick);
        }
    }

    fn writes_anything(&self) -> bool {
        !self.sides.is_empty()
            || self
                .held
                .values()
                .any(|h| h.process.sinks().next().is_some())
    }

    fn bound_output(&mut self) {
        let sinks = self.held.values().flat_map(|held| held.process.sinks());
        for sink in sinks.chain(self.sides.values().map(|side| &side.sink)) {
            if let Err(error) = sink::bound(sink) {
                tracing::debug!(path = %sink.path.display(), %error, "cannot bound output");
            }
        }
    }

    /// Spool files that nothing refers to.
    fn remove_stray_spools(&self) {
        let entries = std::fs::read_dir(self.dir.join("output"));
        for entry in entries.into_iter().flatten().flatten() {
            let path = entry.path();
            let mut sinks = self.held.values().flat_map(|held| held.process.sinks());
            if !sinks.any(|sink| sink.path == path) {
                let _ = std::fs::remove_file(path);
            }
        }
    }

    fn spool_path(&mut self) -> PathBuf {
        self.next_spool += 1;
        self.dir
            .join("output")
            .join(format!("{:x}", self.next_spool))
    }
}

async fn sleep_until(wake: Option<Instant>) {
    if let Some(wake) = wake {
        tokio::time::sleep_until(wake).await;
    }
}
