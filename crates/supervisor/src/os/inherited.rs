//! Closes the descriptors that a new child has inherited: by one call, or as `/proc` lists them on older kernels.
#![allow(unsafe_code)]

use std::os::fd::RawFd;

use rustix::process::{Resource, getrlimit};

/// The agent's limit of open files: no descriptor has a higher number, unless the limit was lowered.
pub(super) fn max_files() -> RawFd {
    let limit = getrlimit(Resource::Nofile).current;
    limit.map_or(RawFd::MAX, |limit| {
        RawFd::try_from(limit).unwrap_or(RawFd::MAX)
    })
}

/// Closes every descriptor from `first` on.
///
/// # Safety
/// Only in a child just forked, for descriptors that nothing in it uses. Makes system calls on the stack alone.
pub(super) unsafe fn close_inherited(first: RawFd, max_files: RawFd) {
    // SAFETY: as the caller says.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first as u32, u32::MAX, 0_u32) != 0
            && !close_listed(first)
        {
            for fd in first..max_files {
                libc::close(fd);
            }
        }
    }
}

/// Closes what `/proc/self/fd` lists; false where it cannot be read.
///
/// # Safety
/// As for [`close_inherited`].
unsafe fn close_listed(first: RawFd) -> bool {
    // Aligned as the kernel's entries are.
    let mut buffer = [0_u64; 512];
    // SAFETY: the kernel writes whole entries into the buffer, whose size is passed.
    unsafe {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        let list = libc::open(c"/proc/self/fd".as_ptr(), flags);
        if list < 0 {
            return false;
        }
        let is_read = loop {
            let size = size_of_val(&buffer);
            let length = libc::syscall(libc::SYS_getdents64, list, buffer.as_mut_ptr(), size);
            let Ok(length) = usize::try_from(length) else {
                break false;
            };
            if length == 0 {
                break true;
            }
            let bytes = std::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), length.min(size));
            for fd in Entries(bytes) {
                if fd >= first && fd != list {
                    libc::close(fd);
                }
            }
        };
        libc::close(list);
        is_read
    }
}

/// The numbers in the entries of a folder, as `getdents64` gives them: u64 inode, i64 offset, u16 length, u8 type, name.
struct Entries<'a>(&'a [u8]);

/// Where the length and the name of an entry are.
const LENGTH_AT: usize = 16;
const NAME_AT: usize = 19;

impl Iterator for Entries<'_> {
    type Item = RawFd;

    fn next(&mut self) -> Option<RawFd> {
        loop {
            let length = self.0.get(LENGTH_AT..LENGTH_AT + 2)?;
            let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
            let entry = self.0.get(..length).filter(|_| length > NAME_AT)?;
            self.0 = &self.0[length..];
            let name = entry[NAME_AT..].split(|byte| *byte == 0).next()?;
            if let Some(fd) = std::str::from_utf8(name).ok().and_then(|n| n.parse().ok()) {
                return Some(fd);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn what_is_listed_is_closed_above_the_first() {
        let open = |fd: RawFd| std::fs::read_link(format!("/proc/self/fd/{fd}")).is_ok();
        let low = File::open("/dev/null").unwrap();
        // More than fit into one reading of the list.
        let files: Vec<RawFd> = (0..400)
            .map(|_| rustix::io::fcntl_dupfd_cloexec(&low, 500).unwrap())
            .map(std::os::fd::IntoRawFd::into_raw_fd)
            .collect();
        assert!(open(files[399]));
        // SAFETY: the descriptors from 500 on are ours, and not used again.
        assert!(unsafe { close_listed(500) });
        assert!(!files.iter().any(|fd| open(*fd)));
        assert!(open(low.as_raw_fd()));
    }

    #[test]
    fn a_torn_entry_ends_the_list() {
        let mut entry = [0_u8; 24];
        entry[LENGTH_AT] = 24;
        entry[NAME_AT..NAME_AT + 2].copy_from_slice(b"17");
        let mut two = entry.to_vec();
        two.extend(&entry[..20]);
        assert_eq!(Entries(&two).collect::<Vec<_>>(), [17]);
        assert_eq!(Entries(&[]).next(), None);
    }
}
