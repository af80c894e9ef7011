//! Holds simulated time while the store works.
//!
//! With a paused clock, tokio moves time to the next timer as soon as no task can run. SQLite works on its own threads,
//! which tokio does not know: every commit would last until the next timer. So whenever the runtime is about to sleep
//! during a call to the store, a blocking task starts, which stops the clock until the call has ended.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use locks::Mutex;
use store::Store;
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// A longer call waits for simulated time itself: a connection of a killed server is given up after a while.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Default)]
pub(crate) struct ClockHold(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    handle: Mutex<Option<Handle>>,
    stores: Mutex<Vec<Store>>,
    held: AtomicUsize,
    /// Its drop ends the blocking task.
    on: Mutex<Option<mpsc::Sender<()>>>,
    /// `store_at_work` waits for this many more sleeps of the runtime while the store works.
    alarm: Mutex<Option<u32>>,
    rung: Notify,
}

impl ClockHold {
    pub(crate) fn attach(&self, handle: &Handle) {
        *lock(&self.0.handle) = Some(handle.clone());
    }

    /// Holds time during calls to this store.
    pub(crate) fn watch(&self, store: &Store) {
        lock(&self.0.stores).push(store.clone());
    }

    /// The store was closed.
    pub(crate) fn forget(&self, store: &Store) {
        lock(&self.0.stores).retain(|watched| !watched.is(store));
    }

    /// Waits until the store is at work; with more steps, deeper in its work.
    pub(crate) async fn store_at_work(&self, steps: u32) {
        *lock(&self.0.alarm) = Some(steps);
        self.0.rung.notified().await;
    }

    /// Holds time during this work.
    pub(crate) async fn hold<T>(&self, work: impl Future<Output = T>) -> T {
        self.0.held.fetch_add(1, Ordering::SeqCst);
        let done = work.await;
        self.0.held.fetch_sub(1, Ordering::SeqCst);
        done
    }

    fn is_store_at_work(&self) -> bool {
        let stores = lock(&self.0.stores);
        stores.iter().any(|store| store.calls_under_way() > 0)
    }

    /// Called when no task can run.
    pub(crate) fn before_sleep(&self) {
        let is_at_work = self.is_store_at_work();
        let wanted = self.0.held.load(Ordering::SeqCst) > 0 || is_at_work;
        if is_at_work {
            let mut alarm = lock(&self.0.alarm);
            match alarm.as_mut() {
                Some(0) => {
                    *alarm = None;
                    self.0.rung.notify_waiters();
                }
                Some(steps) => *steps -= 1,
                None => {}
            }
        }
        let mut on = lock(&self.0.on);
        match (wanted, on.is_some()) {
            (true, false) => {
                let Some(handle) = lock(&self.0.handle).clone() else {
                    return;
                };
                let (sender, receiver) = mpsc::channel::<()>();
                handle.spawn_blocking(move || {
                    let _ = receiver.recv_timeout(PATIENCE);
                });
                *on = Some(sender);
            }
            (false, true) => *on = None,
            (true, true) | (false, false) => {}
        }
    }

    /// Ends the blocking task and drops the handle: the runtime owns this as its hook, so a handle in here would keep the
    /// runtime, its epoll and its eventfd open for ever.
    pub(crate) fn release(&self) {
        *lock(&self.0.handle) = None;
        *lock(&self.0.on) = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> locks::MutexGuard<'_, T> {
    mutex.lock()
}
