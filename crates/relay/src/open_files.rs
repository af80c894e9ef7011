//! The process's limit of open files: a client is one, and a connection to a server another.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files for everything but clients and their own connections: also for those that carry many.
const SPARE: u64 = 128;

/// Raises the limit of open files for so many clients, each with a connection to a server; returns how many connections it
/// allows, of both kinds together. With `multiplexed`, few of the clients need one to a server.
pub(crate) fn raise_for(clients: usize, multiplexed: bool) -> usize {
    let wanted = (clients as u64).saturating_mul(2).saturating_add(SPARE);
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
    let allowed = connections_within(getrlimit(Resource::Nofile).current, clients);
    let needed = if multiplexed { clients } else { clients * 2 };
    if allowed < needed {
        tracing::warn!(
            wanted = clients,
            allowed,
            "few open files are allowed: each agent needs one, and another if its server does not take many over one connection; \
             raise `ulimit -n` or LimitNOFILE"
        );
    }
    allowed
}

fn connections_within(open_files: Option<u64>, clients: usize) -> usize {
    let wanted = clients.saturating_mul(2);
    let Some(open_files) = open_files else {
        return wanted;
    };
    let free = open_files.saturating_sub(SPARE).max(2);
    usize::try_from(free).unwrap_or(usize::MAX).min(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_may_need_two_files_and_some_are_spare() {
        assert_eq!(connections_within(None, 20_000), 40_000);
        assert_eq!(connections_within(Some(1 << 20), 20_000), 40_000);
        assert_eq!(connections_within(Some(1024), 20_000), 896);
        assert_eq!(connections_within(Some(10), 20_000), 2);
    }
}
