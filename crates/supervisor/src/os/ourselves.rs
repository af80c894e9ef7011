//! What the agent does to its own process: blocks SIGHUP during an `execve`, and returns memory.
#![allow(unsafe_code)]

use std::ffi::c_void;

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

/// Unmaps the program's code and constants, so that what only the start needed no longer counts as its memory. What is used
/// again is mapped again, mostly from the page cache.
pub fn give_code_back() {
    // SAFETY: the callback fits, and gets no data.
    unsafe { libc::dl_iterate_phdr(Some(unmap_code), std::ptr::null_mut()) };
}

/// Ends the iteration with the first object, which is the program.
unsafe extern "C" fn unmap_code(
    program: *mut libc::dl_phdr_info,
    _size: usize,
    _data: *mut c_void,
) -> libc::c_int {
    let page = rustix::param::page_size();
    // SAFETY: the C library passes a valid object. A segment that is not writable equals its file: position-independent code has
    // no relocations there. Only whole pages of it are unmapped.
    unsafe {
        let program = &*program;
        let headers = std::slice::from_raw_parts(program.dlpi_phdr, program.dlpi_phnum.into());
        for header in headers {
            if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W == 0 {
                let begin = (program.dlpi_addr + header.p_vaddr) as usize;
                let end = (begin + header.p_memsz as usize) / page * page;
                let begin = begin.next_multiple_of(page);
                let length = end.saturating_sub(begin);
                libc::madvise(begin as *mut c_void, length, libc::MADV_DONTNEED);
            }
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of files that are mapped here.
    fn mapped_pages() -> u64 {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(2).unwrap().parse().unwrap()
    }

    #[test]
    fn code_that_is_not_used_again_takes_no_memory() {
        let before = mapped_pages();
        give_code_back();
        let after = mapped_pages();
        assert!(after < before, "{before} {after}");
    }

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
