//! Commands. Between making one and executing it stands a gate, as there does in truth.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use model::spec::Runtime;

use super::cgroup::Entrances;
use super::host::{self, Host};
use super::table::Mark;
use super::user::User;
use crate::machine::Run;

/// A command that begins so cannot be made into a process.
const CANNOT_FORK: &str = "cannot-fork";
/// One that begins so cannot be executed once it is one.
const CANNOT_EXEC: &str = "cannot-exec";

#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) command: &'a str,
    pub(crate) directory: &'a str,
    pub(crate) user: &'a User,
    pub(crate) environment: &'a [String],
    pub(crate) runtime: &'a Runtime,
    pub(crate) output: &'a OwnedFd,
    pub(crate) groups: &'a Entrances,
}

pub(crate) fn environment(
    _user: &User,
    _given: &BTreeMap<String, String>,
    mark: &[String],
) -> Vec<String> {
    mark.to_vec()
}

/// A child that waits at its gate. Dropped, it ends without having executed anything.
#[derive(Debug)]
pub(crate) struct Gated {
    pub(crate) run: Run,
    pub(crate) was_made_in_group: bool,
    host: Host,
    command: String,
    mark: Mark,
}

#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) pidfd: Pidfd,
    pub(crate) complaints: Complaints,
}

#[derive(Debug)]
pub(crate) struct Pidfd;

#[derive(Debug)]
pub(crate) struct Complaints(Option<String>);

impl Gated {
    pub(crate) fn open(self) -> Child {
        let refused = self.command.starts_with(CANNOT_EXEC);
        host::call(|table| table.execute(self.run, &self.command, &self.mark));
        Child {
            pidfd: Pidfd,
            complaints: Complaints(refused.then(|| "/bin/sh could not be executed".to_owned())),
        }
    }
}

impl Drop for Gated {
    fn drop(&mut self) {
        self.host.peek(|table| table.close_gate(self.run));
    }
}

#[derive(Debug)]
pub(crate) struct Complaint {
    pub(crate) why: String,
    pub(crate) is_shortage: bool,
}

impl Complaints {
    pub(crate) fn are_over(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn read(&self) -> Option<Complaint> {
        self.0.clone().map(|why| Complaint {
            why,
            is_shortage: false,
        })
    }
}

pub(crate) fn spawn(launch: &Launch<'_>) -> io::Result<Gated> {
    if launch.command.starts_with(CANNOT_FORK) {
        return Err(io::Error::other("no more processes"));
    }
    let mark = Mark::of(launch.environment);
    let run = host::call(|table| table.fork(&mark));
    Ok(Gated {
        run,
        was_made_in_group: false,
        host: host::current(),
        command: launch.command.to_owned(),
        mark,
    })
}

pub(crate) fn prepare_ourselves() {}
