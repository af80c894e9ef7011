//! The trivial process of `cargo xtask bench agent`: says that it is up, and then does nothing until the bench is gone.
//!
//! `sleeper FIFO INDEX [PID_FILE]`. What it says is its own word after its own exec, the same for every supervisor, so
//! that nothing has to be polled and a process that was merely forked does not count. It ends by itself with the bench:
//! whatever happens to that, none of these is left behind.

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
    // Without blocking, so that it fails when nobody listens any more.
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut fifo = File::from(open(&fifo, flags, Mode::empty())?);
    fifo.write_all(format!("{index} {pid}\n").as_bytes())?;
    // Asks for nothing, so it hears only that the other end is closed.
    poll(&mut [PollFd::new(&fifo, PollFlags::empty())], None)?;
    Ok(())
}
