//! Signals to runs and to the groups that they lead.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::procfs::Stat;
use super::user;
use crate::machine::Run;

/// A signal to exactly this run, which may be gone. An error when it may not be sent.
pub(crate) fn signal(run: Run, signal: Signal) -> Result<(), String> {
    told(send(run, signal).map(drop), run, signal)
}

/// SIGKILL to exactly this run: a pidfd to wait for its end with, if it was still there. An error when it may not be sent.
pub(crate) fn kill(run: Run) -> Result<Option<OwnedFd>, String> {
    match send(run, Signal::KILL) {
        Ok(pidfd) => Ok(pidfd),
        Err(error) => told(Err(error), run, Signal::KILL).map(|()| None),
    }
}

fn send(run: Run, signal: Signal) -> Result<Option<OwnedFd>, Errno> {
    let Some(pid) = Pid::from_raw(run.pid) else {
        return Ok(None);
    };
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    // The pidfd holds the pid: what bears it now is what gets the signal.
    if Stat::read(run.pid).is_none_or(|stat| stat.start != run.start) {
        return Ok(None);
    }
    rustix::process::pidfd_send_signal(&pidfd, signal)?;
    Ok(Some(pidfd))
}

/// Waits until each of these has ended, but not longer than that.
pub(crate) fn await_ends(pidfds: &[OwnedFd], patience: Duration) {
    let until = Instant::now() + patience;
    for pidfd in pidfds {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        // Whatever goes wrong here, what is left is found by the next look.
        let _ = poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&left));
    }
}

/// A signal to the process group that a command of ours leads.
pub(crate) fn signal_group(leader: Run, sig: Signal) -> Result<(), String> {
    let leads = Stat::read(leader.pid)
        .is_some_and(|stat| stat.start == leader.start && stat.session == leader.pid);
    match (leads, Pid::from_raw(leader.pid)) {
        (true, Some(pid)) => told(rustix::process::kill_process_group(pid, sig), leader, sig),
        (true | false, _) => signal(leader, sig),
    }
}

/// One that is gone needs no signal: its end is told by itself.
fn told(sent: Result<(), Errno>, run: Run, signal: Signal) -> Result<(), String> {
    let what = || format!("signal {} to pid {}", signal.as_raw(), run.pid);
    match sent {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(Errno::PERM) => {
            let owner = user::owner_of(run.pid).unwrap_or_else(|| "another user".to_owned());
            let sends = format!("send {} of {owner}", what());
            Err(user::cannot(&sends))
        }
        Err(error) => Err(format!("the agent cannot send {}: {error}", what())),
    }
}
