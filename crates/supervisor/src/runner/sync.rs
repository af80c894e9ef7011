//! The end of a turn: syncs the journal, then reports what had to be durable first.

use super::Runner;
use crate::journal::entry::Entry;
use crate::journal::{Synced, Syncing};
use crate::os::clock;

/// The shortest time between two rewrites of the journal, and between a failed sync and the next.
const AGAIN_EVERY_MS: u64 = 1000;

impl Runner {
    /// The end of a turn. Statuses are reported at once; results and events wait for a sync.
    pub(super) fn settle(&mut self) {
        self.tell();
        let wants =
            self.journal.is_behind() || self.journal.wants_rewriting(self.options.journal_bytes);
        let now = clock::boot_ms();
        if wants && now >= self.rewrite_due_boot_ms {
            // A full disk would fail it at every turn.
            self.rewrite_due_boot_ms = now + AGAIN_EVERY_MS;
            self.rewrite_journal();
        }
    }

    /// Whether something waits for a sync, and the pause after a failed sync is over.
    pub(super) fn wants_sync(&self) -> bool {
        let is_due = clock::boot_ms() >= self.sync_due_boot_ms;
        is_due && self.outbox.needs_sync() && !self.journal.is_behind()
    }

    /// Takes the result of a sync.
    pub(super) fn synced(&mut self, synced: Option<Synced>) {
        let Some(synced) = synced else {
            return;
        };
        match self.journal.end_sync(synced) {
            Ok(()) => self.outbox.synced(),
            Err(error) => {
                tracing::error!(%error, "cannot sync the journal");
                self.outbox.sync_failed();
                self.sync_due_boot_ms = clock::boot_ms() + AGAIN_EVERY_MS;
            }
        }
    }

    /// The end of the last turn: syncs on this thread.
    pub(super) fn settle_for_good(&mut self) {
        self.settle();
        if self.wants_sync() {
            self.outbox.sync_begins();
            match self.journal.sync() {
                Ok(()) => self.outbox.synced(),
                Err(error) => tracing::error!(%error, "cannot sync the journal"),
            }
            self.tell();
        }
    }

    fn tell(&mut self) {
        let held = &self.held;
        self.outbox
            .send(|key| held.get(&key).map(|held| held.notice()));
    }

    pub(super) fn rewrite_journal(&mut self) {
        let boot_id = clock::boot_id();
        let held = self.held.values().flat_map(|held| {
            let name = held.registration.name.clone();
            let state = Entry::State(name, Box::new(held.process.clone()));
            [Entry::Hold(Box::new(held.registration.clone())), state]
        });
        let groups = self.groups.iter();
        let groups = groups.map(|(namespace, all)| Entry::Groups(namespace.clone(), all.clone()));
        let entries = std::iter::once(Entry::Opened { boot_id })
            .chain(groups)
            .chain(held)
            .chain(self.ledger.entries());
        if let Err(error) = self.journal.rewrite(entries) {
            tracing::error!(%error, "cannot write the journal anew");
        }
    }

    /// Appends entries, or logs the error. Supervision goes on: a later rewrite brings the journal up to date.
    pub(super) fn write(&mut self, entries: &[Entry]) -> bool {
        match self.journal.append(entries) {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(%error, "cannot write to the journal");
                false
            }
        }
    }
}

/// Waits for the sync under way, if there is one.
pub(super) async fn done_syncing(syncing: &mut Option<Syncing>) -> Option<Synced> {
    match syncing {
        Some(syncing) => Some(syncing.wait().await),
        None => None,
    }
}
