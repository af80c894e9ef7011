//! The lower bound: spawn, a pidfd each, epoll, spawn again. No journal, no status, no limits, no shell.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::install::Package;
use super::stage::Stage;
use super::{Peer, Started, tree};

#[derive(Debug)]
pub(super) struct Bare;

impl Peer for Bare {
    fn name(&self) -> &'static str {
        "bare"
    }

    fn package(&self) -> Package {
        Package::Ours
    }

    fn start(&self, stage: &Stage, n: usize) -> anyhow::Result<Started> {
        let mut program = Command::new(std::env::current_exe()?);
        program.arg("bare-loop").arg(stage.sleeper());
        program.arg(stage.fifo()).arg(n.to_string());
        tree::start(stage, &program, "KILL")
    }
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
                // Said, not left to closing: a child between its fork and its exec may hold the same file open, and
                // the end of a process would be told again, as the end of its successor.
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
