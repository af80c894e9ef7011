//! The trivial process of `cargo xtask bench agent`: reports that it is up, and sleeps until the bench exits.
//!
//! `sleeper FIFO INDEX [PID_FILE]`. It writes to the FIFO after its exec, so that the bench polls nothing and a process that
//! is only forked does not count. It exits with the bench, however that ends.

use std::fs::File;
use std::io::{self, Write};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, open};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(fifo), Some(index)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other("usage: sleeper FIFO INDEX [PID_FILE]"));
    };
    let pid = std::process::id();
    if let Some(pid_file) = arguments.next() {
        std::fs::write(pid_file, format!("{pid}\n"))?;
    }
    // Non-blocking, so that it fails when the bench has closed the FIFO.
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut fifo = File::from(open(&fifo, flags, Mode::empty())?);
    fifo.write_all(format!("{index} {pid}\n").as_bytes())?;
    // Without events of interest, poll returns only when the other end is closed.
    poll(&mut [PollFd::new(&fifo, PollFlags::empty())], None)?;
    Ok(())
}
