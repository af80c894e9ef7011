//! The clocks and the boot id of the fake host.

use model::UnixMillis;

use super::host;
use crate::machine::Moment;

/// As on most machines.
const TICKS_PER_SECOND: u64 = 100;

pub(crate) fn now() -> Moment {
    host::call(|table| Moment {
        boot_ms: table.boot_ms(),
        unix: table.unix(),
    })
}

pub(crate) fn unix() -> UnixMillis {
    now().unix
}

pub(crate) fn boot_ms() -> u64 {
    now().boot_ms
}

/// No work takes time here.
pub(crate) fn own_cpu_ms() -> u64 {
    0
}

pub(crate) fn ticks_per_second() -> u64 {
    TICKS_PER_SECOND
}

pub(crate) fn ticks_to_boot_ms(ticks: u64) -> u64 {
    ticks * (1000 / TICKS_PER_SECOND)
}

pub(super) fn boot_ms_to_ticks(boot_ms: u64) -> u64 {
    boot_ms / (1000 / TICKS_PER_SECOND)
}

pub(crate) fn boot_id() -> String {
    host::call(|table| format!("boot-{}", table.n_boots))
}

pub(crate) fn utc_offset_secs(_at: UnixMillis) -> i32 {
    0
}
