//! Ends of processes: one epoll set over every pidfd, and the exit status however it can be had.
//!
//! A child's status comes from `wait`. For a run that is not our child (adopted, or ours before the agent was restarted)
//! the kernel tells it in two places: in `/proc/PID/stat` while it is a zombie, and through `PIDFD_GET_INFO` (Linux 6.15)
//! once its parent has waited for it. Where neither does, the exit is [`Exit::Unseen`].
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use model::status::Exit;
use rustix::event::epoll;
use rustix::process::{Pid, PidfdFlags, WaitOptions};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::procfs::{self, Stat};
use crate::machine::Run;

/// How many ends are taken in one go.
const BATCH: usize = 256;

/// Every run that is watched.
#[derive(Debug)]
pub(crate) struct Exits {
    epoll: AsyncFd<OwnedFd>,
    watched: HashMap<i32, Watched>,
}

#[derive(Debug)]
struct Watched {
    run: Run,
    pidfd: OwnedFd,
}

impl Exits {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // SAFETY: an OwnedFd gives the same open descriptor for as long as it lives, and lives in the AsyncFd.
        let epoll = unsafe { AsyncFd::register_with_interest(epoll, Interest::READABLE) }?;
        Ok(Self {
            epoll,
            watched: HashMap::new(),
        })
    }

    pub(crate) fn is_watched(&self, run: Run) -> bool {
        self.watched.get(&run.pid).is_some_and(|w| w.run == run)
    }

    /// The watched run that has this pid.
    pub(crate) fn run_of(&self, pid: i32) -> Option<Run> {
        self.watched.get(&pid).map(|watched| watched.run)
    }

    /// Watches a child of ours.
    pub(crate) fn watch_child(&mut self, run: Run, pidfd: OwnedFd) -> io::Result<()> {
        let data = epoll::EventData::new_u64(run.pid as u64);
        epoll::add(self.epoll.get_ref(), &pidfd, data, epoll::EventFlags::IN)?;
        self.watched.insert(run.pid, Watched { run, pidfd });
        Ok(())
    }

    /// Watches any run; `Some` is how it ended, when it is gone already.
    pub(crate) fn watch(&mut self, run: Run) -> Option<Exit> {
        if self.is_watched(run) {
            return None;
        }
        let pidfd = Pid::from_raw(run.pid)
            .and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
        let Some(pidfd) = pidfd else {
            return Some(Exit::Unseen);
        };
        // The pidfd holds the pid, so this tells whether it is the run we mean.
        match Stat::read(run.pid).filter(|stat| stat.start == run.start) {
            Some(stat) if stat.is_live() => {}
            Some(_) => return Some(exit_of(run, &pidfd)),
            None => return Some(Exit::Unseen),
        }
        match self.watch_child(run, pidfd) {
            Ok(()) => None,
            Err(error) => {
                tracing::error!(pid = run.pid, %error, "cannot watch a process");
                None
            }
        }
    }

    pub(crate) fn forget(&mut self, run: Run) {
        if self.is_watched(run)
            && let Some(watched) = self.watched.remove(&run.pid)
        {
            // Closing it takes it out of the set as well.
            let _ = epoll::delete(self.epoll.get_ref(), &watched.pidfd);
        }
    }

    /// Waits until something ended.
    pub(crate) async fn ready(&self) -> io::Result<()> {
        let mut guard = self.epoll.readable().await?;
        guard.clear_ready();
        Ok(())
    }

    /// Takes the ends that have come.
    pub(crate) fn take(&mut self) -> Vec<(Run, Exit)> {
        let mut ends = Vec::new();
        loop {
            let mut events = Vec::with_capacity(BATCH);
            let now = rustix::event::Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            let buffer = rustix::buffer::spare_capacity(&mut events);
            let taken = match epoll::wait(self.epoll.get_ref(), buffer, Some(&now)) {
                Ok(taken) => taken,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => {
                    tracing::error!(%error, "cannot ask for ended processes");
                    return ends;
                }
            };
            for event in &events {
                let pid = event.data.u64() as i32;
                if let Some(watched) = self.watched.remove(&pid) {
                    let exit = exit_of(watched.run, &watched.pidfd);
                    let _ = epoll::delete(self.epoll.get_ref(), &watched.pidfd);
                    ends.push((watched.run, exit));
                }
            }
            if taken < BATCH {
                return ends;
            }
        }
    }

    /// Waits for every orphan that came to us and is watched by nobody. Children of others in this program (they are in
    /// our session; whatever we start is not) are left to them.
    pub(crate) fn reap_orphans(&self) {
        // Read instead of asked for: in a container our session may be one from outside, which has the number 0 here, and
        // `rustix::process::getsid` does not know that number.
        let me = Stat::read(std::process::id() as i32);
        let session = me.map_or(0, |me| me.session);
        while let Some(pid) = peek_zombie() {
            if self.watched.contains_key(&pid) {
                // Its end is told through its pidfd, which waits for it too.
                return;
            }
            if Stat::read(pid).is_some_and(|stat| stat.session == session) {
                return;
            }
            let waited = Pid::from_raw(pid)
                .and_then(|pid| rustix::process::waitpid(Some(pid), WaitOptions::NOHANG).ok());
            if waited.flatten().is_none() {
                return;
            }
        }
    }
}

fn exit_of(run: Run, pidfd: &OwnedFd) -> Exit {
    let pid = Pid::from_raw(run.pid);
    if let Some(Ok(Some((_, status)))) =
        pid.map(|pid| rustix::process::waitpid(Some(pid), WaitOptions::NOHANG))
    {
        return from_status(status.as_raw());
    }
    if let Some(stat) = Stat::read(run.pid)
        && stat.start == run.start
        && !stat.is_live()
        && readable_exit_code(run.pid)
    {
        return from_status(stat.exit_code);
    }
    pidfd_exit(pidfd).map_or(Exit::Unseen, from_status)
}

/// `/proc/PID/stat` shows 0 instead of the exit code to those who may not trace the process.
fn readable_exit_code(pid: i32) -> bool {
    let me = rustix::process::geteuid().as_raw();
    me == 0 || procfs::owner(pid) == Some(me)
}

fn from_status(status: i32) -> Exit {
    match (libc::WIFEXITED(status), libc::WIFSIGNALED(status)) {
        (true, _) => Exit::Code(libc::WEXITSTATUS(status)),
        (_, true) => Exit::Signal(libc::WTERMSIG(status)),
        (false, false) => Exit::Unseen,
    }
}

/// A child that ended and was not waited for.
fn peek_zombie() -> Option<i32> {
    // SAFETY: all-zero is a valid siginfo, which the kernel fills; WNOWAIT leaves the child as it is.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        let done = libc::waitid(libc::P_ALL, 0, &raw mut info, flags);
        (done == 0 && info.si_pid() > 0).then(|| info.si_pid())
    }
}

/// `struct pidfd_info` of `linux/pidfd.h`, as it was first.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

/// _IOWR(0xFF, 11, struct pidfd_info)
const PIDFD_GET_INFO: libc::c_ulong =
    (3 << 30) | ((size_of::<PidfdInfo>() as libc::c_ulong) << 16) | (0xFF << 8) | 11;
const PIDFD_INFO_EXIT: u64 = 1 << 3;

/// The wait status of a process that its parent has waited for.
fn pidfd_exit(pidfd: &OwnedFd) -> Option<i32> {
    let mut info = PidfdInfo {
        mask: PIDFD_INFO_EXIT,
        ..PidfdInfo::default()
    };
    // SAFETY: the request's size is that of `info`, which the kernel fills.
    let done = unsafe { libc::ioctl(pidfd.as_fd().as_raw_fd(), PIDFD_GET_INFO, &raw mut info) };
    (done == 0 && info.mask & PIDFD_INFO_EXIT != 0).then_some(info.exit_code)
}
