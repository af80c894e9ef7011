//! Resource limits and priorities of commands: the same on every host, however the agent was started.
//!
//! | limit | soft | hard |
//! |---|---|---|
//! | stack | 8 MiB | unlimited |
//! | core | 0 | unlimited |
//! | nofile | 1024 | the agent's own |
//! | memlock | 8 MiB | 8 MiB |
//! | msgqueue | 819 200 bytes | 819 200 bytes |
//! | nice, rtprio | 0 | 0 |
//! | as, cpu, data, fsize, locks, nproc, rss, rttime | unlimited | unlimited |
//! | sigpending | the agent's own | the agent's own |
//!
//! An agent that may not raise hard limits passes on its own. Commands get nice value 0 and the default scheduler and I/O
//! priority; the agent of an ordinary user cannot lower its own nice value for them.
//!
//! `spec.runtime` overrides nofile, core, nproc (soft and hard) and the nice value. A command that cannot get them is not
//! executed.
#![allow(unsafe_code)]

use libc::RLIM_INFINITY as UNLIMITED;
use model::spec::Runtime;

use super::user;

const MIB: u64 = 1024 * 1024;
/// The default soft limit of open files; a program may raise it to the hard limit.
const NOFILE_SOFT: u64 = 1024;
/// The agent's own hard limit.
const OURS: u64 = UNLIMITED - 1;
const N_LIMITS: usize = 15;
const N_ASKED: usize = 3;

/// Resource, soft, hard.
// C libraries do not agree on the sign of a resource's number.
#[allow(clippy::unnecessary_cast)]
const DEFAULTS: [(u32, u64, u64); N_LIMITS] = [
    (libc::RLIMIT_AS as u32, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_CORE as u32, 0, UNLIMITED),
    (libc::RLIMIT_CPU as u32, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_DATA as u32, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_FSIZE as u32, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_LOCKS as u32, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_MEMLOCK as u32, 8 * MIB, 8 * MIB),
    (libc::RLIMIT_MSGQUEUE as u32, 819_200, 819_200),
    (libc::RLIMIT_NICE as u32, 0, 0),
    (libc::RLIMIT_NOFILE as u32, NOFILE_SOFT, OURS),
    (libc::RLIMIT_NPROC as u32, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_RSS as u32, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_RTPRIO as u32, 0, 0),
    (libc::RLIMIT_RTTIME as u32, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_STACK as u32, 8 * MIB, UNLIMITED),
];

/// Each limit as desired, and as far as the agent's own hard limits allow.
#[derive(Debug)]
pub(crate) struct Limits {
    defaults: [(u32, libc::rlimit, libc::rlimit); N_LIMITS],
    asked: [Option<(u32, libc::rlimit)>; N_ASKED],
    nice: Option<i32>,
}

/// The agent's own hard limit.
fn own_hard(resource: u32) -> u64 {
    let mut own = libc::rlimit {
        rlim_cur: UNLIMITED,
        rlim_max: UNLIMITED,
    };
    // SAFETY: `own` is a valid place for the kernel to write a limit to.
    unsafe { libc::getrlimit(resource as _, &raw mut own) };
    own.rlim_max
}

/// The limits that a spec may set, with their field names.
#[allow(clippy::unnecessary_cast)]
fn asked(runtime: &Runtime) -> [(&'static str, u32, Option<u64>); N_ASKED] {
    [
        ("nofile", libc::RLIMIT_NOFILE as u32, runtime.nofile),
        ("core", libc::RLIMIT_CORE as u32, runtime.core),
        ("nproc", libc::RLIMIT_NPROC as u32, runtime.nproc),
    ]
}

/// Whether this agent can set the limits of a spec; an error names the field.
pub(crate) fn check(runtime: &Runtime) -> Result<(), String> {
    if user::is_root() {
        return Ok(());
    }
    for (field, resource, wanted) in asked(runtime) {
        let most = own_hard(resource);
        if wanted.is_some_and(|wanted| wanted > most) {
            let why = user::cannot(&format!("give more than {most}"));
            return Err(format!("spec.runtime.{field}: {why}"));
        }
    }
    // SAFETY: asks for a number and touches nothing.
    let own = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    match runtime.nice {
        Some(nice) if nice < own => {
            let why = user::cannot(&format!("give a nice value below {own}"));
            Err(format!("spec.runtime.nice: {why}"))
        }
        Some(_) | None => Ok(()),
    }
}

impl Limits {
    pub(crate) fn prepare(runtime: &Runtime) -> Self {
        let defaults = DEFAULTS.map(|(resource, soft, hard)| {
            let most = own_hard(resource);
            let hard = if hard == OURS { most } else { hard };
            (resource, limit(soft, hard), limit(soft, hard.min(most)))
        });
        let asked = asked(runtime);
        Self {
            defaults,
            asked: asked.map(|(_, resource, wanted)| Some((resource, limit(wanted?, wanted?)))),
            nice: runtime.nice,
        }
    }

    /// Applies them to the calling process; false when a limit of the spec is refused.
    ///
    /// # Safety
    /// Only in a child just forked, which it changes. Async-signal-safe.
    pub(crate) unsafe fn apply(&self) -> bool {
        // SAFETY: plain system calls on numbers and on memory that was prepared; none allocates or takes a lock. Raw calls
        // where the C library does something else or has none. Errors of defaults are ignored.
        unsafe {
            let default = 0_i32;
            libc::syscall(
                libc::SYS_sched_setscheduler,
                0,
                libc::SCHED_OTHER,
                &raw const default,
            );
            libc::setpriority(libc::PRIO_PROCESS, 0, 0);
            libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0);
            for (resource, wanted, possible) in &self.defaults {
                if libc::setrlimit(*resource as _, wanted) != 0 {
                    libc::setrlimit(*resource as _, possible);
                }
            }
            for (resource, wanted) in self.asked.iter().flatten() {
                if libc::setrlimit(*resource as _, wanted) != 0 {
                    return false;
                }
            }
            self.nice
                .is_none_or(|nice| libc::setpriority(libc::PRIO_PROCESS, 0, nice) == 0)
        }
    }
}

const IOPRIO_WHO_PROCESS: libc::c_int = 1;

fn limit(soft: u64, hard: u64) -> libc::rlimit {
    libc::rlimit {
        rlim_cur: soft.min(hard),
        rlim_max: hard,
    }
}
