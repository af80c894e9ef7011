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
/// Whoever starts a child in this program and wants to hear of its end has done so by then.
const LEFT_TO_OTHERS_MS: u64 = 10_000;

/// Every run that is watched.
#[derive(Debug)]
pub(crate) struct Exits {
    epoll: AsyncFd<OwnedFd>,
    watched: HashMap<i32, Watched>,
    /// Dead children that may be somebody else's in this program, and since when they are known.
    left: HashMap<Run, u64>,
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
            left: HashMap::new(),
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
    /// our session; whatever we start is not) are left to them for a while: one that stays dead is nobody's, such as what
    /// a script has started before it became the agent.
    pub(crate) fn reap_orphans(&mut self, now_boot_ms: u64) {
        // Read instead of asked for: in a container our session may be one from outside, which has the number 0 here, and
        // `rustix::process::getsid` does not know that number.
        let me = std::process::id() as i32;
        let session = Stat::read(me).map_or(0, |me| me.session);
        let mut is_left = |pid: i32| {
            let stat = Stat::read(pid).filter(|stat| stat.session == session);
            stat.is_some_and(|stat| {
                let since = self.left.entry(stat.run()).or_insert(now_boot_ms);
                now_boot_ms < *since + LEFT_TO_OTHERS_MS
            })
        };
        while let Some(pid) = peek_zombie() {
            if self.watched.contains_key(&pid) {
                // Its end is told through its pidfd, which waits for it too.
                return;
            }
            if is_left(pid) {
                // The kernel would show the same one again: the others are looked for.
                let children = procfs::children(me).into_iter().filter_map(Stat::read);
                for stat in children.filter(|stat| !stat.is_live()) {
                    if !self.watched.contains_key(&stat.pid) && !is_left(stat.pid) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_is_dead_in_our_session_is_left_to_others_for_a_while_and_hides_nobody() {
        let mut exits = Exits::new().unwrap();
        let state = |pid: u32| Stat::read(pid as i32).map(|stat| stat.state);
        let spawn = |program: &[&str]| {
            let mut command = std::process::Command::new(program[0]);
            let pid = command.args(&program[1..]).spawn().unwrap().id();
            while state(pid) != Some(b'Z') {
                std::thread::yield_now();
            }
            pid
        };
        let (others, orphan) = (spawn(&["true"]), spawn(&["setsid", "true"]));
        exits.reap_orphans(5);
        assert_eq!(state(orphan), None);
        exits.reap_orphans(5 + LEFT_TO_OTHERS_MS - 1);
        assert_eq!(state(others), Some(b'Z'));
        exits.reap_orphans(5 + LEFT_TO_OTHERS_MS);
        assert_eq!(state(others), None);
    }
}
