//! The process's limit of open files, and its division between callers and agents.
//!
//! Each connection is one descriptor, so the limits of connections leave enough for the store, the bus, webhooks, the CMDB
//! and files. Without a free descriptor the server could not even refuse a connection.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// With fewer descriptors than this the server logs a warning.
const WARN_BELOW: u64 = 16 * 1024;
/// Descriptors for everything but connections and what is open at boot: an eighth, within these bounds.
const MIN_SPARE: usize = 32;
const MAX_SPARE: usize = 256;
/// Callers get a quarter of the connections, but at least so many.
const MIN_CALLERS: usize = 16;

/// Raises the soft limit of open files to the hard one, and the hard one too where that is allowed.
pub(crate) fn raise_open_files() {
    let before = getrlimit(Resource::Nofile);
    let target = before.maximum.map(|hard| hard.max(1 << 20));
    let tries = [
        Rlimit {
            current: target,
            maximum: target,
        },
        Rlimit {
            current: before.maximum,
            maximum: before.maximum,
        },
    ];
    let raised = tries
        .into_iter()
        .any(|limit| setrlimit(Resource::Nofile, limit).is_ok());
    let number = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
    let now = number(getrlimit(Resource::Nofile).current);
    tracing::info!(
        before = number(before.current),
        open_files = now,
        "limit of open files"
    );
    if !raised || now < WARN_BELOW {
        tracing::warn!(
            open_files = now,
            "few open files are allowed: each agent needs one; raise `ulimit -n` or LimitNOFILE"
        );
    }
}

/// How many connections there may be of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shares {
    pub(crate) callers: usize,
    pub(crate) agents: usize,
}

/// Divides the free descriptors. `callers` is the configured maximum.
pub(crate) fn shares(callers: usize) -> Shares {
    let open_files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let open_files = usize::try_from(open_files).unwrap_or(usize::MAX);
    // Without /proc the open ones are unknown and come out of the spare ones.
    let open_now = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    share(open_files, open_now, callers)
}

fn share(open_files: usize, open_now: usize, callers: usize) -> Shares {
    let spare = (open_files / 8).clamp(MIN_SPARE, MAX_SPARE);
    let left = open_files.saturating_sub(open_now + spare).max(2);
    let callers = callers.min((left / 4).max(MIN_CALLERS)).min(left - 1);
    Shares {
        callers,
        agents: left - callers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_everything_else() {
        for (open_files, callers, agents) in [
            (1_048_576, 8192, 1_040_100),
            (1024, 217, 651),
            (160, 25, 75),
            (100, 16, 24),
            (32, 1, 1),
        ] {
            let shares = share(open_files, 28, 8192);
            assert_eq!(shares, Shares { callers, agents }, "{open_files}");
            if open_files >= 100 {
                assert!(28 + MIN_SPARE + callers + agents <= open_files);
            }
        }
        // With fewer callers configured, agents get the rest.
        let shares = share(1024, 28, 10);
        assert_eq!(
            shares,
            Shares {
                callers: 10,
                agents: 858
            }
        );
    }
}
