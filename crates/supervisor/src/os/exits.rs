//! Exits of processes: one epoll set over every pidfd, and the exit status from whichever source has it.
//!
//! A run whose pidfd cannot be opened, or cannot be added to the set, is [`polled`] instead. A run has ended only if the
//! kernel says that there is no such process, or that its pid has another start time.
//!
//! The status of a child comes from `wait`. For other runs (adopted, or started by an earlier agent) the kernel has it in
//! two places: in `/proc/PID/stat` while it is a zombie, and through `PIDFD_GET_INFO` (Linux 6.15) after its parent has
//! waited for it. If neither has it, the exit is [`Exit::Unseen`].
#![allow(unsafe_code)]

mod polled;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use model::status::Exit;
use rustix::event::epoll;
use rustix::process::{Pid, PidfdFlags, WaitOptions};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::procfs::{self, Stat};
use super::spawn::FailurePipe;
use super::{kernel, shortage};
use crate::machine::Run;
use polled::{Polled, RunStatus};

/// How many epoll events are read at once.
const BATCH: usize = 256;
/// How long a zombie in the agent's session is left to other code of this program that may wait for it.
const LEFT_TO_OTHERS_MS: u64 = 10_000;

/// Watches runs for their exits.
#[derive(Debug)]
pub(crate) struct Exits {
    epoll: AsyncFd<OwnedFd>,
    watched: HashMap<i32, Watched>,
    polled: Polled,
    /// Zombies that other code of this program may wait for, with the time of their discovery.
    left: HashMap<Run, u64>,
    /// Children that have executed their commands.
    executed: Vec<Run>,
}

/// Marks the failure pipe of a child in the data of its epoll event, whose lower half is the pid.
const FAILURE_PIPE: u64 = 1 << 32;

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
            polled: Polled::new(),
            left: HashMap::new(),
            executed: Vec::new(),
        })
    }

    pub(crate) fn is_watched(&self, run: Run) -> bool {
        self.run_of(run.pid) == Some(run)
    }

    /// The watched run that has this pid.
    pub(crate) fn run_of(&self, pid: i32) -> Option<Run> {
        let watched = self.watched.get(&pid).map(|watched| watched.run);
        watched.or_else(|| self.polled.run_of(pid))
    }

    /// Watches a child of this process; by polling if it has no usable pidfd.
    pub(crate) fn watch_child(&mut self, run: Run, pidfd: io::Result<OwnedFd>) {
        let added = pidfd.and_then(|pidfd| self.add(run, pidfd));
        if let Err(why) = added {
            self.polled.add(run, polled::Parent::Us, &why);
        }
    }

    /// Lets [`Self::take_executed`] tell when this child has executed its command. Without it the child is observed by the
    /// machine's timers alone.
    pub(crate) fn watch_execution(&self, run: Run, pipe: &FailurePipe) {
        let data = epoll::EventData::new_u64(FAILURE_PIPE | run.pid as u64);
        // Once: a later child may hold the pipe open for a moment after the agent has closed it.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ONESHOT;
        if let Err(error) = epoll::add(self.epoll.get_ref(), pipe, data, flags) {
            tracing::debug!(%error, "cannot watch the execution of a command");
        }
    }

    /// The children that have executed their commands since the last call.
    pub(crate) fn take_executed(&mut self) -> Vec<Run> {
        std::mem::take(&mut self.executed)
    }

    fn add(&mut self, run: Run, pidfd: OwnedFd) -> io::Result<()> {
        self.require_descriptor()?;
        let data = epoll::EventData::new_u64(run.pid as u64);
        epoll::add(self.epoll.get_ref(), &pidfd, data, epoll::EventFlags::IN)?;
        self.watched.insert(run.pid, Watched { run, pidfd });
        Ok(())
    }

    /// The agent must not spend its last descriptors on pidfds: it could read nothing any more.
    fn require_descriptor(&self) -> io::Result<()> {
        match self.watched.len() < shortage::descriptors_for_watching() {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(libc::EMFILE)),
        }
    }

    fn open(&self, run: Run) -> io::Result<OwnedFd> {
        kernel::require_pidfds()?;
        self.require_descriptor()?;
        let pid = Pid::from_raw(run.pid).ok_or(rustix::io::Errno::SRCH)?;
        Ok(rustix::process::pidfd_open(pid, PidfdFlags::empty())?)
    }

    /// Watches any run; `Some` is its exit, if it has ended already.
    pub(crate) fn watch(&mut self, run: Run) -> Option<Exit> {
        if self.is_watched(run) {
            return None;
        }
        let pidfd = self.open(run);
        // The pidfd pins the pid, so what is read after it was opened is about its process.
        let status = polled::run_status(run, pidfd.as_ref().ok());
        let (parent, pidfd) = match status {
            RunStatus::Ended(exit) => return Some(exit),
            RunStatus::Lives(parent) => (parent, pidfd),
            // Which process the pidfd refers to is not known.
            RunStatus::Unknown(error) => (polled::Parent::Another, Err(error)),
        };
        let added = pidfd.and_then(|pidfd| self.add(run, pidfd));
        if let Err(why) = added {
            self.polled.add(run, parent, &why);
        }
        None
    }

    pub(crate) fn forget(&mut self, run: Run) {
        self.polled.forget(run);
        if self.is_watched(run)
            && let Some(watched) = self.watched.remove(&run.pid)
        {
            // Closing it also removes it from the set.
            let _ = epoll::delete(self.epoll.get_ref(), &watched.pidfd);
        }
    }

    /// Waits until a run has ended, or a poll is due.
    pub(crate) async fn ready(&self) -> io::Result<()> {
        tokio::select! {
            guard = self.epoll.readable() => {
                guard?.clear_ready();
                Ok(())
            }
            () = self.polled.due() => Ok(()),
        }
    }

    /// Takes the exits that have happened.
    pub(crate) fn take(&mut self) -> Vec<(Run, Exit)> {
        let mut ends = self.take_from_epoll();
        self.polled.take_children(&mut ends);
        if self.polled.is_due() {
            self.poll(&mut ends);
        }
        ends
    }

    /// Polls every run without a pidfd once, and switches to pidfds when they can be opened again.
    fn poll(&mut self, ends: &mut Vec<(Run, Exit)>) {
        let mut may_open = true;
        for run in self.polled.begin_round() {
            let pidfd = may_open.then(|| self.open(run).ok()).flatten();
            // If one cannot be opened, the next cannot either.
            may_open &= pidfd.is_some();
            match polled::run_status(run, pidfd.as_ref()) {
                RunStatus::Ended(exit) => {
                    self.polled.forget(run);
                    ends.push((run, exit));
                }
                RunStatus::Lives(parent) => {
                    self.polled.has_parent(run, parent);
                    let added = pidfd.map(|pidfd| self.add(run, pidfd));
                    if matches!(added, Some(Ok(()))) {
                        self.polled.forget(run);
                    }
                }
                RunStatus::Unknown(_) => {}
            }
        }
    }

    fn take_from_epoll(&mut self) -> Vec<(Run, Exit)> {
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
                if event.data.u64() & FAILURE_PIPE != 0 {
                    // A report in the pipe says that the command could not be executed.
                    let flags = event.flags;
                    let is_report = flags.contains(epoll::EventFlags::IN);
                    let run = self.run_of(pid).filter(|_| !is_report);
                    self.executed.extend(run);
                    continue;
                }
                if let Some(watched) = self.watched.remove(&pid) {
                    let exit = exit_of(watched.run, Some(&watched.pidfd));
                    let _ = epoll::delete(self.epoll.get_ref(), &watched.pidfd);
                    ends.push((watched.run, exit));
                }
            }
            if taken < BATCH {
                return ends;
            }
        }
    }

    /// Reaps every orphan that was reparented to the agent and is not watched. A zombie in the agent's own session may be a
    /// child of other code of this program (commands have sessions of their own), so it is left alone for a while; one that
    /// stays is a leftover, for example of a script that became the agent by `exec`.
    pub(crate) fn reap_orphans(&mut self, now_boot_ms: u64) {
        // From `/proc`: in a container the agent's session may come from outside and have the number 0 here, which
        // `rustix::process::getsid` does not accept.
        let me = std::process::id() as i32;
        let Ok(Some(us)) = Stat::find(me) else {
            return;
        };
        // A process that cannot be read may belong to other code.
        let mut is_left = |pid: i32| match Stat::find(pid) {
            Ok(Some(stat)) if stat.session == us.session => {
                let since = self.left.entry(stat.run()).or_insert(now_boot_ms);
                now_boot_ms < *since + LEFT_TO_OTHERS_MS
            }
            Ok(_) => false,
            Err(_) => true,
        };
        let is_watched =
            |pid: i32| self.watched.contains_key(&pid) || self.polled.run_of(pid).is_some();
        while let Some(pid) = peek_zombie() {
            if is_watched(pid) {
                // Its pidfd or the poll reports its exit and waits for it.
                return;
            }
            if is_left(pid) {
                // The kernel would return the same zombie again: look for the others.
                let children = procfs::children(me).unwrap_or_default().into_iter();
                for stat in children.filter_map(Stat::read).filter(Stat::has_ended) {
                    if !is_watched(stat.pid) && !is_left(stat.pid) {
                        is_reaped(stat.pid);
                    }
                }
                return;
            }
            if !is_reaped(pid) {
                return;
            }
        }
        self.left.clear();
    }
}

fn is_reaped(pid: i32) -> bool {
    let waited = Pid::from_raw(pid)
        .and_then(|pid| rustix::process::waitpid(Some(pid), WaitOptions::NOHANG).ok());
    waited.flatten().is_some()
}

/// The exit of a child of this process, if it has ended.
fn waited(run: Run) -> Option<Exit> {
    let pid = Pid::from_raw(run.pid)?;
    let waited = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    let (_, status) = waited.ok().flatten()?;
    Some(from_status(status.as_raw()))
}

fn exit_of(run: Run, pidfd: Option<&OwnedFd>) -> Exit {
    if let Some(exit) = waited(run) {
        return exit;
    }
    if let Some(stat) = Stat::read(run.pid)
        && stat.start == run.start
        && !stat.is_live()
        && readable_exit_code(run.pid)
    {
        return from_status(stat.exit_code);
    }
    let status = pidfd.and_then(pidfd_exit);
    status.map_or(Exit::Unseen, from_status)
}

/// `/proc/PID/stat` shows 0 instead of the exit code to readers that may not trace the process.
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

/// A child that is a zombie.
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

#[cfg(test)]
mod tests;
