//! A mailbox in memory, for replicas of one test.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bus::{Mailbox, MailboxError, ReplicaId};

/// The mailboxes of all replicas; clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryMailboxes(Arc<Messages>);

#[derive(Debug, Default)]
struct Messages {
    sent: Mutex<Vec<(ReplicaId, Vec<u8>)>>,
    closed: AtomicBool,
    n_polls: AtomicUsize,
}

#[derive(Debug)]
struct MemoryMailbox {
    mailboxes: MemoryMailboxes,
    replica: ReplicaId,
    n_read: Mutex<Option<usize>>,
}

impl MemoryMailboxes {
    pub fn mailbox(&self, replica: ReplicaId) -> Arc<dyn Mailbox> {
        Arc::new(MemoryMailbox {
            mailboxes: self.clone(),
            replica,
            n_read: Mutex::default(),
        })
    }

    /// All calls fail from now on.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::Relaxed);
    }

    pub fn open(&self) {
        self.0.closed.store(false, Ordering::Relaxed);
    }

    /// Messages sent so far.
    pub fn n_messages(&self) -> usize {
        self.0.sent.lock().unwrap().len()
    }

    /// Calls of `receive` so far.
    pub fn n_polls(&self) -> usize {
        self.0.n_polls.load(Ordering::Relaxed)
    }

    fn check(&self) -> Result<(), MailboxError> {
        if self.0.closed.load(Ordering::Relaxed) {
            return Err(MailboxError("the mailboxes are closed".into()));
        }
        Ok(())
    }
}

#[async_trait]
impl Mailbox for MemoryMailbox {
    async fn send(&self, bodies: Vec<Vec<u8>>) -> Result<(), MailboxError> {
        self.mailboxes.check()?;
        let messages = bodies.into_iter().map(|body| (self.replica, body));
        self.mailboxes.0.sent.lock().unwrap().extend(messages);
        Ok(())
    }

    async fn receive(&self) -> Result<Vec<(ReplicaId, Vec<u8>)>, MailboxError> {
        self.mailboxes.check()?;
        self.mailboxes.0.n_polls.fetch_add(1, Ordering::Relaxed);
        let sent = self.mailboxes.0.sent.lock().unwrap();
        let mut n_read = self.n_read.lock().unwrap();
        let new = &sent[n_read.unwrap_or(sent.len())..];
        *n_read = Some(sent.len());
        let of_others = new.iter().filter(|(from, _)| *from != self.replica);
        Ok(of_others.cloned().collect())
    }
}
