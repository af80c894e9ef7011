//! What the agent does to its own process: blocks SIGHUP during an `execve`, and returns freed memory.
#![allow(unsafe_code)]

/// Blocks SIGHUP for this thread and for those that it starts, also through an `execve`: none is lost before the new
/// program handles it.
pub fn hold_hangups() {
    mask_hangups(libc::SIG_BLOCK);
}

/// Unblocks SIGHUP for this thread; a pending one is delivered.
pub fn take_hangups() {
    mask_hangups(libc::SIG_UNBLOCK);
}

fn mask_hangups(how: libc::c_int) {
    // SAFETY: all-zero is a valid signal set, and it is filled before it is used; the call cannot fail with a `how` of
    // ours, and keeps no pointer.
    unsafe {
        let mut hangup: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut hangup);
        libc::sigaddset(&raw mut hangup, libc::SIGHUP);
        libc::pthread_sigmask(how, &raw const hangup, std::ptr::null_mut());
    }
}

/// Returns freed memory that the allocator keeps to the host.
pub fn give_memory_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes the allocator's own locks and touches free memory only.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hangups_wait() -> bool {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
        let blocked = u64::from_str_radix(blocked.unwrap().trim(), 16).unwrap();
        blocked & 1 == 1
    }

    #[test]
    fn hangups_are_held_and_taken() {
        hold_hangups();
        assert!(hangups_wait());
        assert!(std::thread::spawn(hangups_wait).join().unwrap());
        take_hangups();
        assert!(!hangups_wait());
    }
}
