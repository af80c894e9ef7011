//! fork and exec, by hand, because between the two stands a gate.
//!
//! The child is made, does everything up to the exec, and then waits on a pipe. The parent writes the child's pid and
//! start time into the journal and only then opens the gate. If the parent dies first, the pipe ends and so does the
//! child. So: executed ⇔ journalled.
//!
//! Where it has a control group it is made in it (`CLONE_INTO_CGROUP`): joining one takes milliseconds, and a lock that
//! every fork on the host needs.
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
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use model::spec::Runtime;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags};

use super::cgroup::Entrances;
use super::limits::Limits;
use super::procfs::Stat;
use super::shortage;
use super::user::User;
use crate::machine::Run;

/// Where commands are looked for, and what they get as `PATH`.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const LANG: &str = "C.UTF-8";
const UMASK: libc::mode_t = 0o022;
/// Of `linux/sched.h`; does not fit into the C library's type for flags.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
/// How a child that was not executed ends.
const NOT_EXECUTED: i32 = 126;

/// What to run.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) command: &'a str,
    pub(crate) directory: &'a str,
    pub(crate) user: &'a User,
    pub(crate) environment: &'a [String],
    /// Its limits, umask and nice value.
    pub(crate) runtime: &'a Runtime,
    /// Both output streams.
    pub(crate) output: &'a OwnedFd,
    /// The control groups that it is in.
    pub(crate) groups: &'a Entrances,
}

/// The whole environment of a command of this user: HOME, USER, LOGNAME, SHELL, PATH, LANG, and the `mark`, which is
/// MUSTER_NAMESPACE, MUSTER_NAME and MUSTER_AGENT (tells the processes of two agents on one machine apart). What the spec
/// gives comes on top: it may replace any but the mark.
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

/// A child that waits at its gate. Dropped, it ends without having executed anything.
#[derive(Debug)]
pub(crate) struct Gated {
    pub(crate) run: Run,
    /// It was made in its control group. Otherwise it may have joined it, if it has one.
    pub(crate) was_made_in_group: bool,
    pidfd: io::Result<OwnedFd>,
    gate: OwnedFd,
    complaints: OwnedFd,
}

/// A child that was let go.
#[derive(Debug)]
pub(crate) struct Child {
    /// Without one it is watched all the same.
    pub(crate) pidfd: io::Result<OwnedFd>,
    pub(crate) complaints: Complaints,
}

/// Where a child says that it could not become its command.
#[derive(Debug)]
pub(crate) struct Complaints(OwnedFd);

impl Gated {
    /// Lets it execute.
    pub(crate) fn open(self) -> Child {
        // A child that died at the gate is told like any other end.
        let _ = rustix::io::write(&self.gate, b"g");
        Child {
            pidfd: self.pidfd,
            complaints: Complaints(self.complaints),
        }
    }
}

/// Why a child could not become its command.
#[derive(Debug)]
pub(crate) struct Complaint {
    pub(crate) why: String,
    /// The agent or the host lacked something; it is not the fault of the process.
    pub(crate) is_shortage: bool,
}

impl Complaints {
    /// Whether the child became its command: nobody else has the other end of the pipe, which `exec` closes.
    pub(crate) fn are_over(&self) -> bool {
        let mut pipe = [PollFd::new(&self.0, PollFlags::IN)];
        let polled = poll(&mut pipe, Some(&Timespec::default()));
        polled.is_ok() && pipe[0].revents() == PollFlags::HUP
    }

    /// Why it was not executed, once the child is gone.
    pub(crate) fn read(&self) -> Option<Complaint> {
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
            // From its limits on, how many files and processes it may have is up to its spec and its user.
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
        Some(Complaint { why, is_shortage })
    }
}

const STAGE_USER: i32 = 1;
const STAGE_DIRECTORY: i32 = 2;
const STAGE_EXEC: i32 = 3;
const STAGE_LIMITS: i32 = 4;
const STAGE_GROUP: i32 = 5;
const STAGE_DESCRIPTORS: i32 = 6;

/// Everything that the child needs, made before the fork: after it, it may not allocate.
struct Prepared {
    argv: [*const libc::c_char; 4],
    envp: Vec<*const libc::c_char>,
    /// Arguments and environment of the program alone, where no shell is needed; the latter has room for one more.
    direct: Option<(Vec<*const libc::c_char>, Vec<*const libc::c_char>)>,
    directory: CString,
    switch: Option<(u32, u32, Vec<u32>)>,
    limits: Limits,
    umask: libc::mode_t,
    /// Joined if the kernel makes no process within a group; without success, if need be.
    group: Option<(RawFd, *const libc::c_char)>,
    joins: Vec<*const libc::c_char>,
    input: RawFd,
    output: RawFd,
    gate: RawFd,
    complaints: RawFd,
    parent_gate: RawFd,
}

const SHELL: &CStr = c"/bin/sh";

/// Makes the child. It waits at the gate.
pub(crate) fn spawn(launch: &Launch<'_>) -> io::Result<Gated> {
    let command = text(launch.command)?;
    let environment: Vec<CString> = launch
        .environment
        .iter()
        .map(|entry| text(entry))
        .collect::<io::Result<_>>()?;
    let (gate_read, gate_write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
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
        group: launch.groups.group.as_ref().map(|entrance| {
            let directory = entrance.directory.as_raw_fd();
            (directory, entrance.procs.as_ptr())
        }),
        joins: launch
            .groups
            .joins
            .iter()
            .map(|path| path.as_ptr())
            .collect(),
        input: input.as_raw_fd(),
        output: launch.output.as_raw_fd(),
        gate: gate_read.as_raw_fd(),
        complaints: complaints_write.as_raw_fd(),
        parent_gate: gate_write.as_raw_fd(),
    };
    let (pid, was_made_in_group) = fork(&mut prepared)?;
    // Only the child's ends are in the child now.
    drop((gate_read, complaints_write));
    let pidfd = Pid::from_raw(pid)
        .ok_or_else(|| io::Error::other("fork gave no pid"))
        .and_then(|pid| Ok(rustix::process::pidfd_open(pid, PidfdFlags::empty())?));
    let stat = Stat::find(pid)?.ok_or_else(|| io::Error::other("the child is not in /proc"))?;
    Ok(Gated {
        run: stat.run(),
        was_made_in_group,
        pidfd,
        gate: gate_write,
        complaints: complaints_read,
    })
}

fn text(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(|_| io::Error::other("it holds a NUL byte"))
}

/// The child, and whether it was made in its control group.
fn fork(prepared: &mut Prepared) -> io::Result<(i32, bool)> {
    // SAFETY: all-zero is a valid signal set, and both are filled before they are used. With every signal blocked no
    // handler of ours can run in the child before it has reset them. The child only makes async-signal-safe calls on
    // data that was made before the fork, and never returns.
    unsafe {
        let mut every: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut every);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const every, &raw mut before);
        let into_group = prepared
            .group
            .map_or(-1, |(directory, _)| clone_into(directory));
        let pid = match into_group {
            // No group, or a kernel before 5.7, or one that may not be used so.
            -1 => libc::fork(),
            pid => pid,
        };
        if pid == 0 {
            become_command(prepared, into_group == 0);
        }
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        match pid {
            -1 => Err(error),
            pid => Ok((pid, into_group > 0)),
        }
    }
}

/// A fork into a control group, by the kernel's hand alone: the C library has no word for it.
///
/// # Safety
/// As for fork, with one more duty: the C library still believes in the child that its parent's threads are there, so the
/// child may call nothing that speaks to threads (as `setuid` does).
unsafe fn clone_into(group: RawFd) -> i32 {
    // SAFETY: all-zero is a valid `clone_args`, whose size is told; without CLONE_VM the child has a memory of its own.
    unsafe {
        let mut arguments: libc::clone_args = std::mem::zeroed();
        arguments.flags = CLONE_INTO_CGROUP;
        arguments.exit_signal = libc::SIGCHLD as u64;
        arguments.cgroup = group as u64;
        let size = size_of::<libc::clone_args>();
        libc::syscall(libc::SYS_clone3, &raw mut arguments, size) as i32
    }
}

/// The child's way from the fork to the exec.
///
/// # Safety
/// Only in a child just forked, with every signal blocked: it takes over the whole process.
unsafe fn become_command(prepared: &mut Prepared, is_in_group: bool) -> ! {
    // SAFETY: plain system calls on numbers and on memory that the parent prepared; none allocates or takes a lock.
    unsafe {
        libc::close(prepared.parent_gate);
        libc::setsid();
        // All zero is the default. By the raw call: the C library keeps two signals to itself and would skip them.
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

        // The agent may be at its limit of descriptors, so none is duplicated before as many are closed. What is moved
        // goes out of the way first, so that it is not overwritten before it is in place.
        if libc::dup2(prepared.input, 0) < 0
            || libc::dup2(prepared.output, 1) < 0
            || libc::dup2(prepared.output, 2) < 0
        {
            complain_to(prepared.complaints, STAGE_DESCRIPTORS);
        }
        for fd in [prepared.input, prepared.output] {
            if fd > 2 {
                libc::close(fd);
            }
        }
        let high = |fd| libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 5);
        let (gate, complaints) = (high(prepared.gate), high(prepared.complaints));
        if gate < 0 || complaints < 0 {
            complain_to(prepared.complaints, STAGE_DESCRIPTORS);
        }
        if libc::dup3(gate, 3, libc::O_CLOEXEC) < 0
            || libc::dup3(complaints, 4, libc::O_CLOEXEC) < 0
        {
            complain_to(complaints, STAGE_DESCRIPTORS);
        }
        if libc::syscall(libc::SYS_close_range, 5_u32, u32::MAX, 0_u32) != 0 {
            for fd in 5..65_536 {
                libc::close(fd);
            }
        }

        libc::umask(prepared.umask);
        if !prepared.limits.apply() {
            complain(STAGE_LIMITS);
        }
        if let (Some((_, procs)), false) = (prepared.group, is_in_group) {
            join(procs);
        }
        for procs in &prepared.joins {
            if !join(*procs) {
                complain(STAGE_GROUP);
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
            complain(STAGE_USER);
        }
        if libc::chdir(prepared.directory.as_ptr()) != 0 {
            complain(STAGE_DIRECTORY);
        }
        let mut word = [0_u8; 1];
        loop {
            match libc::read(3, word.as_mut_ptr().cast(), 1) {
                1 => break,
                -1 if *libc::__errno_location() == libc::EINTR => {}
                // The parent is gone and has not written us down.
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
        complain(STAGE_EXEC)
    }
}

/// Becomes the program, if it can be executed.
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
        // One that is out of our reach begins otherwise.
        if length > 0 && path[0] == b'/' {
            envp[room] = pwd.as_ptr().cast();
        }
        libc::execve(argv[0], argv.as_ptr(), envp.as_ptr());
    }
}

/// Becomes another user, by the kernel's hand alone: this is the only thread there is, whatever the C library believes.
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
        // Zero is whoever writes it.
        let joined = group >= 0 && libc::write(group, c"0".as_ptr().cast(), 1) == 1;
        let error = *libc::__errno_location();
        libc::close(group);
        *libc::__errno_location() = error;
        joined
    }
}

/// # Safety
/// As for [`become_command`]; descriptor 4 leads to the parent.
unsafe fn complain(stage: i32) -> ! {
    // SAFETY: as the caller says.
    unsafe { complain_to(4, stage) }
}

/// # Safety
/// As for [`become_command`]; `complaints` leads to the parent.
unsafe fn complain_to(complaints: RawFd, stage: i32) -> ! {
    // SAFETY: writes eight bytes of the stack to a pipe of ours and ends.
    unsafe {
        let error = *libc::__errno_location();
        let report = [stage, error];
        libc::write(complaints, report.as_ptr().cast(), 8);
        libc::_exit(NOT_EXECUTED)
    }
}

/// Makes this process the one that orphans below it come to, and lets it watch as many processes as the host allows.
pub(crate) fn prepare_ourselves() {
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
