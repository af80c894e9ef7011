//! Signals to runs and to their process groups.

use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::kernel;
use super::procfs::Stat;
use super::rights::OsRights;
use super::shortage::{self, is_shortage};
use super::user;
use crate::machine::Run;

/// Why a signal was not sent.
enum NotSent {
    /// Its user may not send it.
    Refused(String),
    Failed(io::Error),
}

impl<E: Into<io::Error>> From<E> for NotSent {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Sends a signal to exactly this run, if its user could send it: a pid file named the run. Ok if the run is gone.
pub(crate) fn signal(run: Run, signal: Signal, user: &str) -> Result<(), String> {
    let rights = OsRights::of(user)?;
    describe_error(send(run, signal, &rights), run, signal)
}

/// Sends SIGKILL to exactly this run, if these rights allow it. Ok if the run is gone.
pub(crate) fn kill(run: Run, rights: &OsRights) -> Result<(), String> {
    describe_error(send(run, Signal::KILL, rights), run, Signal::KILL)
}

fn send(run: Run, signal: Signal, rights: &OsRights) -> Result<(), NotSent> {
    let Some(pid) = Pid::from_raw(run.pid) else {
        return Ok(());
    };
    let calls = kernel::calls();
    let pidfd = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        Err(Errno::SRCH) => return Ok(()),
        opened => opened.ok().filter(|_| calls.pidfd_send_signal),
    };
    let allowed = rights.check_signal(run.pid);
    // The pidfd pins the pid: the process that is read here is the one that was checked and gets the signal. Without a pidfd
    // the pid would have to be reused between this and the next system call.
    let stat = Stat::find(run.pid)?;
    if stat.is_none_or(|stat| stat.start != run.start) {
        return Ok(());
    }
    allowed?.map_err(NotSent::Refused)?;
    match pidfd {
        Some(pidfd) => rustix::process::pidfd_send_signal(&pidfd, signal)?,
        None => rustix::process::kill_process(pid, signal)?,
    }
    Ok(())
}

/// Sends a signal to the process group of a command of the agent.
pub(crate) fn signal_group(leader: Run, sig: Signal) -> Result<(), String> {
    let leads =
        |stat: Option<Stat>| stat.is_some_and(|s| s.run() == leader && s.session == leader.pid);
    let sent = match (Stat::find(leader.pid).map(leads), Pid::from_raw(leader.pid)) {
        (Err(error), _) => Err(error.into()),
        (Ok(true), Some(pid)) => {
            rustix::process::kill_process_group(pid, sig).map_err(NotSent::from)
        }
        (Ok(true | false), _) => send(leader, sig, &OsRights::Agent),
    };
    describe_error(sent, leader, sig)
}

/// Turns errors into messages. A run that is gone needs no signal: its exit is reported anyway.
fn describe_error(sent: Result<(), NotSent>, run: Run, signal: Signal) -> Result<(), String> {
    let what = || format!("signal {} to pid {}", signal.as_raw(), run.pid);
    let error = match sent {
        Ok(()) => return Ok(()),
        Err(NotSent::Refused(why)) => return Err(why),
        Err(NotSent::Failed(error)) => error,
    };
    match error.raw_os_error() {
        Some(libc::ESRCH) => Ok(()),
        Some(libc::EPERM) => {
            let owner = user::owner_of(run.pid).unwrap_or_else(|| "another user".to_owned());
            let sends = format!("send {} of {owner}", what());
            Err(user::cannot(&sends))
        }
        Some(_) | None if is_shortage(&error) => {
            let why = shortage::words(&error);
            Err(format!("the agent cannot send {}: {why}", what()))
        }
        Some(_) | None => Err(format!("the agent cannot send {}: {error}", what())),
    }
}
