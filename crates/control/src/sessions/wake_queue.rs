//! Wakes sessions that have something to send, some at a time.
//!
//! A commit may concern every connected agent. If it woke all their sessions at once, each request and each frame that arrives
//! meanwhile would wait until all of them have written. Between two groups everything else that is ready runs. A session that wakes
//! for another reason sends what its outbox has, so the queue decides only when, never what.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use locks::Mutex;
use tokio::sync::{Notify, watch};
use tokio::task::yield_now;

use super::Outbox;
use crate::core::Core;
use crate::stopped;

/// About a millisecond's work.
const AT_A_TIME: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct WakeQueue {
    waiting: Mutex<Waiting>,
    work: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Each outbox at most once.
    outboxes: VecDeque<Arc<Outbox>>,
    is_closed: bool,
}

impl WakeQueue {
    /// Wakes these sessions: as many as run at a time at once, the others in their turn.
    pub(super) fn wake(&self, outboxes: Vec<Arc<Outbox>>) {
        let mut outboxes = outboxes.into_iter();
        let mut waiting = self.waiting.lock();
        let n_now = match (waiting.is_closed, waiting.outboxes.is_empty()) {
            (true, _) => usize::MAX,
            (false, true) => AT_A_TIME,
            (false, false) => 0,
        };
        outboxes.by_ref().take(n_now).for_each(|one| one.wake());
        let was_idle = waiting.outboxes.is_empty();
        let is_new = |one: &Arc<Outbox>| !one.is_in_wake_queue.swap(true, Ordering::SeqCst);
        waiting.outboxes.extend(outboxes.filter(is_new));
        if was_idle && !waiting.outboxes.is_empty() {
            self.work.notify_one();
        }
    }

    /// Wakes the next ones; false when none waits.
    fn wake_some(&self) -> bool {
        let mut waiting = self.waiting.lock();
        let n = waiting.outboxes.len().min(AT_A_TIME);
        for outbox in waiting.outboxes.drain(..n) {
            outbox.is_in_wake_queue.store(false, Ordering::SeqCst);
            outbox.wake();
        }
        n > 0
    }

    /// From now on every session is woken at once.
    fn close(&self) {
        self.waiting.lock().is_closed = true;
        while self.wake_some() {}
    }
}

pub(crate) async fn run(core: Arc<Core>, mut stop: watch::Receiver<bool>) {
    let queue = &core.outboxes.wake_queue;
    loop {
        tokio::select! {
            () = queue.work.notified() => {}
            () = stopped(&mut stop) => return queue.close(),
        }
        // Those that were woken just now run first.
        yield_now().await;
        while queue.wake_some() {
            yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn outboxes(n: usize) -> Vec<Arc<Outbox>> {
        Vec::from_iter((0..n).map(|_| Arc::default()))
    }

    fn n_woken(outboxes: &[Arc<Outbox>]) -> usize {
        let is_woken = |one: &&Arc<Outbox>| one.notify.notified().now_or_never().is_some();
        outboxes.iter().filter(is_woken).count()
    }

    #[test]
    fn sessions_are_woken_some_at_a_time_and_each_once() {
        let queue = WakeQueue::default();
        let all = outboxes(2 * AT_A_TIME + 10);
        queue.wake(all.clone());
        assert_eq!(n_woken(&all), AT_A_TIME);
        // One that waits already has one place.
        queue.wake(all.clone());
        let n_waiting = || queue.waiting.lock().outboxes.len();
        assert_eq!(n_waiting(), all.len());
        let mut n_after = Vec::new();
        while queue.wake_some() {
            n_after.push(n_woken(&all));
        }
        assert_eq!(n_after, [AT_A_TIME, AT_A_TIME, 10]);
        queue.wake(all[..3].to_vec());
        assert_eq!((n_woken(&all), n_waiting()), (3, 0));
    }

    #[test]
    fn a_closed_queue_wakes_all_at_once() {
        let queue = WakeQueue::default();
        let all = outboxes(3 * AT_A_TIME);
        queue.wake(all.clone());
        queue.close();
        assert_eq!(n_woken(&all), all.len());
        queue.wake(all.clone());
        assert_eq!(n_woken(&all), all.len());
    }
}
