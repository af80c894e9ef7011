//! Threads that make children which share the agent's memory until they execute, as `vfork` does.
//!
//! A fork copies the page tables of the agent and makes each page that it writes afterwards a copy; a child that shares its
//! memory costs neither, however much memory the agent has. The kernel stops the thread that made it until the child has
//! executed or ended. The agent's own thread cannot be stopped so: the child waits for it to journal its pid. A thread here
//! makes the child and is stopped instead.
//!
//! The stopped thread lends its child what a thread has for itself in the C library, such as `errno`. The kernel gives the
//! child an OOM score of its own, which it does not for one that shares memory while its parent runs on. A child that has
//! become another user still has the agent's memory before its exec: the kernel makes that memory undumpable at the switch,
//! and so no process of that user can trace the child.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::CLONE_INTO_CGROUP;
use super::child::{PreparedCommand, become_command};
use crate::os::kernel;

/// How many children may be on their way to their exec. More are forked.
const MAX_THREADS: usize = 4;
/// The child makes system calls only; a path of its folder is the longest thing on its stack.
const CHILD_STACK: usize = 64 * 1024;
const THREAD_STACK: usize = 64 * 1024;

/// The thread waits for a command.
const IDLE: u32 = 0;
/// It has a command.
const ASKED: u32 = 1;
/// Its child lives and has not executed yet.
const MADE: u32 = 2;
/// No child could be made.
const FAILED: u32 = 3;

/// A thread that makes children, and what it shares with the agent's thread and with its child.
#[derive(Debug)]
struct SpawnThread {
    /// One of the above; a futex.
    state: AtomicU32,
    /// The last command, which lives on until the next one: the thread frees no memory, because it would get a heap for that.
    command: AtomicPtr<PreparedCommand>,
    /// The control group for the child; -1 for none.
    group: AtomicI32,
    is_in_group: AtomicBool,
    /// The child's pid: the kernel writes it before the child begins.
    pid: AtomicI32,
}

/// All of this program. They never end.
static THREADS: Mutex<Vec<Arc<SpawnThread>>> = Mutex::new(Vec::new());

/// A child that shares the agent's memory.
#[derive(Debug)]
pub(super) struct MadeChild {
    pub(super) pid: i32,
    pub(super) is_in_group: bool,
}

/// Makes a child that executes the command; gives the command back where that is not possible here or now.
pub(super) fn spawn(
    command: Box<PreparedCommand>,
    group: Option<RawFd>,
) -> Result<MadeChild, Box<PreparedCommand>> {
    if !cfg!(target_arch = "x86_64") || !kernel::calls().clone3 {
        return Err(command);
    }
    let Ok(mut threads) = THREADS.lock() else {
        return Err(command);
    };
    let idle = threads.iter().find(|thread| thread.is_idle()).cloned();
    let thread = match idle {
        Some(thread) => thread,
        None if threads.len() >= MAX_THREADS => return Err(command),
        None => match SpawnThread::start() {
            Ok(thread) => {
                threads.push(Arc::clone(&thread));
                thread
            }
            Err(error) => {
                tracing::debug!(%error, "no thread for new children: forking");
                return Err(command);
            }
        },
    };
    thread.make(command, group)
}

#[cfg(test)]
pub(super) fn wait_until_idle() {
    let threads = THREADS.lock().expect("no thread panics with this lock");
    while !threads.iter().all(|thread| thread.is_idle()) {
        std::thread::yield_now();
    }
}

impl SpawnThread {
    fn start() -> io::Result<Arc<Self>> {
        let thread = Arc::new(Self {
            state: AtomicU32::new(IDLE),
            command: AtomicPtr::new(std::ptr::null_mut()),
            group: AtomicI32::new(-1),
            is_in_group: AtomicBool::new(false),
            pid: AtomicI32::new(0),
        });
        let builder = std::thread::Builder::new()
            .name("spawn".to_owned())
            .stack_size(THREAD_STACK);
        let its_own = Arc::clone(&thread);
        let mut stack = ChildStack::new();
        builder.spawn(move || its_own.run(&mut stack))?;
        Ok(thread)
    }

    fn is_idle(&self) -> bool {
        self.state.load(Ordering::Acquire) == IDLE
    }

    /// Has an idle thread make a child. Only one caller at a time.
    fn make(
        &self,
        command: Box<PreparedCommand>,
        group: Option<RawFd>,
    ) -> Result<MadeChild, Box<PreparedCommand>> {
        self.group.store(group.unwrap_or(-1), Ordering::Relaxed);
        drop(self.replace_command(Box::into_raw(command)));
        self.set(ASKED);
        loop {
            match self.state.load(Ordering::Acquire) {
                ASKED => self.wait_while(ASKED),
                FAILED => {
                    let command = self.replace_command(std::ptr::null_mut());
                    self.set(IDLE);
                    return Err(command.expect("the command was stored above"));
                }
                // It lives, or has executed or ended already.
                _ => {
                    return Ok(MadeChild {
                        pid: self.pid.load(Ordering::Relaxed),
                        is_in_group: self.is_in_group.load(Ordering::Relaxed),
                    });
                }
            }
        }
    }

    fn replace_command(&self, new: *mut PreparedCommand) -> Option<Box<PreparedCommand>> {
        let old = self.command.swap(new, Ordering::AcqRel);
        // SAFETY: a pointer in this place came from `Box::into_raw` and is taken out once, while the thread is idle and so has
        // no child that uses it.
        (!old.is_null()).then(|| unsafe { Box::from_raw(old) })
    }

    fn run(&self, stack: &mut ChildStack) {
        block_signals();
        loop {
            let state = self.state.load(Ordering::Acquire);
            if state != ASKED {
                self.wait_while(state);
                continue;
            }
            let group = self.group.load(Ordering::Relaxed);
            self.is_in_group.store(group >= 0, Ordering::Relaxed);
            let mut is_made = self.clone_child(stack, group);
            // A group may refuse it.
            if !is_made && group >= 0 {
                self.is_in_group.store(false, Ordering::Relaxed);
                is_made = self.clone_child(stack, -1);
            }
            self.set(if is_made { IDLE } else { FAILED });
        }
    }

    /// Returns when the child has executed its command or has ended; false if there is none.
    fn clone_child(&self, stack: &mut ChildStack, group: RawFd) -> bool {
        // SAFETY: all-zero is a valid `clone_args`. The child runs on `stack`, which nothing else uses while this thread is
        // stopped, with every signal blocked. It makes system calls on the command, which stays as it is meanwhile.
        unsafe {
            let mut arguments: libc::clone_args = std::mem::zeroed();
            arguments.flags =
                (libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PARENT_SETTID) as u64;
            arguments.exit_signal = libc::SIGCHLD as u64;
            arguments.parent_tid = self.pid.as_ptr() as u64;
            arguments.stack = stack.0.as_mut_ptr() as u64;
            arguments.stack_size = size_of_val(&*stack.0) as u64;
            if group >= 0 {
                arguments.flags |= CLONE_INTO_CGROUP;
                arguments.cgroup = group as u64;
            }
            clone_onto_stack(&arguments, begin_child, std::ptr::from_ref(self).cast()) > 0
        }
    }

    fn set(&self, state: u32) {
        self.state.store(state, Ordering::Release);
        // SAFETY: wakes threads that wait on this word, which lives as long as the call.
        unsafe {
            let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
            libc::syscall(libc::SYS_futex, self.state.as_ptr(), wake, i32::MAX);
        }
    }

    /// Waits until the state may be another.
    fn wait_while(&self, state: u32) {
        // SAFETY: waits on this word, which lives as long as the call, without a timeout.
        unsafe {
            let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            let forever = std::ptr::null::<libc::timespec>();
            libc::syscall(libc::SYS_futex, self.state.as_ptr(), wait, state, forever);
        }
    }
}

/// A stack for one child at a time, aligned as the processor wants it.
struct ChildStack(Box<[MaybeUninit<u128>]>);

impl ChildStack {
    fn new() -> Self {
        Self(Box::new_uninit_slice(CHILD_STACK / size_of::<u128>()))
    }
}

/// A signal that came to the thread could run a handler in its child.
fn block_signals() {
    // SAFETY: an all-zero set is valid and filled before it is used.
    unsafe {
        let mut every: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut every);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const every, std::ptr::null_mut());
    }
}

/// The first thing that the child does: it tells the agent's thread that it is there.
///
/// # Safety
/// Only as the beginning of a child of this thread.
unsafe extern "C" fn begin_child(thread: *const libc::c_void) -> ! {
    // SAFETY: the thread outlives its child, and its command is used by this child alone.
    unsafe {
        let thread = &*thread.cast::<SpawnThread>();
        thread.set(MADE);
        become_command(&mut *thread.command.load(Ordering::Acquire))
    }
}

/// The pid of the child, which begins with `begin(data)` on the stack of the arguments; not positive if there is none.
///
/// # Safety
/// The arguments are valid for `clone3`, their stack is used by nothing else, and the child never returns.
#[cfg(target_arch = "x86_64")]
unsafe fn clone_onto_stack(
    arguments: &libc::clone_args,
    begin: unsafe extern "C" fn(*const libc::c_void) -> !,
    data: *const libc::c_void,
) -> i64 {
    let mut result = libc::SYS_clone3;
    // SAFETY: a system call; in the parent nothing but its result changes. The child has another stack, on which it calls a
    // function that does not return.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") result,
            in("rdi") std::ptr::from_ref(arguments),
            in("rsi") size_of::<libc::clone_args>(),
            in("r12") data,
            in("r13") begin,
            out("rcx") _,
            out("r11") _,
        );
    }
    result
}

/// Elsewhere children are forked.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn clone_onto_stack(
    _arguments: &libc::clone_args,
    _begin: unsafe extern "C" fn(*const libc::c_void) -> !,
    _data: *const libc::c_void,
) -> i64 {
    -i64::from(libc::ENOSYS)
}
