//! Shortage: the agent or its host is out of descriptors, memory or processes.
//!
//! Such an error says nothing about the process that the agent observes or starts. The agent keeps the last known state,
//! says what it lacks, and tries again; it never counts the error as an exit or as a failed attempt.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Resource, getrlimit};

/// Descriptors that must be free before a command is started: the start takes nine, and reading `/proc` afterwards some.
const ROOM: usize = 16;
/// Descriptors that the agent needs for itself, however many processes it has: its journal, sockets, timers, and [`ROOM`].
const OWN: u64 = 64;

pub(crate) fn is_shortage(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EAGAIN)
    )
}

/// What the agent lacks, for messages.
pub(crate) fn words(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EMFILE) => match getrlimit(Resource::Nofile).current {
            Some(limit) => format!(
                "the agent has reached its own limit of {limit} open files (LimitNOFILE of its service)"
            ),
            None => "the agent has reached its own limit of open files".to_owned(),
        },
        Some(libc::ENFILE) => {
            "the agent's host has reached its limit of open files (fs.file-max)".to_owned()
        }
        Some(libc::ENOMEM) => "the agent's host has no memory left".to_owned(),
        Some(libc::EAGAIN) => {
            "the agent may make no more processes (TasksMax of its service, or kernel.pid_max)"
                .to_owned()
        }
        Some(_) | None => super::plain(error),
    }
}

/// An error when so few descriptors are free that the agent should start nothing.
pub(crate) fn require_room() -> io::Result<()> {
    if has_room() {
        return Ok(());
    }
    let first = File::open("/dev/null")?;
    let more = (1..ROOM).map(|_| rustix::io::fcntl_dupfd_cloexec(&first, 0));
    more.collect::<Result<Vec<_>, _>>()?;
    Ok(())
}

/// Whether so many descriptors are certainly free, by their count: Linux 6.2 reports it as the size of the directory, and older
/// kernels report 0. Descriptors beyond a limit that was lowered count, too, so the answer may be no although there is room.
fn has_room() -> bool {
    let n_open = std::fs::metadata("/proc/self/fd").map_or(0, |found| found.size());
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    n_open > 0 && n_open.saturating_add(ROOM as u64) <= limit
}

/// How many descriptors may be spent on watching processes: half of what the agent does not need for itself.
pub(crate) fn descriptors_for_watching() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    (limit.saturating_sub(OWN) / 2) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lack_of_resources_is_a_shortage() {
        for (number, expected) in [
            (libc::EMFILE, true),
            (libc::ENFILE, true),
            (libc::ENOMEM, true),
            (libc::EAGAIN, true),
            (libc::ESRCH, false),
            (libc::ENOENT, false),
            (libc::EACCES, false),
        ] {
            let error = io::Error::from_raw_os_error(number);
            assert_eq!(is_shortage(&error), expected, "{error}");
        }
    }
}
