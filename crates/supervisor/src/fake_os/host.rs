//! The fake host of the simulation: runs an agent, kills it, and loses power. The runner, the machines and the journal
//! above it are the real ones. Compiled into `supervisor-on-fake-os` only.
//!
//! The agent may be killed before and after every call to the host, so everything between two calls is atomic. Files of
//! the agent (journal, spools) are real; processes, pid files and clocks are not.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::fs::OpenOptions;
use std::future::Future;
use std::panic::panic_any;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use model::{FullName, UnixMillis};
use tokio::sync::Notify;

use super::process_table::ProcessTable;
use super::trace::{self, Execution};

tokio::task_local! {
    static HOST: Host;
}

/// The panic payload of an agent that is killed in the middle of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentKilled;

/// A handle on the host; clones share it.
#[derive(Clone)]
pub struct Host(Rc<Inner>);

struct Inner {
    table: RefCell<ProcessTable>,
    changed: Notify,
    /// The agent's journal.
    journal: PathBuf,
    dies_after: Cell<Option<PlannedDeath>>,
    /// Commands executed before a loss of power: the journal may have lost them.
    executions: RefCell<BTreeSet<Execution>>,
}

/// How an agent is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentDeath {
    /// The agent alone.
    Killed,
    /// The whole host, which boots again.
    PowerLost,
}

#[derive(Debug, Clone, Copy)]
struct PlannedDeath {
    how: AgentDeath,
    moments_left: u32,
    /// How much of the last writes survives, of 256 parts.
    kept: u8,
    /// The length of the journal at the last call: the agent has not acted on anything behind it.
    journal_length: u64,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Host")
            .field(&self.0.journal.display())
            .finish()
    }
}

/// The host that this task runs on.
pub(super) fn current() -> Host {
    HOST.with(Host::clone)
}

/// One call of the agent to its host; the agent may be killed before and after it.
pub(super) fn call<T>(work: impl FnOnce(&mut ProcessTable) -> T) -> T {
    let host = current();
    host.may_die();
    let done = host.peek(work);
    host.may_die();
    done
}

/// The wall clock of the host that this task runs on.
pub fn wall_clock() -> UnixMillis {
    current().peek(|table| table.unix())
}

impl Host {
    /// A host that has just booted, with the agent's journal in `dir`.
    pub fn new(dir: &Path, wall_clock: UnixMillis) -> Self {
        Self(Rc::new(Inner {
            table: RefCell::new(ProcessTable::new(wall_clock)),
            changed: Notify::new(),
            journal: dir.join("journal"),
            dies_after: Cell::new(None),
            executions: RefCell::default(),
        }))
    }

    /// Runs an agent here.
    pub async fn run<T>(&self, agent: impl Future<Output = T>) -> T {
        HOST.scope(self.clone(), agent).await
    }

    /// Kills the agent after this many moments: one before and one after each call to its host.
    pub fn kill_agent_after(&self, moments: u32, how: AgentDeath, kept: u8) {
        self.0.dies_after.set(Some(PlannedDeath {
            how,
            moments_left: moments,
            kept,
            journal_length: self.journal_length(),
        }));
    }

    /// The agent has ended, in any way. Its blocked children exit without executing anything.
    pub fn agent_is_gone(&self) {
        self.0.dies_after.set(None);
        self.peek(|table| table.agent_is_gone());
    }

    /// Loses power and boots again. Of unsynced writes, `kept` of 256 parts survive.
    pub fn lose_power(&self, kept: u8) {
        let dir = self.0.journal.parent().expect("it is in a directory");
        self.0
            .executions
            .borrow_mut()
            .extend(trace::executions(dir));
        let durable = self.peek(|table| {
            table.reboot();
            table.durable_length
        });
        self.cut_journal(durable, kept);
    }

    /// Every command that was executed for an operation before a loss of power.
    pub fn executions(&self) -> BTreeSet<Execution> {
        self.0.executions.borrow().clone()
    }

    /// Moves the wall clock.
    pub fn move_wall_clock(&self, by_ms: i64) {
        self.peek(|table| table.wall_lead_ms += by_ms);
    }

    /// Kills the program of a process; false when none runs.
    pub fn kill_program(&self, name: &FullName) -> bool {
        let killed = self.peek(|table| table.kill_program(name));
        self.0.changed.notify_waiters();
        killed
    }

    /// The pids of the live programs of a process.
    pub fn programs(&self, name: &FullName) -> Vec<i32> {
        self.peek(|table| table.programs_of(name))
    }

    /// Violated invariants.
    pub fn violations(&self) -> Vec<String> {
        self.peek(|table| table.violations.clone())
    }

    /// Live programs that run until they are stopped, and have run for a while.
    pub fn lasting_programs(&self) -> Vec<i32> {
        self.peek(|table| table.lasting_programs())
    }

    /// How often it was booted.
    pub fn n_boots(&self) -> u32 {
        self.peek(|table| table.n_boots)
    }

    /// Cancels a planned kill of the agent.
    pub fn disarm(&self) {
        self.0.dies_after.set(None);
    }

    /// The log since the last call.
    pub fn take_log(&self) -> Vec<String> {
        self.peek(|table| std::mem::take(&mut table.log))
    }

    /// Live processes and pid files, for failure messages.
    pub fn describe(&self) -> String {
        self.peek(|table| table.describe())
    }

    pub(super) fn changed(&self) -> impl Future<Output = ()> + '_ {
        self.0.changed.notified()
    }

    pub(super) fn peek<T>(&self, work: impl FnOnce(&mut ProcessTable) -> T) -> T {
        let mut table = self.0.table.borrow_mut();
        table.settle();
        work(&mut table)
    }

    fn may_die(&self) {
        let Some(mut death) = self.0.dies_after.get() else {
            return;
        };
        if death.moments_left == 0 {
            self.0.dies_after.set(None);
            match death.how {
                AgentDeath::Killed => self.cut_journal(death.journal_length, death.kept),
                AgentDeath::PowerLost => self.lose_power(death.kept),
            }
            panic_any(AgentKilled);
        }
        death.moments_left -= 1;
        death.journal_length = self.journal_length();
        self.0.dies_after.set(Some(death));
    }

    fn journal_length(&self) -> u64 {
        std::fs::metadata(&self.0.journal).map_or(0, |found| found.len())
    }

    /// Cuts the journal somewhere behind `safe`, possibly in the middle of a record.
    fn cut_journal(&self, safe: u64, kept: u8) {
        let length = self.journal_length();
        if length <= safe || kept == u8::MAX {
            return;
        }
        let left = safe + (length - safe) * u64::from(kept) / 256;
        let file = OpenOptions::new().write(true).open(&self.0.journal);
        file.and_then(|file| file.set_len(left))
            .expect("the journal was there a moment ago");
    }
}
