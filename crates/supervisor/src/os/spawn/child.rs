//! What a new child does up to its exec. It may share the agent's memory until then ([`super::shared_memory`]), so it only
//! makes system calls, on data that was prepared before.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::RawFd;

use super::Launch;
use crate::os::direct;
use crate::os::inherited::{close_inherited, max_files};
use crate::os::limits::Limits;
use crate::os::user;

const UMASK: libc::mode_t = 0o022;
/// The exit code of a child that executed nothing.
const NOT_EXECUTED: i32 = 126;
const SHELL: &CStr = c"/bin/sh";

/// At which step a child failed, as it reports to the agent.
pub(super) const STAGE_USER: i32 = 1;
pub(super) const STAGE_DIRECTORY: i32 = 2;
pub(super) const STAGE_EXEC: i32 = 3;
pub(super) const STAGE_LIMITS: i32 = 4;
pub(super) const STAGE_GROUP: i32 = 5;
pub(super) const STAGE_DESCRIPTORS: i32 = 6;

/// Everything that the child needs, prepared before it is made: it may not allocate. Its pointers lead into its own texts.
pub(super) struct PreparedCommand {
    _texts: Vec<CString>,
    argv: [*const libc::c_char; 4],
    envp: Vec<*const libc::c_char>,
    /// Arguments and environment of the program itself, if no shell is needed; the environment has room for one more.
    direct: Option<(Vec<*const libc::c_char>, Vec<*const libc::c_char>)>,
    directory: CString,
    switch: Option<(u32, u32, Vec<u32>)>,
    limits: Limits,
    umask: libc::mode_t,
    joins: Vec<CString>,
    descriptors: ChildDescriptors,
    /// The agent's limit of open files.
    max_files: RawFd,
}

/// The descriptors of the agent that its child inherits.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChildDescriptors {
    pub(super) input: RawFd,
    pub(super) output: RawFd,
    /// The child's ends of both pipes.
    pub(super) release_pipe: RawFd,
    pub(super) failure_pipe: RawFd,
    /// The agent's end of the first, which the child closes.
    pub(super) agents_release: RawFd,
}

impl PreparedCommand {
    pub(super) fn of(launch: &Launch<'_>, descriptors: ChildDescriptors) -> io::Result<Self> {
        let command = text(launch.command)?;
        let entries = launch.environment.iter();
        let environment: Vec<CString> = entries
            .map(|entry| text(entry))
            .collect::<io::Result<_>>()?;
        let words = direct::words(launch.command);
        let has_pwd = launch.environment.iter().any(|e| e.starts_with("PWD="));
        let mut prepared = Self {
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
            switch: user::is_root().then(|| {
                let user = launch.user;
                (user.uid, user.gid, user.groups.clone())
            }),
            limits: Limits::prepare(launch.runtime),
            umask: launch.runtime.umask.unwrap_or(UMASK),
            joins: launch.groups.joins.clone(),
            descriptors,
            max_files: max_files(),
            _texts: environment,
        };
        // Moving a CString does not move its bytes.
        prepared._texts.push(command);
        prepared._texts.extend(words.into_iter().flatten());
        Ok(prepared)
    }
}

fn text(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(|_| io::Error::other("it holds a NUL byte"))
}

/// Where these texts are, with so many null pointers behind them.
fn pointers(texts: &[CString], n_ends: usize) -> Vec<*const libc::c_char> {
    let ends = std::iter::repeat_n(std::ptr::null(), n_ends);
    texts.iter().map(|text| text.as_ptr()).chain(ends).collect()
}

/// Everything that the child does up to the exec.
///
/// # Safety
/// Only in a new child, with every signal blocked: it takes over the whole process.
pub(super) unsafe fn become_command(prepared: &mut PreparedCommand) -> ! {
    // SAFETY: plain system calls on numbers and on memory that the parent prepared; none allocates or takes a lock.
    unsafe {
        let descriptors = prepared.descriptors;
        libc::close(descriptors.agents_release);
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
        if libc::dup2(descriptors.input, 0) < 0
            || libc::dup2(descriptors.output, 1) < 0
            || libc::dup2(descriptors.output, 2) < 0
        {
            report_failure_to(descriptors.failure_pipe, STAGE_DESCRIPTORS);
        }
        for fd in [descriptors.input, descriptors.output] {
            if fd > 2 {
                libc::close(fd);
            }
        }
        let high = |fd| libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 5);
        let (release_pipe, failure_pipe) = (
            high(descriptors.release_pipe),
            high(descriptors.failure_pipe),
        );
        if release_pipe < 0 || failure_pipe < 0 {
            report_failure_to(descriptors.failure_pipe, STAGE_DESCRIPTORS);
        }
        if libc::dup3(release_pipe, 3, libc::O_CLOEXEC) < 0
            || libc::dup3(failure_pipe, 4, libc::O_CLOEXEC) < 0
        {
            report_failure_to(failure_pipe, STAGE_DESCRIPTORS);
        }
        for fd in [
            release_pipe,
            failure_pipe,
            descriptors.release_pipe,
            descriptors.failure_pipe,
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
            if !join(procs.as_ptr()) {
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
