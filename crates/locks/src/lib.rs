//! A mutex and a read-write lock that end the process when a thread panics while it holds one.
//!
//! A panic in the middle of a change leaves the state half changed. `std` marks the lock as poisoned and leaves the rest to
//! each caller, and the HTTP server turns the panic into a 500, so that later requests would read the half-made change. The
//! guards here abort the process instead, after the panic's message is printed; the next start loads from the store. Read guards
//! change nothing, so a panic under one of them ends only the request.
//!
//! Locks that are held together have a rank each. Debug builds panic when a thread takes one whose rank is not above those
//! that it holds: that order can deadlock, even if it does not this time.

mod order;

use std::ops::{Deref, DerefMut};
use std::sync;

use order::RankCheck;

/// The rank of a lock that is released before its holder calls anything that takes another. Its order is not checked.
pub const UNRANKED: u8 = 0;

/// A mutex whose guard ends the process when its thread panics.
#[derive(Debug, Default)]
pub struct Mutex<T, const RANK: u8 = UNRANKED>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Self::ranked(value)
    }
}

impl<T, const RANK: u8> Mutex<T, RANK> {
    /// A lock that is held together with others.
    pub const fn ranked(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        let rank_check = RankCheck::new::<T>(RANK);
        MutexGuard {
            inner: self.0.lock().expect(NEVER_POISONED),
            _fail_stop: FailStop::new(),
            _rank_check: rank_check,
        }
    }

    /// Whether it was held by another thread just now.
    pub fn is_held(&self) -> bool {
        matches!(self.0.try_lock(), Err(sync::TryLockError::WouldBlock))
    }
}

/// A read-write lock whose write guard ends the process when its thread panics.
#[derive(Debug, Default)]
pub struct RwLock<T, const RANK: u8 = UNRANKED>(sync::RwLock<T>);

impl<T> RwLock<T> {
    pub const fn new(value: T) -> Self {
        Self::ranked(value)
    }
}

impl<T, const RANK: u8> RwLock<T, RANK> {
    /// A lock that is held together with others.
    pub const fn ranked(value: T) -> Self {
        Self(sync::RwLock::new(value))
    }

    pub fn read(&self) -> ReadGuard<'_, T> {
        let rank_check = RankCheck::new::<T>(RANK);
        ReadGuard {
            inner: self.0.read().expect(NEVER_POISONED),
            _rank_check: rank_check,
        }
    }

    pub fn write(&self) -> WriteGuard<'_, T> {
        let rank_check = RankCheck::new::<T>(RANK);
        WriteGuard {
            inner: self.0.write().expect(NEVER_POISONED),
            _fail_stop: FailStop::new(),
            _rank_check: rank_check,
        }
    }
}

const NEVER_POISONED: &str = "a panic under this lock ends the process before it is released";

// In each guard the order of the fields is the order in which they are dropped: the lock is still held when the process ends.

#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    _fail_stop: FailStop,
    inner: sync::MutexGuard<'a, T>,
    _rank_check: RankCheck,
}

#[derive(Debug)]
pub struct ReadGuard<'a, T> {
    inner: sync::RwLockReadGuard<'a, T>,
    _rank_check: RankCheck,
}

#[derive(Debug)]
pub struct WriteGuard<'a, T> {
    _fail_stop: FailStop,
    inner: sync::RwLockWriteGuard<'a, T>,
    _rank_check: RankCheck,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

/// Aborts the process when a panic that began after its creation drops it.
///
/// For work without a lock that must not be left half done.
#[derive(Debug)]
pub struct FailStop {
    /// A destructor may take a lock while its thread unwinds: then the panic began before.
    was_panicking: bool,
}

impl FailStop {
    #[expect(clippy::new_without_default, reason = "it is a scope, not a value")]
    pub fn new() -> Self {
        Self {
            was_panicking: std::thread::panicking(),
        }
    }
}

impl Drop for FailStop {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.was_panicking {
            tracing::error!(
                "a thread panicked in the middle of a change, so the state in memory may be wrong: the process ends, and its \
                 next start loads what is stored"
            );
            std::process::abort();
        }
    }
}
