//! Which system calls of newer kernels this one answers. Found out once: an old kernel does not know them, and the filter of
//! a container may refuse them.
#![allow(unsafe_code)]

use std::io;
use std::sync::OnceLock;

use model::kernel::{KernelFeature, KernelFeatures};
use rustix::process::{PidfdFlags, getpid, pidfd_open};

use super::cgroup;
use crate::ControlGroups;

/// Whether the kernel answers each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KernelCalls {
    pub(crate) pidfd_open: bool,
    pub(crate) pidfd_send_signal: bool,
    pub(crate) clone3: bool,
    pub(crate) close_range: bool,
}

pub(crate) fn calls() -> KernelCalls {
    static CALLS: OnceLock<KernelCalls> = OnceLock::new();
    *CALLS.get_or_init(KernelCalls::find)
}

/// What this host lacks for an agent with these settings.
pub fn missing_features(control_groups: ControlGroups) -> KernelFeatures {
    let calls = calls().missing();
    calls
        .iter()
        .chain(cgroup::missing(control_groups).iter())
        .collect()
}

/// An error where no pidfd can be opened, whatever the agent has left.
pub(crate) fn require_pidfds() -> io::Result<()> {
    match calls().pidfd_open {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::ENOSYS)),
    }
}

impl KernelCalls {
    fn find() -> Self {
        let pidfd = pidfd_open(getpid(), PidfdFlags::empty());
        let pidfd_open = pidfd
            .as_ref()
            .map_or_else(|error| is_there(&(*error).into()), |_| true);
        // SAFETY: none of these calls does anything. Signal 0 is none, and -1 no descriptor. `clone3` refuses arguments of
        // length 0 before it reads them, and there are no descriptors in the range.
        unsafe {
            let none = std::ptr::null::<libc::c_void>();
            Self {
                pidfd_open,
                pidfd_send_signal: answers(libc::syscall(
                    libc::SYS_pidfd_send_signal,
                    -1,
                    0,
                    none,
                    0,
                )),
                clone3: answers(libc::syscall(libc::SYS_clone3, none, 0)),
                close_range: answers(libc::syscall(
                    libc::SYS_close_range,
                    u32::MAX,
                    u32::MAX,
                    0_u32,
                )),
            }
        }
    }

    pub(crate) fn missing(self) -> KernelFeatures {
        let calls = [
            (self.pidfd_open, KernelFeature::PidfdOpen),
            (self.pidfd_send_signal, KernelFeature::PidfdSendSignal),
            (self.clone3, KernelFeature::Clone3),
            (self.close_range, KernelFeature::CloseRange),
        ];
        let missing = calls.into_iter().filter(|(is_there, _)| !is_there);
        missing.map(|(_, feature)| feature).collect()
    }
}

fn answers(result: libc::c_long) -> bool {
    result >= 0 || is_there(&io::Error::last_os_error())
}

/// Any other error is about the arguments, or about a shortage.
fn is_there(error: &io::Error) -> bool {
    !matches!(
        error.raw_os_error(),
        Some(libc::ENOSYS | libc::EPERM | libc::EACCES)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_is_no_missing_call() {
        for (number, expected) in [
            (libc::ENOSYS, false),
            (libc::EPERM, false),
            (libc::EACCES, false),
            (libc::EMFILE, true),
            (libc::ENOMEM, true),
            (libc::EBADF, true),
            (libc::EINVAL, true),
        ] {
            let error = io::Error::from_raw_os_error(number);
            assert_eq!(is_there(&error), expected, "{error}");
        }
    }

    #[test]
    fn what_is_missing_fails_when_it_is_called() {
        let opened = pidfd_open(getpid(), PidfdFlags::empty());
        assert_eq!(calls().pidfd_open, opened.is_ok());
        let missing = calls().missing();
        assert_eq!(
            missing.contains(KernelFeature::PidfdOpen),
            opened.is_err(),
            "{missing:?}"
        );
    }
}
