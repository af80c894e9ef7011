//! The process's own limits: one descriptor per agent adds up.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Fewer descriptors than this, and the operator should know.
const COMFORTABLE: u64 = 16 * 1024;

/// Open files that agents never get.
const KEPT_BACK: usize = 256;

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

/// How many agents there is room for: the rest of the open files is for the API, the store and others.
pub(crate) fn room_for_agents() -> usize {
    let open_files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    room_of(usize::try_from(open_files).unwrap_or(usize::MAX))
}

/// A tenth is kept back, and at least enough for a store and some callers.
fn room_of(open_files: usize) -> usize {
    let kept_back = (open_files / 10).max(KEPT_BACK);
    open_files.saturating_sub(kept_back).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_open_files_are_kept_back_for_everything_else() {
        assert_eq!(room_of(1_048_576), 943_719);
        assert_eq!(room_of(1024), 768);
        assert_eq!(room_of(64), 1);
    }
}
