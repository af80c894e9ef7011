//! The limit of open files: each simulated agent needs a descriptor.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::SimError;

/// Descriptors beside those of agents: standard streams, the runtime, files.
const OTHERS: u64 = 64;

/// Raises the limit, or fails if the process may not have enough.
pub(super) fn raise(n_agents: usize) -> Result<(), SimError> {
    let needed = n_agents as u64 + OTHERS;
    let before = getrlimit(Resource::Nofile);
    let wanted = before.maximum.map(|hard| hard.max(needed));
    for maximum in [wanted, before.maximum] {
        let limit = Rlimit {
            current: maximum,
            maximum,
        };
        if setrlimit(Resource::Nofile, limit).is_ok() {
            break;
        }
    }
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    match allowed >= needed {
        true => Ok(()),
        false => Err(SimError::OpenFiles {
            n_agents,
            needed,
            allowed,
        }),
    }
}
