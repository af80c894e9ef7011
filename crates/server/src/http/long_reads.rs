//! Reads that look at very many processes delay nothing else: they wait for one of a few permits, run on a thread with a lower
//! priority, and leave the threads of the runtime to other requests and to agents.
//!
//! A handler says about how much its read looks at; short reads run where they are.

use std::sync::Arc;

use rustix::process::setpriority_process;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::task::block_in_place;

/// Rows, names and hosts that a read may look at on a thread of the runtime: some tenths of a millisecond.
const MAX_SHORT: u64 = 16 * 1024;
/// Rows that an answer may have before it takes milliseconds.
const MAX_ROWS_IN_PLACE: usize = 1000;
/// The nice value of threads of long reads.
const NICE: i32 = 10;

#[derive(Debug, Clone)]
pub(crate) struct LongReads(Arc<Semaphore>);

impl Default for LongReads {
    /// As many at a time as half of the cores, at least one. Each may use several threads.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new((cores / 2).max(1))))
    }
}

impl LongReads {
    /// Runs a read that looks at about `n` rows, names and hosts. A panic in it is one of the caller.
    pub(crate) async fn run<T: Send>(&self, n: u64, read: impl FnOnce() -> T + Send) -> T {
        if n <= MAX_SHORT {
            return read();
        }
        let permit = self.0.acquire().await;
        let answer = off_the_runtime(|| at_low_priority(read));
        drop(permit);
        answer
    }
}

/// Writes an answer with so many rows: of thousands of them, while the other tasks of this thread go on elsewhere.
pub(crate) fn long_answer<T>(n_rows: usize, write: impl FnOnce() -> T) -> T {
    match n_rows > MAX_ROWS_IN_PLACE {
        true => off_the_runtime(write),
        false => write(),
    }
}

fn off_the_runtime<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}

/// On a thread of its own: a thread that has lowered its priority may not raise it again.
fn at_low_priority<T: Send>(read: impl FnOnce() -> T + Send) -> T {
    let lowered = || {
        // Where a container forbids it, the read has the priority of all others.
        let _ = setpriority_process(None, NICE);
        read()
    };
    std::thread::scope(|scope| match scope.spawn(lowered).join() {
        Ok(answer) => answer,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use rustix::process::getpriority_process;

    use super::*;

    fn nice() -> i32 {
        getpriority_process(None).unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn long_reads_run_at_a_low_priority_and_wait_for_each_other() {
        let (reads, before) = (LongReads(Arc::new(Semaphore::new(1))), nice());
        assert_eq!(reads.run(MAX_SHORT, nice).await, before);
        assert_eq!(reads.run(MAX_SHORT + 1, nice).await, before.max(NICE));
        assert_eq!(nice(), before, "the runtime's thread keeps its priority");

        static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
        let read = || {
            assert_eq!(UNDER_WAY.fetch_add(1, Ordering::SeqCst), 0);
            std::thread::sleep(Duration::from_millis(5));
            UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
        };
        let all = (0..4).map(|_| {
            let reads = reads.clone();
            tokio::spawn(async move { reads.run(u64::MAX, read).await })
        });
        for one in Vec::from_iter(all) {
            one.await.unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_short_read_does_not_wait_for_a_long_one() {
        let reads = LongReads(Arc::new(Semaphore::new(1)));
        let (begin, began) = tokio::sync::oneshot::channel();
        let (end, ended) = std::sync::mpsc::channel();
        let long = tokio::spawn({
            let reads = reads.clone();
            async move {
                let read = move || {
                    begin.send(()).unwrap();
                    ended.recv().unwrap();
                };
                reads.run(u64::MAX, read).await;
            }
        });
        began.await.unwrap();
        // The only thread of the runtime is free.
        let short = tokio::spawn(async move { reads.run(1, || 7).await });
        assert_eq!(short.await.unwrap(), 7);
        assert!(!long.is_finished());
        end.send(()).unwrap();
        long.await.unwrap();
    }

    #[tokio::test]
    async fn a_panic_in_a_read_is_the_callers() {
        let reads = LongReads(Arc::new(Semaphore::new(1)));
        let read = || panic!("a row without a host");
        let again = reads.clone();
        let failed = tokio::spawn(async move { reads.run(u64::MAX, read).await });
        assert!(failed.await.unwrap_err().is_panic());
        assert_eq!(again.run(u64::MAX, || 1).await, 1, "the permit is back");
    }
}
