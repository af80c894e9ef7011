//! The lower bound: spawn, a pidfd each, epoll, spawn again. No journal, no status, no limits, no shell.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::Peer;
use super::install::Package;
use super::sandbox::Sandbox;

pub(super) fn peer() -> Peer {
    Peer::program("bare", Package::Ours, program, "KILL")
}

fn program(sandbox: &Sandbox, n: usize) -> anyhow::Result<Command> {
    let mut program = Command::new(std::env::current_exe()?);
    program.arg("bare-loop").arg(sandbox.sleeper());
    program.arg(sandbox.fifo()).arg(n.to_string());
    Ok(program)
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    sleeper: PathBuf,
    fifo: PathBuf,
    n: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut kept: HashMap<u64, (Child, OwnedFd)> = HashMap::new();
    for index in 0..args.n {
        kept.insert(index, spawn(args, &epoll, index)?);
    }
    let mut events = Vec::with_capacity(64);
    loop {
        epoll::wait(&epoll, spare_capacity(&mut events), None)?;
        for event in events.drain(..) {
            let index = event.data.u64();
            if let Some((mut child, pidfd)) = kept.remove(&index) {
                child.wait()?;
                // Explicitly: a child between fork and exec may hold the same file open, so that closing it would leave
                // the event, which would then count as the end of the successor.
                epoll::delete(&epoll, &pidfd)?;
                kept.insert(index, spawn(args, &epoll, index)?);
            }
        }
    }
}

fn spawn(args: &Args, epoll: &OwnedFd, index: u64) -> anyhow::Result<(Child, OwnedFd)> {
    let child = Command::new(&args.sleeper)
        .arg(&args.fifo)
        .arg(index.to_string())
        .stdin(Stdio::null())
        .spawn()?;
    let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let data = epoll::EventData::new_u64(index);
    epoll::add(epoll, &pidfd, data, epoll::EventFlags::IN)?;
    Ok((child, pidfd))
}
