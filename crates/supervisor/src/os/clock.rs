//! Both clocks, the boot id, and conversion of ticks.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use model::UnixMillis;

use crate::machine::Moment;

pub(crate) fn now() -> Moment {
    Moment {
        boot_ms: boot_ms(),
        unix: unix(),
    }
}

pub(crate) fn unix() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    UnixMillis(since.map_or(0, |since| since.as_millis() as i64))
}

/// Milliseconds since the host booted, sleep included: the clock of `starttime` in `/proc/PID/stat`.
pub(crate) fn boot_ms() -> u64 {
    read_ms(libc::CLOCK_BOOTTIME)
}

/// CPU time that all threads of this process have used.
pub(crate) fn own_cpu_ms() -> u64 {
    read_ms(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn read_ms(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the kernel to write a timespec to.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

pub(crate) fn ticks_per_second() -> u64 {
    static TICKS: OnceLock<u64> = OnceLock::new();
    *TICKS.get_or_init(|| rustix::param::clock_ticks_per_second().max(1))
}

/// Now, on the clock and in the unit of `starttime`.
pub(crate) fn boot_ticks() -> u64 {
    boot_ms() * ticks_per_second() / 1000
}

pub(crate) fn ticks_to_boot_ms(ticks: u64) -> u64 {
    ticks.saturating_mul(1000) / ticks_per_second()
}

/// The wall clock at a point of the boot clock.
pub(crate) fn boot_to_unix(boot_ms: u64) -> UnixMillis {
    let now = now();
    now.unix.plus_millis(boot_ms as i64 - now.boot_ms as i64)
}

/// Identifies this boot of the host; empty if the kernel does not provide it.
pub(crate) fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

/// Seconds that local time is ahead of UTC.
pub(crate) fn utc_offset_secs(at: UnixMillis) -> i32 {
    let secs: libc::time_t = at.secs();
    // SAFETY: all-zero is a valid tm.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both point to valid values; localtime_r keeps neither.
    unsafe { libc::localtime_r(&raw const secs, &raw mut local) };
    local.tm_gmtoff as i32
}
