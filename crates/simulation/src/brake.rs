//! Simulated time goes on only while the store is at rest.
//!
//! With a paused clock tokio moves time to the next timer as soon as no task can go on. SQLite works on threads of its
//! own, which tokio knows nothing of: every commit would take as long as the next timer is away. So whenever the runtime
//! is about to sleep while a call to the store is under way, a blocking task is started, which keeps the clock where it
//! is, and it ends when the call has.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use locks::Mutex;
use store::Store;
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// A call that takes longer waits for time to pass: a connection that somebody was killed with is given up after a while.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Default)]
pub(crate) struct Brake(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    handle: Mutex<Option<Handle>>,
    stores: Mutex<Vec<Store>>,
    held: AtomicUsize,
    /// Dropped, the blocking task ends.
    on: Mutex<Option<mpsc::Sender<()>>>,
    /// Somebody waits until the runtime has slept so often while the store was at work.
    alarm: Mutex<Option<u32>>,
    rung: Notify,
}

impl Brake {
    pub(crate) fn attach(&self, handle: &Handle) {
        *lock(&self.0.handle) = Some(handle.clone());
    }

    /// Time stands still while this store is asked something.
    pub(crate) fn mind(&self, store: &Store) {
        lock(&self.0.stores).push(store.clone());
    }

    /// The store is closed for good.
    pub(crate) fn forget(&self, store: &Store) {
        lock(&self.0.stores).retain(|minded| !minded.is(store));
    }

    /// Waits until the store is in the middle of something; the more steps, the deeper in it.
    pub(crate) async fn store_at_work(&self, steps: u32) {
        *lock(&self.0.alarm) = Some(steps);
        self.0.rung.notified().await;
    }

    /// Time stands still while this is done.
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

    /// Called when no task can go on.
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
                    let _sender_is_gone = receiver.recv_timeout(PATIENCE);
                });
                *on = Some(sender);
            }
            (false, true) => *on = None,
            (true, true) | (false, false) => {}
        }
    }

    /// Ends the blocking task and drops the handle: the runtime owns this brake as its hook, so a handle kept here would
    /// keep the runtime, its epoll and its eventfd open for ever.
    pub(crate) fn release(&self) {
        *lock(&self.0.handle) = None;
        *lock(&self.0.on) = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> locks::MutexGuard<'_, T> {
    mutex.lock()
}
