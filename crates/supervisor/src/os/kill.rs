//! Signals to runs and to the groups that they lead.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::procfs::Stat;
use super::rights::Rights;
use super::user;
use crate::machine::Run;

/// Why a signal was not sent.
enum Refused {
    /// Its user may not send it: why, in words.
    User(String),
    Agent(Errno),
}

impl From<Errno> for Refused {
    fn from(error: Errno) -> Self {
        Self::Agent(error)
    }
}

/// A signal to exactly this run, which may be gone, and which its user could send as well: a pid file named it. An error
/// when it may not be sent.
pub(crate) fn signal(run: Run, signal: Signal, user: &str) -> Result<(), String> {
    let rights = Rights::of(user)?;
    told(send(run, signal, &rights).map(drop), run, signal)
}

/// SIGKILL to exactly this run, if these rights allow it: a pidfd to wait for its end with, if it was still there. An
/// error when it may not be sent.
pub(crate) fn kill(run: Run, rights: &Rights) -> Result<Option<OwnedFd>, String> {
    match send(run, Signal::KILL, rights) {
        Ok(pidfd) => Ok(pidfd),
        Err(error) => told(Err(error), run, Signal::KILL).map(|()| None),
    }
}

fn send(run: Run, signal: Signal, rights: &Rights) -> Result<Option<OwnedFd>, Refused> {
    let Some(pid) = Pid::from_raw(run.pid) else {
        return Ok(None);
    };
    let is_gone = || Stat::read(run.pid).is_none_or(|stat| stat.run() != run || !stat.is_live());
    let pidfd = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        // One that is just ending can have no pidfd any more.
        Err(_) if is_gone() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let allowed = rights.check_signal(run.pid);
    // The pidfd holds the pid: what bears it now is what was checked and what gets the signal.
    if Stat::read(run.pid).is_none_or(|stat| stat.start != run.start) {
        return Ok(None);
    }
    allowed.map_err(Refused::User)?;
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
    let sent = match (leads, Pid::from_raw(leader.pid)) {
        (true, Some(pid)) => rustix::process::kill_process_group(pid, sig).map_err(Refused::from),
        (true | false, _) => send(leader, sig, &Rights::Agent).map(drop),
    };
    told(sent, leader, sig)
}

/// One that is gone needs no signal: its end is told by itself.
fn told(sent: Result<(), Refused>, run: Run, signal: Signal) -> Result<(), String> {
    let what = || format!("signal {} to pid {}", signal.as_raw(), run.pid);
    match sent {
        Ok(()) | Err(Refused::Agent(Errno::SRCH)) => Ok(()),
        Err(Refused::User(why)) => Err(why),
        Err(Refused::Agent(Errno::PERM)) => {
            let owner = user::owner_of(run.pid).unwrap_or_else(|| "another user".to_owned());
            let sends = format!("send {} of {owner}", what());
            Err(user::cannot(&sends))
        }
        Err(Refused::Agent(error)) => Err(format!("the agent cannot send {}: {error}", what())),
    }
}
