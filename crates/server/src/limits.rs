//! The process's own limit of open files, and who gets how many of them.
//!
//! Each connection is one descriptor, so connections of callers and of agents have a number that leaves enough for the store,
//! the bus, webhooks, the CMDB and files. A server at its limit could not even say so.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Fewer descriptors than this, and the operator should know.
const COMFORTABLE: u64 = 16 * 1024;
/// What is spare beside the connections and what is open anyway: an eighth, within these bounds.
const MIN_SPARE: usize = 32;
const MAX_SPARE: usize = 256;
/// Callers get a quarter of the connections, but so many at least.
const MIN_CALLERS: usize = 16;

/// Raises the soft limit of open files to the hard one, and the hard one too where that is allowed.
pub(crate) fn raise_open_files() {
    let before = getrlimit(Resource::Nofile);
    let wanted = before.maximum.map(|hard| hard.max(1 << 20));
    let tries = [
        Rlimit {
            current: wanted,
            maximum: wanted,
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
    if !raised || now < COMFORTABLE {
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

/// Shares out what is left now. `callers` is how many the operator allows.
pub(crate) fn shares(callers: usize) -> Shares {
    let open_files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let open_files = usize::try_from(open_files).unwrap_or(usize::MAX);
    // Without /proc nothing is known about what is open; the spare ones have to do.
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
        // The operator may allow fewer callers; agents get the rest.
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
