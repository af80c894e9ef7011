//! A mailbox in memory, for replicas of one test.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bus::{Mailbox, MailboxError, ReplicaId};

/// Where the mailboxes of all replicas are; clones are the same place.
#[derive(Debug, Clone, Default)]
pub struct PostOffice(Arc<Office>);

#[derive(Debug, Default)]
struct Office {
    letters: Mutex<Vec<(ReplicaId, Vec<u8>)>>,
    closed: AtomicBool,
    n_looks: AtomicUsize,
}

#[derive(Debug)]
struct Slot {
    office: PostOffice,
    replica: ReplicaId,
    n_read: Mutex<Option<usize>>,
}

impl PostOffice {
    pub fn mailbox(&self, replica: ReplicaId) -> Arc<dyn Mailbox> {
        Arc::new(Slot {
            office: self.clone(),
            replica,
            n_read: Mutex::default(),
        })
    }

    /// Nothing goes in or out any more.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::Relaxed);
    }

    pub fn open(&self) {
        self.0.closed.store(false, Ordering::Relaxed);
    }

    /// Letters so far.
    pub fn n_letters(&self) -> usize {
        self.0.letters.lock().unwrap().len()
    }

    /// How often somebody looked for mail so far.
    pub fn n_looks(&self) -> usize {
        self.0.n_looks.load(Ordering::Relaxed)
    }

    fn check(&self) -> Result<(), MailboxError> {
        if self.0.closed.load(Ordering::Relaxed) {
            return Err(MailboxError("the post office is closed".into()));
        }
        Ok(())
    }
}

#[async_trait]
impl Mailbox for Slot {
    async fn send(&self, bodies: Vec<Vec<u8>>) -> Result<(), MailboxError> {
        self.office.check()?;
        let letters = bodies.into_iter().map(|body| (self.replica, body));
        self.office.0.letters.lock().unwrap().extend(letters);
        Ok(())
    }

    async fn receive(&self) -> Result<Vec<(ReplicaId, Vec<u8>)>, MailboxError> {
        self.office.check()?;
        self.office.0.n_looks.fetch_add(1, Ordering::Relaxed);
        let letters = self.office.0.letters.lock().unwrap();
        let mut n_read = self.n_read.lock().unwrap();
        let new = &letters[n_read.unwrap_or(letters.len())..];
        *n_read = Some(letters.len());
        let of_others = new.iter().filter(|(from, _)| *from != self.replica);
        Ok(of_others.cloned().collect())
    }
}
