//! Runs a program as on an older kernel, or under a strict container: a seccomp filter takes system calls away.
//!
//! The filter stays with the program and everything that it starts. Run by `restricted` (`src/bin/restricted.rs`), which
//! nextest takes as its target runner, so that whole suites run a second time under it (`scripts/test`). Needs root: any
//! other user would have to give up set-user-id programs for it.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::io;
use std::str::FromStr;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// What the kernel refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restriction {
    /// Linux 3.10, the kernel of CentOS 7: every system call that is newer does not exist.
    OldKernel,
    /// A container whose filter does not know pidfds: they are not permitted.
    PidfdRefused,
}

impl Restriction {
    pub const ALL: [Self; 2] = [Self::OldKernel, Self::PidfdRefused];

    pub fn name(self) -> &'static str {
        match self {
            Self::OldKernel => "old-kernel",
            Self::PidfdRefused => "pidfd-refused",
        }
    }

    /// The system calls that fail, and how.
    fn calls(self) -> (Vec<i64>, i32) {
        match self {
            Self::OldKernel => {
                // Numbers are given in order: 3.15 brought `renameat2`, 5.1 went on with 424.
                let newer = (libc::SYS_renameat2..=libc::SYS_rseq)
                    .chain(libc::SYS_pidfd_send_signal..=LAST_CALL);
                (newer.collect(), libc::ENOSYS)
            }
            Self::PidfdRefused => {
                let calls = [libc::SYS_pidfd_open, libc::SYS_pidfd_send_signal];
                (calls.to_vec(), libc::EPERM)
            }
        }
    }

    /// Restricts this process and what it starts, for good.
    pub fn apply(self) -> io::Result<()> {
        let (calls, errno) = self.calls();
        // No rule: whatever the arguments are.
        let rules: BTreeMap<i64, _> = calls.into_iter().map(|call| (call, Vec::new())).collect();
        let architecture = std::env::consts::ARCH
            .try_into()
            .map_err(io::Error::other)?;
        let refused = SeccompAction::Errno(errno as u32);
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture);
        let steps: BpfProgram = filter
            .and_then(TryInto::try_into)
            .map_err(io::Error::other)?;
        install(&steps)
    }
}

/// `seccompiler::apply_filter` would also forbid set-user-id programs.
fn install(steps: &BpfProgram) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_ptr().cast_mut().cast(),
    };
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: the kernel copies the steps, whose number is passed, and writes nothing. Both types of a step are the kernel's.
    match unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// More than the newest kernel has.
const LAST_CALL: i64 = 500;

impl FromStr for Restriction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|all| all.name() == text);
        found.ok_or_else(|| format!("{text:?} is no restriction"))
    }
}
