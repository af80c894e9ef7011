//! The process's own limits: one descriptor per agent adds up.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Fewer descriptors than this, and the operator should know.
const COMFORTABLE: u64 = 16 * 1024;

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
    let now = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    if !raised || now < COMFORTABLE {
        tracing::warn!(
            open_files = now,
            "few open files are allowed: each agent needs one; raise `ulimit -n` or LimitNOFILE"
        );
    }
}
