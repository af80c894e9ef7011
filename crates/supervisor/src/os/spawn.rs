//! Creates children by hand, because each blocks on a pipe before its exec.
//!
//! The child does everything up to the exec, and then blocks on a pipe. The parent writes the child's pid and start time
//! into the journal and only then releases it. If the parent dies first, the pipe closes and the child exits. So:
//! executed ⇔ journalled.
//!
//! The child shares the agent's memory until its exec ([`shared_memory`]), or is forked where that is not possible.
//!
//! If it has a control group, it is created inside it (`CLONE_INTO_CGROUP`): joining one takes milliseconds, and a lock
//! that every fork on the host needs. Where the kernel cannot do that, the parent moves the blocked child into it.
//!
//! What a command gets: `/bin/sh -c COMMAND` in `setup_path`, as `user` with all their groups, in a session of its own;
//! default signals, umask 022 or what `spec.runtime` says, the limits and priorities of [`super::limits`], a neutral OOM
//! score; standard input from `/dev/null`, both outputs into its sink, no other descriptor; and the environment of
//! [`environment`]. Where the shell would do nothing but become one program ([`super::direct`]), the child does so itself,
//! with the `PWD` that a shell would set.
#![allow(unsafe_code)]

mod child;
mod shared_memory;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags};

use super::cgroup::GroupEntry;
use super::kernel;
pub(crate) use super::launch::Launch;
use super::procfs::Stat;
use super::shortage;
use super::user::User;
use crate::machine::Run;
use child::{
    ChildDescriptors, PreparedCommand, STAGE_DESCRIPTORS, STAGE_DIRECTORY, STAGE_GROUP,
    STAGE_LIMITS, STAGE_USER, become_command,
};

/// The `PATH` of commands.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const LANG: &str = "C.UTF-8";
/// From `linux/sched.h`; does not fit into the C library's type for flags.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// The whole environment of a command of this user: HOME, USER, LOGNAME, SHELL, PATH, LANG, and the `mark`: MUSTER_NAMESPACE,
/// MUSTER_NAME and MUSTER_AGENT (distinguishes two agents on one host). The variables of the spec replace any but the mark.
pub(crate) fn environment(
    user: &User,
    given: &BTreeMap<String, String>,
    mark: &[String],
) -> Vec<String> {
    let shell = match user.shell.as_str() {
        "" => "/bin/sh",
        shell => shell,
    };
    let ours = [
        ("HOME", user.home.as_str()),
        ("USER", &user.name),
        ("LOGNAME", &user.name),
        ("SHELL", shell),
        ("PATH", PATH),
        ("LANG", LANG),
    ];
    let ours = ours.into_iter();
    let ours = ours.filter(|(name, _)| !given.contains_key(*name));
    let given = given
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let entry = |(name, value): (&str, &str)| format!("{name}={value}");
    let mut environment: Vec<String> = ours.chain(given).map(entry).collect();
    environment.extend_from_slice(mark);
    environment
}

/// A child that blocks before its exec. Dropped, it exits without having executed anything.
#[derive(Debug)]
pub(crate) struct BlockedChild {
    pub(crate) run: Run,
    /// It executes in its control group, with all that it starts.
    pub(crate) is_in_group: bool,
    pidfd: io::Result<OwnedFd>,
    release_pipe: OwnedFd,
    failure_pipe: OwnedFd,
}

/// A child that was released.
#[derive(Debug)]
pub(crate) struct Child {
    /// Without one it is watched by polling.
    pub(crate) pidfd: io::Result<OwnedFd>,
    pub(crate) failure_pipe: FailurePipe,
}

/// The pipe on which a child reports that it could not execute its command.
#[derive(Debug)]
pub(crate) struct FailurePipe(OwnedFd);

impl BlockedChild {
    /// Lets it execute.
    pub(crate) fn release(self) -> Child {
        // The exit of a child that died before is reported like any other.
        let _ = rustix::io::write(&self.release_pipe, b"g");
        Child {
            pidfd: self.pidfd,
            failure_pipe: FailurePipe(self.failure_pipe),
        }
    }
}

impl AsFd for FailurePipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Why a child could not execute its command.
#[derive(Debug)]
pub(crate) struct SpawnFailure {
    pub(crate) why: String,
    /// The agent or the host lacked something: no failure of the process.
    pub(crate) is_shortage: bool,
}

impl FailurePipe {
    /// Whether the child executed its command: `exec` closes the only other end of the pipe.
    pub(crate) fn is_closed(&self) -> bool {
        let mut pipe = [PollFd::new(&self.0, PollFlags::IN)];
        let polled = poll(&mut pipe, Some(&Timespec::default()));
        polled.is_ok() && pipe[0].revents() == PollFlags::HUP
    }

    /// Why it was not executed, once the child is gone.
    pub(crate) fn read(&self) -> Option<SpawnFailure> {
        let mut report = [0; 8];
        let length = rustix::io::read(&self.0, &mut report).ok()?;
        if length < report.len() {
            return None;
        }
        let [a, b, c, d, e, f, g, h] = report;
        let error = io::Error::from_raw_os_error(i32::from_ne_bytes([e, f, g, h]));
        let stage = i32::from_ne_bytes([a, b, c, d]);
        let is_shortage = match error.raw_os_error() {
            Some(libc::ENFILE | libc::ENOMEM) => true,
            // After its limits are applied, its spec and user decide how many files and processes it may have.
            Some(_) | None => stage == STAGE_DESCRIPTORS,
        };
        let why = match stage {
            STAGE_DESCRIPTORS => shortage::words(&error),
            STAGE_USER => format!("spec.identity.user: could not become this user: {error}"),
            STAGE_DIRECTORY => {
                format!("spec.identity.setup_path: its user cannot enter it: {error}")
            }
            STAGE_LIMITS => {
                format!(
                    "spec.runtime: the agent may not give these limits or this nice value: {error}"
                )
            }
            STAGE_GROUP => format!("spec.runtime: its control group cannot be joined: {error}"),
            _ => format!("/bin/sh could not be executed: {error}"),
        };
        Some(SpawnFailure { why, is_shortage })
    }
}

/// Creates the child, which blocks before its exec.
pub(crate) fn spawn(launch: &Launch<'_>) -> io::Result<BlockedChild> {
    let (release_read, release_write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let (complaints_read, complaints_write) = rustix::pipe::pipe_with(
        rustix::pipe::PipeFlags::CLOEXEC | rustix::pipe::PipeFlags::NONBLOCK,
    )?;
    let input = rustix::fs::open(
        "/dev/null",
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )?;
    let descriptors = ChildDescriptors {
        input: input.as_raw_fd(),
        output: launch.output.as_raw_fd(),
        release_pipe: release_read.as_raw_fd(),
        failure_pipe: complaints_write.as_raw_fd(),
        agents_release: release_write.as_raw_fd(),
    };
    let command = Box::new(PreparedCommand::of(launch, descriptors)?);
    let group = launch.groups.group.as_ref();
    let directory = group.map(|entry| entry.directory.as_raw_fd());
    let (pid, was_made_in_group) = match shared_memory::spawn(command, directory) {
        Ok(made) => (made.pid, made.is_in_group),
        Err(mut command) => fork(&mut command, directory)?,
    };
    let can_join = |entry: &GroupEntry| entry.add(pid).is_ok();
    let is_in_group = was_made_in_group || group.is_some_and(can_join);
    // Close the child's ends of the pipes in the parent.
    drop((release_read, complaints_write));
    let pidfd = Pid::from_raw(pid)
        .ok_or_else(|| io::Error::other("fork gave no pid"))
        .and_then(|pid| {
            kernel::require_pidfds()?;
            Ok(rustix::process::pidfd_open(pid, PidfdFlags::empty())?)
        });
    let stat = Stat::find(pid)?.ok_or_else(|| io::Error::other("the child is not in /proc"))?;
    Ok(BlockedChild {
        run: stat.run(),
        is_in_group,
        pidfd,
        release_pipe: release_write,
        failure_pipe: complaints_read,
    })
}

/// The child's pid, and whether it was created in its control group.
fn fork(command: &mut PreparedCommand, group: Option<RawFd>) -> io::Result<(i32, bool)> {
    // SAFETY: all-zero is a valid signal set, and both are filled before they are used. With every signal blocked no
    // handler of ours can run in the child before it has reset them. The child only makes async-signal-safe calls on
    // data that was made before the fork, and never returns.
    unsafe {
        let mut every: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut every);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const every, &raw mut before);
        let into_group = match (group, kernel::calls().clone3) {
            (Some(directory), true) => clone_into(directory),
            (Some(_) | None, _) => -1,
        };
        let pid = match into_group {
            // No group, a kernel before 5.7, or a group that refuses it.
            -1 => libc::fork(),
            pid => pid,
        };
        if pid == 0 {
            become_command(command);
        }
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        match pid {
            -1 => Err(error),
            pid => Ok((pid, into_group > 0)),
        }
    }
}

/// Forks into a control group by a raw system call: the C library has no function for it.
///
/// # Safety
/// As for fork, with one more duty: in the child the C library still assumes its parent's threads, so the child may call
/// nothing that talks to threads (as `setuid` does).
unsafe fn clone_into(group: RawFd) -> i32 {
    // SAFETY: all-zero is a valid `clone_args`, whose size is passed; without CLONE_VM the child has its own memory.
    unsafe {
        let mut arguments: libc::clone_args = std::mem::zeroed();
        arguments.flags = CLONE_INTO_CGROUP;
        arguments.exit_signal = libc::SIGCHLD as u64;
        arguments.cgroup = group as u64;
        let size = size_of::<libc::clone_args>();
        libc::syscall(libc::SYS_clone3, &raw mut arguments, size) as i32
    }
}

/// Makes this process the subreaper of its descendants, and raises its limit of open files.
pub(crate) fn prepare_agent_process() {
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        tracing::warn!(%error, "cannot become subreaper: exit codes of daemons will not be seen");
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = rustix::process::Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        };
        if let Err(error) = rustix::process::setrlimit(rustix::process::Resource::Nofile, raised) {
            tracing::warn!(%error, "cannot raise the limit of open files");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use model::spec::Runtime;

    use super::*;
    use crate::os::cgroup::CommandGroups;
    use crate::os::user;

    const SHARED_AT_ONCE: usize = 4;

    fn blocked_child() -> BlockedChild {
        let user = user::find(&user::name_of(rustix::process::geteuid().as_raw())).unwrap();
        let output = OwnedFd::from(File::create("/dev/null").unwrap());
        spawn(&Launch {
            command: "exit 7",
            directory: "/",
            user: &user,
            environment: &[],
            runtime: &Runtime::default(),
            output: &output,
            groups: &CommandGroups::default(),
        })
        .unwrap()
    }

    fn shares_our_memory(child: &BlockedChild) -> bool {
        const KCMP_VM: libc::c_int = 1;
        // SAFETY: compares two processes by number.
        let order =
            unsafe { libc::syscall(libc::SYS_kcmp, libc::getpid(), child.run.pid, KCMP_VM) };
        assert!(order >= 0, "{}", io::Error::last_os_error());
        order == 0
    }

    fn exit_of(pid: i32) -> libc::c_int {
        let mut status = 0;
        // SAFETY: waits for a child of ours and writes to `status`.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        assert!(libc::WIFEXITED(status), "{status:#x}");
        libc::WEXITSTATUS(status)
    }

    #[test]
    fn some_children_share_the_memory_and_more_are_forked() {
        let can_share = cfg!(target_arch = "x86_64") && kernel::calls().clone3;
        // A second time with the same threads.
        for _ in 0..2 {
            let children: Vec<BlockedChild> =
                (0..SHARED_AT_ONCE + 2).map(|_| blocked_child()).collect();
            let sharing = children
                .iter()
                .filter(|child| shares_our_memory(child))
                .count();
            assert_eq!(sharing, if can_share { SHARED_AT_ONCE } else { 0 });
            for (index, child) in children.into_iter().enumerate() {
                let pid = child.run.pid;
                let expected = match index % 2 {
                    0 => {
                        drop(child.release());
                        7
                    }
                    _ => {
                        drop(child);
                        126
                    }
                };
                assert_eq!(exit_of(pid), expected);
            }
            shared_memory::wait_until_idle();
        }
    }
}
