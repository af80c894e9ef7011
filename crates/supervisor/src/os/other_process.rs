//! Another process of this host, held by its pid and start time: whether it has ended, and signals to it and to no other.

use std::io;
use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::kernel;
use super::procfs::Stat;
use crate::machine::Run;

/// How often a process without a pidfd is looked at.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// A process that lived when it was found. By a pidfd where the kernel has them.
#[derive(Debug)]
pub struct OtherProcess {
    run: Run,
    pidfd: Option<OwnedFd>,
}

impl OtherProcess {
    /// The live process with this pid; `None` when there is none.
    pub fn find(pid: i32) -> io::Result<Option<Self>> {
        let Some(number) = Pid::from_raw(pid) else {
            return Ok(None);
        };
        let pidfd = match pidfd_open(number, PidfdFlags::empty()) {
            Ok(pidfd) => Some(pidfd),
            Err(Errno::SRCH) => return Ok(None),
            Err(_) if !kernel::calls().pidfd_open => None,
            Err(error) => return Err(error.into()),
        };
        // The pidfd pins the pid: what is read now is about its process.
        let found = Stat::find(pid)?.filter(|stat| !stat.has_ended());
        Ok(found.map(|stat| Self {
            run: stat.run(),
            pidfd,
        }))
    }

    /// In ticks since boot, as in `/proc/PID/stat`.
    pub fn start_time(&self) -> u64 {
        self.run.start
    }

    /// Sends it a signal; an error if it has ended.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let pid = Pid::from_raw(self.run.pid).ok_or(Errno::SRCH)?;
        match &self.pidfd {
            Some(pidfd) if kernel::calls().pidfd_send_signal => {
                Ok(pidfd_send_signal(pidfd, signal)?)
            }
            Some(_) | None => match self.lives()? {
                true => Ok(kill_process(pid, signal)?),
                false => Err(Errno::SRCH.into()),
            },
        }
    }

    /// Whether it ends within this time. That it cannot be looked at does not mean that it has ended.
    pub fn ends_within(&self, patience: Duration) -> bool {
        let since = Instant::now();
        loop {
            let left = patience.saturating_sub(since.elapsed());
            let has_ended = match &self.pidfd {
                Some(pidfd) => is_readable(pidfd, left),
                None => matches!(self.lives(), Ok(false)),
            };
            if has_ended || left.is_zero() {
                return has_ended;
            }
            if self.pidfd.is_none() {
                sleep(left.min(POLL_EVERY));
            }
        }
    }

    fn lives(&self) -> io::Result<bool> {
        let found = Stat::find(self.run.pid)?;
        Ok(found.is_some_and(|stat| stat.run() == self.run && !stat.has_ended()))
    }
}

fn is_readable(pidfd: &OwnedFd, patience: Duration) -> bool {
    let patience = Timespec::try_from(patience).ok();
    let mut fds = [PollFd::new(pidfd, PollFlags::IN)];
    matches!(poll(&mut fds, patience.as_ref()), Ok(1))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn without_pidfd(process: OtherProcess) -> OtherProcess {
        OtherProcess {
            pidfd: None,
            ..process
        }
    }

    #[test]
    fn its_end_is_seen_and_its_signal_reaches_it_alone() {
        for degrade in [|process| process, without_pidfd] {
            let mut child = Command::new("sleep").arg("600").spawn().unwrap();
            let pid = child.id() as i32;
            let process = degrade(OtherProcess::find(pid).unwrap().unwrap());
            assert!(!process.ends_within(Duration::from_millis(30)));
            process.signal(Signal::KILL).unwrap();
            assert!(process.ends_within(Duration::from_secs(60)));
            child.wait().unwrap();
            assert!(process.ends_within(Duration::ZERO));
            let error = process.signal(Signal::KILL).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
            assert!(OtherProcess::find(pid).unwrap().is_none());
        }
    }

    #[test]
    fn a_process_with_another_start_time_is_another() {
        let me = OtherProcess::find(std::process::id() as i32)
            .unwrap()
            .unwrap();
        let earlier = OtherProcess {
            run: Run {
                start: me.run.start - 1,
                ..me.run
            },
            pidfd: None,
        };
        assert!(earlier.ends_within(Duration::ZERO));
        assert!(earlier.signal(Signal::CONT).is_err());
    }
}
