//! The order in which a thread takes the locks of `control`, lowest rank first. Debug builds check it each time.
//!
//! A commit is folded in under the locks of everything that it changes, from [`FLEET`] to [`TASKS`]; a reader that combines
//! two of [`ACCOUNTS`], [`JOBS`] and [`TASKS`] holds both. So a commit is seen whole or not at all.
//!
//! [`FLEET`] is the lock of writers. Readers of the fleet take its snapshot, which no lock guards: a reader that combines it with
//! something else takes the snapshot after it has found, or locked, the other. The snapshot with a commit is published before
//! its tasks, jobs and accounts are changed, so it is never older than those.

/// Messages about hosts are sent to the other replicas in the order of their sequence numbers.
pub(crate) const PUBLISHING: u8 = 1;
pub(crate) const FLEET: u8 = 2;
pub(crate) const ACCOUNTS: u8 = 3;
pub(crate) const JOBS: u8 = 4;
pub(crate) const TASKS: u8 = 5;
/// The outcomes of one task.
pub(crate) const OUTCOMES: u8 = 6;
pub(crate) const PEERS: u8 = 7;
pub(crate) const SESSIONS: u8 = 8;
/// The outbox of one agent.
pub(crate) const OUTBOX: u8 = 9;
