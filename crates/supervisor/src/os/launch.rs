//! A command to execute; the same on the real and the fake host.

use std::os::fd::OwnedFd;

use model::spec::Runtime;

use super::cgroup::CommandGroups;
use super::user::User;

/// What to run, where, and as which user.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) command: &'a str,
    pub(crate) directory: &'a str,
    pub(crate) user: &'a User,
    pub(crate) environment: &'a [String],
    /// Its limits, umask and nice value.
    pub(crate) runtime: &'a Runtime,
    /// Both output streams.
    pub(crate) output: &'a OwnedFd,
    /// The control groups that it is in.
    pub(crate) groups: &'a CommandGroups,
}
