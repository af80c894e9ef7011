//! A panic under a lock ends the process. These tests run themselves again in a separate process.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use locks::{FailStop, Mutex, RwLock};

/// Set in the processes that panic.
const CHILD: &str = "LOCKS_TEST_CHILD";
const SIGABRT: i32 = 6;

#[test]
fn a_panic_under_a_mutex_ends_the_process() {
    ends_the_process("a_panic_under_a_mutex_ends_the_process", || {
        let lock = Mutex::new(0);
        let _guard = lock.lock();
        panic!("half a change");
    });
}

#[test]
fn a_panic_under_a_write_lock_ends_the_process() {
    ends_the_process("a_panic_under_a_write_lock_ends_the_process", || {
        let lock = RwLock::new(0);
        let _guard = lock.write();
        panic!("half a change");
    });
}

#[test]
fn a_panic_in_a_fail_stop_scope_ends_the_process() {
    ends_the_process("a_panic_in_a_fail_stop_scope_ends_the_process", || {
        let _scope = FailStop::new();
        panic!("half a change");
    });
}

#[test]
fn a_panic_under_a_read_lock_ends_only_its_thread() {
    let lock = RwLock::new(1);
    let reader = catch_unwind(AssertUnwindSafe(|| {
        let _read = lock.read();
        panic!("a request that cannot be answered");
    }));
    assert!(reader.is_err());
    *lock.write() += 1;
    assert_eq!(*lock.read(), 2);
}

#[test]
fn a_destructor_may_lock_while_its_thread_unwinds() {
    struct OnDrop<'a>(&'a Mutex<u32>);
    impl Drop for OnDrop<'_> {
        fn drop(&mut self) {
            *self.0.lock() += 1;
        }
    }
    let count = Mutex::new(0);
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _counted = OnDrop(&count);
        panic!("before the lock is taken");
    }));
    assert!(unwound.is_err());
    assert_eq!(*count.lock(), 1);
}

#[test]
fn locks_may_be_taken_in_the_order_of_their_ranks() {
    let (first, second) = pair();
    let (one, two) = (first.lock(), second.write());
    drop(one);
    drop(two);
    drop((first.lock(), second.write()));
}

#[test]
#[cfg(debug_assertions)]
fn a_lock_below_one_that_is_held_is_refused() {
    let (first, second) = pair();
    let wrong = catch_unwind(AssertUnwindSafe(|| {
        let _second = second.read();
        drop(first.lock());
    }));
    let said = *wrong.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(
        said,
        "lock order: u8 is locked while i64 is, which can deadlock"
    );
}

fn pair() -> (Mutex<u8, 1>, RwLock<i64, 2>) {
    (Mutex::ranked(0), RwLock::ranked(0))
}

/// Runs this test again in a separate process, where `panics` is called and its panic caught: the process must end.
fn ends_the_process(test: &str, panics: fn()) {
    if std::env::var_os(CHILD).is_some() {
        let _caught = catch_unwind(panics);
        return;
    }
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.signal(), Some(SIGABRT), "{said}");
    assert!(said.contains("half a change"), "{said}");
}
