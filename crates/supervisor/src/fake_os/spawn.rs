//! Commands. A child blocks between its fork and its exec, as on a real host.

use std::collections::BTreeMap;
use std::io;

use super::host::{self, Host};
pub(crate) use super::launch::Launch;
use super::process_table::Mark;
use super::user::User;
use crate::machine::Run;

/// The prefix of commands whose fork fails.
const CANNOT_FORK: &str = "cannot-fork";
/// The prefix of commands whose exec fails.
const CANNOT_EXEC: &str = "cannot-exec";

pub(crate) fn environment(
    _user: &User,
    _given: &BTreeMap<String, String>,
    mark: &[String],
) -> Vec<String> {
    mark.to_vec()
}

/// A child that blocks before its exec. Dropped, it exits without having executed anything.
#[derive(Debug)]
pub(crate) struct BlockedChild {
    pub(crate) run: Run,
    pub(crate) is_in_group: bool,
    host: Host,
    command: String,
    mark: Mark,
}

#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) pidfd: Pidfd,
    pub(crate) failure_pipe: FailurePipe,
}

#[derive(Debug)]
pub(crate) struct Pidfd;

#[derive(Debug)]
pub(crate) struct FailurePipe(Option<String>);

impl BlockedChild {
    pub(crate) fn release(self) -> Child {
        let refused = self.command.starts_with(CANNOT_EXEC);
        host::call(|table| table.execute(self.run, &self.command, &self.mark));
        Child {
            pidfd: Pidfd,
            failure_pipe: FailurePipe(refused.then(|| "/bin/sh could not be executed".to_owned())),
        }
    }
}

impl Drop for BlockedChild {
    fn drop(&mut self) {
        self.host.peek(|table| table.drop_blocked_child(self.run));
    }
}

#[derive(Debug)]
pub(crate) struct SpawnFailure {
    pub(crate) why: String,
    pub(crate) is_shortage: bool,
}

impl FailurePipe {
    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn read(&self) -> Option<SpawnFailure> {
        self.0.clone().map(|why| SpawnFailure {
            why,
            is_shortage: false,
        })
    }
}

pub(crate) fn spawn(launch: &Launch<'_>) -> io::Result<BlockedChild> {
    if launch.command.starts_with(CANNOT_FORK) {
        return Err(io::Error::other("no more processes"));
    }
    let mark = Mark::of(launch.environment);
    let run = host::call(|table| table.fork(&mark));
    Ok(BlockedChild {
        run,
        is_in_group: false,
        host: host::current(),
        command: launch.command.to_owned(),
        mark,
    })
}

pub(crate) fn prepare_agent_process() {}
