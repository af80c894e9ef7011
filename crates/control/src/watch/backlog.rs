//! The last changes with their ids, from which every watcher reads at its own pace.
//!
//! A watcher holds a place in the backlog and nothing else, so a slow one costs no memory and holds up no sender. A watcher
//! whose place was dropped is told how many changes it missed. Changes are also kept for a while after the last watcher left,
//! so that it can resume.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use locks::{Mutex, MutexGuard};
use model::Invalid;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::{ChangeEvent, secrets};

/// How many changes are kept. At a thousand a second a watcher may be away for half a minute.
const BACKLOG: usize = 32 * 1024;
/// How many bytes the encoded changes of the backlog may take, counted by [`Change::SIZE`] and their messages.
const BACKLOG_BYTES: usize = 32 * 1024 * 1024;
/// How long changes are kept when there is no watcher.
const RESUME_WITHIN: Duration = Duration::from_secs(120);

/// A change of the stream, for as long as this server runs.
///
/// The first number names the server's start, so that an id of another replica, or of before a restart, is recognised as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeId {
    start: u64,
    number: u64,
}

impl fmt::Display for ChangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.start, self.number)
    }
}

impl FromStr for ChangeId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (start, number) = text.split_once('-')?;
            Some(Self {
                start: u64::from_str_radix(start, 16).ok()?,
                number: number.parse().ok()?,
            })
        };
        parse().ok_or_else(|| {
            Invalid::new("since", format!("must be the id of a change, not {text:?}"))
        })
    }
}

/// One change of the backlog.
#[derive(Debug)]
pub struct Change {
    pub event: ChangeEvent,
    number: u64,
    /// Encoded once, for all watchers.
    text: OnceLock<Box<str>>,
}

impl Change {
    /// What a change and its encoded form take without its message.
    const SIZE: usize = 640;

    /// The encoded form: made by the first watcher that needs it, and the same for all.
    pub fn text(&self, encode: impl FnOnce(&ChangeEvent) -> String) -> &str {
        self.text.get_or_init(|| encode(&self.event).into())
    }

    fn bytes(&self) -> usize {
        Self::SIZE + self.event.text_bytes()
    }
}

/// The watcher was too slow, or away for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed(pub u64);

#[derive(Debug)]
pub(crate) struct Backlog {
    start: u64,
    entries: Mutex<Entries>,
    /// The number of the next change.
    next: watch::Sender<u64>,
    n_watchers: AtomicU64,
}

#[derive(Debug)]
struct Entries {
    kept: VecDeque<Arc<Change>>,
    bytes: usize,
    /// The number of the first that is kept.
    first: u64,
    next: u64,
    /// Since when there is no watcher; none while there is one, and while nothing is kept.
    alone_since: Option<Instant>,
}

impl Default for Backlog {
    fn default() -> Self {
        let entries = Entries {
            kept: VecDeque::new(),
            bytes: 0,
            first: 1,
            next: 1,
            alone_since: None,
        };
        Self {
            start: secrets::random_u64(),
            entries: Mutex::new(entries),
            next: watch::Sender::new(1),
            n_watchers: AtomicU64::new(0),
        }
    }
}

impl Backlog {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock()
    }

    /// Whether changes have to be sent: there is a watcher, or one left a short time ago.
    pub(crate) fn is_read(&self) -> bool {
        if self.n_watchers.load(Ordering::SeqCst) > 0 {
            return true;
        }
        let mut entries = self.entries();
        match entries.alone_since {
            None => false,
            Some(since) if since.elapsed() < RESUME_WITHIN => true,
            Some(_) => {
                entries.forget();
                false
            }
        }
    }

    /// The number of the next change.
    pub(crate) fn head(&self) -> u64 {
        *self.next.borrow()
    }

    pub(crate) fn push(&self, event: ChangeEvent) {
        if !self.is_read() {
            return;
        }
        let next = {
            let mut entries = self.entries();
            entries.push(event);
            entries.next
        };
        // Two senders may cross here; the number only grows.
        self.next.send_if_modified(|known| {
            let is_newer = next > *known;
            *known = next.max(*known);
            is_newer
        });
    }

    /// A watcher from now on, or from after a change if that is still known. Says whether it is.
    pub(crate) fn subscribe(self: &Arc<Self>, since: Option<ChangeId>) -> (ChangeReader, bool) {
        let mut entries = self.entries();
        self.n_watchers.fetch_add(1, Ordering::SeqCst);
        entries.alone_since = None;
        let known = since.filter(|since| {
            let next = since.number.saturating_add(1);
            since.start == self.start && (entries.first..=entries.next).contains(&next)
        });
        let next = known.map_or(entries.next, |since| since.number + 1);
        let subscription = ChangeReader {
            backlog: self.clone(),
            moved: self.next.subscribe(),
            next,
        };
        (subscription, since.is_none() || known.is_some())
    }
}

impl Entries {
    fn push(&mut self, event: ChangeEvent) {
        let change = Change {
            event,
            number: self.next,
            text: OnceLock::new(),
        };
        self.next += 1;
        self.bytes += change.bytes();
        self.kept.push_back(Arc::new(change));
        while self.kept.len() > BACKLOG || self.bytes > BACKLOG_BYTES {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes();
            self.first += 1;
        }
    }

    /// Changes from now on are not kept: no id of before can be resumed from.
    fn forget(&mut self) {
        self.kept = VecDeque::new();
        self.bytes = 0;
        self.next += 1;
        self.first = self.next;
        self.alone_since = None;
    }
}

/// The place of one watcher in the backlog.
#[derive(Debug)]
pub struct ChangeReader {
    backlog: Arc<Backlog>,
    moved: watch::Receiver<u64>,
    next: u64,
}

impl ChangeReader {
    /// The id of the last change before the next one.
    pub fn place(&self) -> ChangeId {
        ChangeId {
            start: self.backlog.start,
            number: self.next - 1,
        }
    }

    /// Whether there is a change to take.
    pub fn has_more(&self) -> bool {
        self.backlog.head() > self.next
    }

    /// The number of the next change of all watchers.
    pub fn head(&self) -> u64 {
        self.backlog.head()
    }

    pub fn id_of(&self, change: &Change) -> ChangeId {
        ChangeId {
            start: self.backlog.start,
            number: change.number,
        }
    }

    /// Waits until there is a change to take.
    pub async fn changed(&mut self) {
        let next = self.next;
        // Fails only without a sender, which is held here.
        let _ = self.moved.wait_for(|known| *known > next).await;
    }

    /// The next changes in order, at most `limit`; none if there are none yet. After `Missed` the next call goes on with the
    /// oldest change that is kept.
    pub fn take(&mut self, limit: usize) -> Result<Vec<Arc<Change>>, Missed> {
        let entries = self.backlog.entries();
        if self.next < entries.first {
            let missed = entries.first - self.next;
            self.next = entries.first;
            return Err(Missed(missed));
        }
        let skipped = (self.next - entries.first) as usize;
        let taken: Vec<Arc<Change>> = entries
            .kept
            .iter()
            .skip(skipped)
            .take(limit)
            .cloned()
            .collect();
        if let Some(last) = taken.last() {
            self.next = last.number + 1;
        }
        Ok(taken)
    }

    /// The next change; waits for it.
    pub async fn recv(&mut self) -> Result<Arc<Change>, Missed> {
        loop {
            self.changed().await;
            if let Some(change) = self.take(1)?.pop() {
                return Ok(change);
            }
        }
    }
}

impl Drop for ChangeReader {
    fn drop(&mut self) {
        let mut entries = self.backlog.entries();
        if self.backlog.n_watchers.fetch_sub(1, Ordering::SeqCst) == 1 {
            entries.alone_since = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use model::UnixMillis;
    use testing::random::Random;

    use super::*;

    fn change(n: i64) -> ChangeEvent {
        ChangeEvent::Agent {
            host: "10.0.0.1".parse().unwrap(),
            up: true,
            at: UnixMillis(n),
        }
    }

    fn number(change: &Change) -> i64 {
        match &change.event {
            ChangeEvent::Agent { at, .. } => at.0,
            other => panic!("{other:?}"),
        }
    }

    fn taken(subscription: &mut ChangeReader, limit: usize) -> Vec<i64> {
        let changes = subscription.take(limit).unwrap();
        changes.iter().map(|change| number(change)).collect()
    }

    #[test]
    fn an_id_reads_back_what_it_prints() {
        let id = ChangeId {
            start: 0xabc,
            number: 77,
        };
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "7", "x-1", "1-x", "-", "1-2-3"] {
            assert_eq!(bad.parse::<ChangeId>().unwrap_err().field, "since", "{bad}");
        }
    }

    #[test]
    fn each_watcher_reads_at_its_own_pace() {
        let backlog = Arc::new(Backlog::default());
        let (mut fast, _) = backlog.subscribe(None);
        let (mut slow, _) = backlog.subscribe(None);
        (0..10).for_each(|n| backlog.push(change(n)));
        assert_eq!(taken(&mut fast, 100), (0..10).collect::<Vec<_>>());
        assert_eq!(taken(&mut slow, 3), [0, 1, 2]);
        assert!(slow.has_more() && !fast.has_more());
        assert_eq!(taken(&mut slow, 100), (3..10).collect::<Vec<_>>());
    }

    #[test]
    fn a_slow_watcher_is_told_how_many_it_missed_and_goes_on() {
        let backlog = Arc::new(Backlog::default());
        let (mut slow, _) = backlog.subscribe(None);
        (0..BACKLOG as i64 + 5).for_each(|n| backlog.push(change(n)));
        assert_eq!(slow.take(10).unwrap_err(), Missed(5));
        assert_eq!(taken(&mut slow, 2), [5, 6]);
        assert_eq!(backlog.entries().kept.len(), BACKLOG);
    }

    #[test]
    fn long_messages_count_against_the_backlog() {
        let backlog = Arc::new(Backlog::default());
        let (_watcher, _) = backlog.subscribe(None);
        let message = "x".repeat(64 * 1024);
        for _ in 0..1000 {
            backlog.push(crate::watch::tests::status(&message));
        }
        assert!(backlog.entries().kept.len() * message.len() <= BACKLOG_BYTES);
    }

    #[test]
    fn a_resume_across_dropped_connections_loses_nothing() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let backlog = Arc::new(Backlog::default());
            let (mut watcher, _) = backlog.subscribe(None);
            let (mut sent, mut got) = (0, Vec::new());
            for _ in 0..50 {
                for _ in 0..random.below(20) {
                    backlog.push(change(sent));
                    sent += 1;
                }
                got.extend(taken(&mut watcher, random.below(30) as usize));
                if random.below(3) == 0 {
                    let place = watcher.place();
                    drop(watcher);
                    for _ in 0..random.below(20) {
                        backlog.push(change(sent));
                        sent += 1;
                    }
                    let (again, resumed) = backlog.subscribe(Some(place));
                    assert!(resumed, "seed {seed}");
                    watcher = again;
                }
            }
            got.extend(taken(&mut watcher, usize::MAX));
            assert_eq!(got, (0..sent).collect::<Vec<_>>(), "seed {seed}");
        }
    }

    #[test]
    fn an_id_that_is_not_known_here_is_not_resumed() {
        let (backlog, other) = (Arc::new(Backlog::default()), Arc::new(Backlog::default()));
        let (watcher, _) = backlog.subscribe(None);
        let old = watcher.place();
        (0..BACKLOG as i64 + 5).for_each(|n| backlog.push(change(n)));
        assert!(!backlog.subscribe(Some(old)).1, "no longer kept");
        assert!(!other.subscribe(Some(old)).1, "of another replica");
        let (ahead, _) = backlog.subscribe(None);
        let future = ChangeId {
            number: ahead.place().number + 9,
            ..ahead.place()
        };
        let (mut watcher, resumed) = backlog.subscribe(Some(future));
        assert!(!resumed);
        backlog.push(change(7));
        assert_eq!(taken(&mut watcher, 10), [7]);
    }

    #[tokio::test(start_paused = true)]
    async fn changes_are_kept_for_a_while_after_the_last_watcher_left() {
        let backlog = Arc::new(Backlog::default());
        backlog.push(change(0));
        assert_eq!(backlog.entries().next, 1, "there was no watcher yet");
        let (watcher, _) = backlog.subscribe(None);
        let place = watcher.place();
        drop(watcher);
        backlog.push(change(1));
        let (mut watcher, resumed) = backlog.subscribe(Some(place));
        assert!(resumed);
        assert_eq!(taken(&mut watcher, 10), [1]);
        drop(watcher);
        tokio::time::advance(RESUME_WITHIN).await;
        backlog.push(change(2));
        assert!(!backlog.subscribe(Some(place)).1);
        assert!(backlog.entries().kept.is_empty());
    }
}
