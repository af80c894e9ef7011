//! fork and exec by hand, because the child blocks on a pipe between the two.
//!
//! The child does everything up to the exec, and then blocks on a pipe. The parent writes the child's pid and start time
//! into the journal and only then releases it. If the parent dies first, the pipe closes and the child exits. So:
//! executed ⇔ journalled.
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

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags};

use super::cgroup::GroupEntry;
use super::inherited::{close_inherited, max_files};
use super::kernel;
pub(crate) use super::launch::Launch;
use super::limits::Limits;
use super::procfs::Stat;
use super::shortage;
use super::user::User;
use crate::machine::Run;

/// The `PATH` of commands.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const LANG: &str = "C.UTF-8";
const UMASK: libc::mode_t = 0o022;
/// From `linux/sched.h`; does not fit into the C library's type for flags.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
/// The exit code of a child that executed nothing.
const NOT_EXECUTED: i32 = 126;

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

const STAGE_USER: i32 = 1;
const STAGE_DIRECTORY: i32 = 2;
const STAGE_EXEC: i32 = 3;
const STAGE_LIMITS: i32 = 4;
const STAGE_GROUP: i32 = 5;
const STAGE_DESCRIPTORS: i32 = 6;

/// Everything that the child needs, prepared before the fork: after it, the child may not allocate.
struct Prepared {
    argv: [*const libc::c_char; 4],
    envp: Vec<*const libc::c_char>,
    /// Arguments and environment of the program itself, if no shell is needed; the environment has room for one more.
    direct: Option<(Vec<*const libc::c_char>, Vec<*const libc::c_char>)>,
    directory: CString,
    switch: Option<(u32, u32, Vec<u32>)>,
    limits: Limits,
    umask: libc::mode_t,
    group: Option<RawFd>,
    joins: Vec<*const libc::c_char>,
    input: RawFd,
    output: RawFd,
    release_pipe: RawFd,
    failure_pipe: RawFd,
    parent_release: RawFd,
    /// The agent's limit of open files.
    max_files: RawFd,
}

const SHELL: &CStr = c"/bin/sh";

/// Creates the child, which blocks before its exec.
pub(crate) fn spawn(launch: &Launch<'_>) -> io::Result<BlockedChild> {
    let command = text(launch.command)?;
    let environment: Vec<CString> = launch
        .environment
        .iter()
        .map(|entry| text(entry))
        .collect::<io::Result<_>>()?;
    let (release_read, release_write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let (complaints_read, complaints_write) = rustix::pipe::pipe_with(
        rustix::pipe::PipeFlags::CLOEXEC | rustix::pipe::PipeFlags::NONBLOCK,
    )?;
    let input = rustix::fs::open(
        "/dev/null",
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )?;
    let words = super::direct::words(launch.command);
    let has_pwd = launch.environment.iter().any(|e| e.starts_with("PWD="));
    let pointers = |texts: &[CString], n_ends: usize| -> Vec<*const libc::c_char> {
        let ends = std::iter::repeat_n(std::ptr::null(), n_ends);
        texts.iter().map(|text| text.as_ptr()).chain(ends).collect()
    };
    let mut prepared = Prepared {
        argv: [
            c"sh".as_ptr(),
            c"-c".as_ptr(),
            command.as_ptr(),
            std::ptr::null(),
        ],
        envp: pointers(&environment, 1),
        direct: words
            .as_deref()
            .filter(|_| !has_pwd)
            .map(|words| (pointers(words, 1), pointers(&environment, 2))),
        directory: text(launch.directory)?,
        switch: super::user::is_root().then(|| {
            let user = launch.user;
            (user.uid, user.gid, user.groups.clone())
        }),
        limits: Limits::prepare(launch.runtime),
        umask: launch.runtime.umask.unwrap_or(UMASK),
        group: launch
            .groups
            .group
            .as_ref()
            .map(|entry| entry.directory.as_raw_fd()),
        joins: launch
            .groups
            .joins
            .iter()
            .map(|path| path.as_ptr())
            .collect(),
        input: input.as_raw_fd(),
        output: launch.output.as_raw_fd(),
        release_pipe: release_read.as_raw_fd(),
        failure_pipe: complaints_write.as_raw_fd(),
        parent_release: release_write.as_raw_fd(),
        max_files: max_files(),
    };
    let (pid, was_made_in_group) = fork(&mut prepared)?;
    let can_join = |entry: &GroupEntry| entry.add(pid).is_ok();
    let is_in_group = was_made_in_group || launch.groups.group.as_ref().is_some_and(can_join);
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

fn text(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(|_| io::Error::other("it holds a NUL byte"))
}

/// The child's pid, and whether it was created in its control group.
fn fork(prepared: &mut Prepared) -> io::Result<(i32, bool)> {
    // SAFETY: all-zero is a valid signal set, and both are filled before they are used. With every signal blocked no
    // handler of ours can run in the child before it has reset them. The child only makes async-signal-safe calls on
    // data that was made before the fork, and never returns.
    unsafe {
        let mut every: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut every);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const every, &raw mut before);
        let into_group = match (prepared.group, kernel::calls().clone3) {
            (Some(directory), true) => clone_into(directory),
            (Some(_) | None, _) => -1,
        };
        let pid = match into_group {
            // No group, a kernel before 5.7, or a group that refuses it.
            -1 => libc::fork(),
            pid => pid,
        };
        if pid == 0 {
            become_command(prepared);
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

/// Everything that the child does from the fork to the exec.
///
/// # Safety
/// Only in a child just forked, with every signal blocked: it takes over the whole process.
unsafe fn become_command(prepared: &mut Prepared) -> ! {
    // SAFETY: plain system calls on numbers and on memory that the parent prepared; none allocates or takes a lock.
    unsafe {
        libc::close(prepared.parent_release);
        libc::setsid();
        // All zero is the default. By the raw call: the C library reserves two signals and would skip them.
        let default = [0_u64; 4];
        for signal in 1..=64 {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                std::ptr::null::<u64>(),
                size_of::<u64>(),
            );
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());

        // The agent may be at its limit of descriptors, so none is duplicated before as many are closed. Descriptors move to
        // high numbers first, so that none is overwritten before it is in place.
        if libc::dup2(prepared.input, 0) < 0
            || libc::dup2(prepared.output, 1) < 0
            || libc::dup2(prepared.output, 2) < 0
        {
            report_failure_to(prepared.failure_pipe, STAGE_DESCRIPTORS);
        }
        for fd in [prepared.input, prepared.output] {
            if fd > 2 {
                libc::close(fd);
            }
        }
        let high = |fd| libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 5);
        let (release_pipe, failure_pipe) =
            (high(prepared.release_pipe), high(prepared.failure_pipe));
        if release_pipe < 0 || failure_pipe < 0 {
            report_failure_to(prepared.failure_pipe, STAGE_DESCRIPTORS);
        }
        if libc::dup3(release_pipe, 3, libc::O_CLOEXEC) < 0
            || libc::dup3(failure_pipe, 4, libc::O_CLOEXEC) < 0
        {
            report_failure_to(failure_pipe, STAGE_DESCRIPTORS);
        }
        for fd in [
            release_pipe,
            failure_pipe,
            prepared.release_pipe,
            prepared.failure_pipe,
        ] {
            if fd > 4 {
                libc::close(fd);
            }
        }
        close_inherited(5, prepared.max_files);

        libc::umask(prepared.umask);
        if !prepared.limits.apply() {
            report_failure(STAGE_LIMITS);
        }
        for procs in &prepared.joins {
            if !join(*procs) {
                report_failure(STAGE_GROUP);
            }
        }
        let score = libc::open(
            c"/proc/self/oom_score_adj".as_ptr(),
            libc::O_WRONLY | libc::O_CLOEXEC,
        );
        if score >= 0 {
            libc::write(score, c"0".as_ptr().cast(), 1);
            libc::close(score);
        }

        if let Some((uid, gid, groups)) = &prepared.switch
            && !switch_user(*uid, *gid, groups)
        {
            report_failure(STAGE_USER);
        }
        if libc::chdir(prepared.directory.as_ptr()) != 0 {
            report_failure(STAGE_DIRECTORY);
        }
        let mut word = [0_u8; 1];
        loop {
            match libc::read(3, word.as_mut_ptr().cast(), 1) {
                1 => break,
                -1 if *libc::__errno_location() == libc::EINTR => {}
                // The parent is gone and has not journalled this child.
                _ => libc::_exit(NOT_EXECUTED),
            }
        }
        if let Some((argv, envp)) = &mut prepared.direct {
            execute(argv, envp);
        }
        libc::execve(
            SHELL.as_ptr(),
            prepared.argv.as_ptr(),
            prepared.envp.as_ptr(),
        );
        report_failure(STAGE_EXEC)
    }
}

/// Executes the program; returns if that fails.
///
/// # Safety
/// As for [`become_command`]; both lists hold texts and end with a null pointer, the second with two.
unsafe fn execute(argv: &[*const libc::c_char], envp: &mut [*const libc::c_char]) {
    const NAME: &[u8] = b"PWD=";
    let mut pwd = [0_u8; NAME.len() + libc::PATH_MAX as usize];
    let (name, path) = pwd.split_at_mut(NAME.len());
    name.copy_from_slice(NAME);
    let room = envp.len() - 2;
    // SAFETY: the kernel writes a text with its end into `path`, no more than there is room for; `pwd` outlives the call
    // that reads it.
    unsafe {
        let length = libc::syscall(libc::SYS_getcwd, path.as_mut_ptr(), path.len());
        // An unreachable directory begins with `(unreachable)`.
        if length > 0 && path[0] == b'/' {
            envp[room] = pwd.as_ptr().cast();
        }
        libc::execve(argv[0], argv.as_ptr(), envp.as_ptr());
    }
}

/// Becomes another user by raw system calls: this is the only thread, whatever the C library assumes.
///
/// # Safety
/// As for [`become_command`].
unsafe fn switch_user(uid: u32, gid: u32, groups: &[u32]) -> bool {
    // SAFETY: plain system calls on numbers and on memory that the parent prepared.
    unsafe {
        libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) == 0
            && libc::syscall(libc::SYS_setgid, gid) == 0
            && libc::syscall(libc::SYS_setuid, uid) == 0
    }
}

/// Joins a control group by its `cgroup.procs`; false when it cannot.
///
/// # Safety
/// As for [`become_command`].
unsafe fn join(procs: *const libc::c_char) -> bool {
    // SAFETY: a path that the parent prepared, and a descriptor of our own.
    unsafe {
        let group = libc::open(procs, libc::O_WRONLY | libc::O_CLOEXEC);
        // Zero stands for the writing process.
        let joined = group >= 0 && libc::write(group, c"0".as_ptr().cast(), 1) == 1;
        let error = *libc::__errno_location();
        libc::close(group);
        *libc::__errno_location() = error;
        joined
    }
}

/// # Safety
/// As for [`become_command`]; descriptor 4 leads to the parent.
unsafe fn report_failure(stage: i32) -> ! {
    // SAFETY: as the caller says.
    unsafe { report_failure_to(4, stage) }
}

/// # Safety
/// As for [`become_command`]; `complaints` leads to the parent.
unsafe fn report_failure_to(failure_pipe: RawFd, stage: i32) -> ! {
    // SAFETY: writes eight bytes of the stack to a pipe of ours and ends.
    unsafe {
        let error = *libc::__errno_location();
        let report = [stage, error];
        libc::write(failure_pipe, report.as_ptr().cast(), 8);
        libc::_exit(NOT_EXECUTED)
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
