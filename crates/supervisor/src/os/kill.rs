//! Signals to runs and to the groups that they lead.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::procfs::Stat;
use super::user;
use crate::machine::Run;

/// A signal to exactly this run, which may be gone. An error when it may not be sent.
pub(crate) fn signal(run: Run, signal: Signal) -> Result<(), String> {
    let Some(pid) = Pid::from_raw(run.pid) else {
        return Ok(());
    };
    let sent = rustix::process::pidfd_open(pid, PidfdFlags::empty()).and_then(|pidfd| {
        // The pidfd holds the pid: what bears it now is what gets the signal.
        let same = Stat::read(run.pid).is_some_and(|stat| stat.start == run.start);
        match same {
            true => rustix::process::pidfd_send_signal(&pidfd, signal),
            false => Ok(()),
        }
    });
    told(sent, run, signal)
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
