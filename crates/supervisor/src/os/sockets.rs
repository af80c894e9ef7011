//! Bytes over TCP sockets, counted by the kernel: one `sock_diag` dump for all sockets, and the open sockets of a process.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// How many descriptors of one process are read.
const MAX_FDS: usize = 4096;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
/// Length of `struct nlmsghdr`, `inet_diag_req_v2`, `inet_diag_msg`.
const HEADER: usize = 16;
const REQUEST: usize = 56;
const MESSAGE: usize = 72;
/// Where `inet_diag_msg` has its inode, and `tcp_info` its counts.
const INODE: usize = 68;
const BYTES_ACKED: usize = 120;
const BYTES_RECEIVED: usize = 128;

/// Bytes sent and received by every TCP socket of the agent's network namespace. Empty if the dump fails.
pub(crate) fn bytes_by_inode() -> HashMap<u32, u64> {
    let mut sockets = HashMap::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        if let Err(error) = dump(family as u8, &mut sockets) {
            tracing::debug!(%error, family, "cannot ask for sockets");
        }
    }
    sockets
}

fn dump(family: u8, sockets: &mut HashMap<u32, u64>) -> io::Result<()> {
    let socket = open()?;
    let mut request = [0_u8; HEADER + REQUEST];
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    request[0..4].copy_from_slice(&((HEADER + REQUEST) as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&flags.to_ne_bytes());
    request[HEADER] = family;
    request[HEADER + 1] = libc::IPPROTO_TCP as u8;
    request[HEADER + 2] = 1 << (INET_DIAG_INFO - 1);
    // Every state.
    request[HEADER + 4..HEADER + 8].copy_from_slice(&u32::MAX.to_ne_bytes());
    send(&socket, &request)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = receive(&socket, &mut buffer)?;
        if read_messages(&buffer[..length], sockets)? {
            return Ok(());
        }
    }
}

/// Parses one datagram; true when it was the last.
fn read_messages(mut bytes: &[u8], sockets: &mut HashMap<u32, u64>) -> io::Result<bool> {
    if bytes.is_empty() {
        return Ok(true);
    }
    while let Some((length, kind)) = header(bytes) {
        let Some(message) = bytes.get(HEADER..length) else {
            return Ok(true);
        };
        match i32::from(kind) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => {
                let code = message
                    .get(..4)
                    .map_or(0, |b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
                return Err(io::Error::from_raw_os_error(-code));
            }
            _ => {
                if let Some((inode, count)) = socket_in(message) {
                    sockets.insert(inode, count);
                }
            }
        }
        bytes = bytes.get(align(length)..).unwrap_or_default();
    }
    Ok(false)
}

fn header(bytes: &[u8]) -> Option<(usize, u16)> {
    let length = word(bytes, 0)? as usize;
    let kind = u16::from_ne_bytes([*bytes.get(4)?, *bytes.get(5)?]);
    (length >= HEADER).then_some((length, kind))
}

/// The inode of a socket and the bytes that went over it.
fn socket_in(message: &[u8]) -> Option<(u32, u64)> {
    let inode = word(message, INODE)?;
    let mut attributes = message.get(MESSAGE..)?;
    loop {
        let length = usize::from(u16::from_ne_bytes([
            *attributes.first()?,
            *attributes.get(1)?,
        ]));
        let kind = u16::from_ne_bytes([*attributes.get(2)?, *attributes.get(3)?]);
        if length < 4 {
            return None;
        }
        if kind == INET_DIAG_INFO {
            let info = attributes.get(4..length)?;
            let count = long(info, BYTES_ACKED)?.wrapping_add(long(info, BYTES_RECEIVED)?);
            return (inode != 0).then_some((inode, count));
        }
        attributes = attributes.get(align(length)..)?;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

fn align(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn open() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: a plain system call; the descriptor is ours alone once we know that it is one.
    unsafe {
        let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG);
        match fd {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

fn send(socket: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as there are.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    match sent {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The kernel has the reply to a dump ready, so this does not block.
fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most as many bytes as there are.
    let length = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            libc::MSG_DONTWAIT,
        )
    };
    match length {
        -1 => Err(io::Error::last_os_error()),
        length => Ok(length as usize),
    }
}

/// The inodes of the sockets that a process has open.
pub(crate) fn inodes_of(pid: i32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let entries = entries.into_iter().flatten().flatten().take(MAX_FDS);
    let targets = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets
        .filter_map(|target| {
            let inside = target
                .to_str()?
                .strip_prefix("socket:[")?
                .strip_suffix(']')?;
            inside.parse().ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn traffic_of_own_sockets_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[1; 10_000]).unwrap();
        server.read_exact(&mut [0; 10_000]).unwrap();
        let bytes = bytes_by_inode();
        let mine = inodes_of(std::process::id() as i32);
        let total: u64 = mine.iter().filter_map(|inode| bytes.get(inode)).sum();
        assert!(total >= 20_000, "sent and received: {total}");
    }

    #[test]
    fn arbitrary_bytes_do_not_panic() {
        for length in 0..200 {
            for fill in [0_u8, 1, 16, 72, 255] {
                let _ = read_messages(&vec![fill; length], &mut HashMap::new());
            }
        }
    }
}
