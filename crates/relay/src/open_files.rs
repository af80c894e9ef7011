//! The process's limit of open files: a connection needs two, one to each side.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files for everything but connections.
const SPARE: u64 = 64;

/// Raises the limit of open files for so many connections; returns how many it allows.
pub(crate) fn raise_for(connections: usize) -> usize {
    let wanted = (connections as u64).saturating_mul(2).saturating_add(SPARE);
    let before = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= wanted);
    if !enough(before.current) {
        let hard = match enough(before.maximum) {
            true => before.maximum,
            false => Some(wanted),
        };
        let raise = |current, maximum| setrlimit(Resource::Nofile, Rlimit { current, maximum });
        // Only root may raise the hard limit; without that, up to the hard limit is better than nothing.
        if raise(Some(wanted), hard).is_err() && raise(before.maximum, before.maximum).is_err() {
            tracing::debug!("the limit of open files cannot be raised");
        }
    }
    let allowed = connections_within(getrlimit(Resource::Nofile).current, connections);
    if allowed < connections {
        tracing::warn!(
            wanted = connections,
            allowed,
            "few open files are allowed: each connection needs two; raise `ulimit -n` or LimitNOFILE"
        );
    }
    allowed
}

fn connections_within(open_files: Option<u64>, wanted: usize) -> usize {
    let Some(open_files) = open_files else {
        return wanted;
    };
    let free = open_files.saturating_sub(SPARE).max(2) / 2;
    usize::try_from(free).unwrap_or(usize::MAX).min(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_has_two_files_and_some_are_spare() {
        assert_eq!(connections_within(None, 20_000), 20_000);
        assert_eq!(connections_within(Some(1 << 20), 20_000), 20_000);
        assert_eq!(connections_within(Some(1024), 20_000), 480);
        assert_eq!(connections_within(Some(10), 20_000), 1);
    }
}
