//! A host that is only pretended, as the simulation holds it: it lets an agent run there, and does to it what befalls
//! hosts. The runner, the machines and the journal above it are the real ones. Compiled into `supervisor-on-fake-os` alone.
//!
//! Every call to the host has a moment before and one after it at which the agent may be killed, so what lies between two
//! calls was done whole or not at all. Files of the agent (journal, spools) are real; processes, pid files and clocks are
//! not.

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

use super::table::Table;
use super::trace::{self, Execution};

tokio::task_local! {
    static HOST: Host;
}

/// What an agent that is killed in the middle of something panics with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentKilled;

/// A handle on the host; clones are the same host.
#[derive(Clone)]
pub struct Host(Rc<Inner>);

struct Inner {
    table: RefCell<Table>,
    changed: Notify,
    /// Where the agent keeps its journal.
    journal: PathBuf,
    dies_after: Cell<Option<Death>>,
    /// What was executed before power was lost: the journal may have forgotten it.
    executions: RefCell<BTreeSet<Execution>>,
}

/// How an agent is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentDeath {
    /// Alone.
    Killed,
    /// With its whole host, which boots again.
    PowerLost,
}

#[derive(Debug, Clone, Copy)]
struct Death {
    how: AgentDeath,
    moments_left: u32,
    /// How much stays of what was written last, of 256 parts.
    kept: u8,
    /// The length of the journal at the last call: nothing was done about what is behind it.
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

/// One call of the agent to its host, at which it may be killed.
pub(super) fn call<T>(work: impl FnOnce(&mut Table) -> T) -> T {
    let host = current();
    host.may_die();
    let done = host.peek(work);
    host.may_die();
    done
}

/// The clock on the wall of the host that this task runs on.
pub fn wall_clock() -> UnixMillis {
    current().peek(|table| table.unix())
}

impl Host {
    /// A host that was just booted, whose agent keeps its journal in `dir`.
    pub fn new(dir: &Path, wall_clock: UnixMillis) -> Self {
        Self(Rc::new(Inner {
            table: RefCell::new(Table::new(wall_clock)),
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

    /// Kills the agent in the middle of what it does: each call to its host has a moment before and one after it.
    pub fn kill_agent_after(&self, moments: u32, how: AgentDeath, kept: u8) {
        self.0.dies_after.set(Some(Death {
            how,
            moments_left: moments,
            kept,
            journal_length: self.journal_length(),
        }));
    }

    /// The agent is gone, however it went. What it had not executed yet will not be.
    pub fn agent_is_gone(&self) {
        self.0.dies_after.set(None);
        self.peek(|table| table.agent_is_gone());
    }

    /// Power is lost and comes back. Of what the agent wrote without making sure, `kept` of 256 parts stay.
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

    /// Everything that was ever executed here for operations, with what the journal tells.
    pub fn executions(&self) -> BTreeSet<Execution> {
        self.0.executions.borrow().clone()
    }

    /// Moves the clock on the wall.
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

    /// What must never be, and was.
    pub fn wrongs(&self) -> Vec<String> {
        self.peek(|table| table.wrongs.clone())
    }

    /// Live programs that go on until somebody ends them, and have for a while.
    pub fn lasting_programs(&self) -> Vec<i32> {
        self.peek(|table| table.lasting_programs())
    }

    /// How often it was booted.
    pub fn n_boots(&self) -> u32 {
        self.peek(|table| table.n_boots)
    }

    /// Nobody is killed in the middle of something any more.
    pub fn disarm(&self) {
        self.0.dies_after.set(None);
    }

    /// What happened here since this was last asked.
    pub fn take_log(&self) -> Vec<String> {
        self.peek(|table| std::mem::take(&mut table.log))
    }

    /// Who lives here and what the pid files say, for people.
    pub fn describe(&self) -> String {
        self.peek(|table| table.describe())
    }

    pub(super) fn changed(&self) -> impl Future<Output = ()> + '_ {
        self.0.changed.notified()
    }

    pub(super) fn peek<T>(&self, work: impl FnOnce(&mut Table) -> T) -> T {
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

    /// Of what stands behind `safe` a part is lost, in the middle of a record if it comes so.
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
