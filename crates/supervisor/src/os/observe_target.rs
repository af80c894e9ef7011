//! The process to observe; the same on the real and the fake host.

use std::io;

use super::family::FamilyQuery;
use crate::machine::Run;

/// The name of the other held process that has a run.
#[derive(Clone, Copy)]
pub(crate) struct OtherRuns<'a>(pub(crate) &'a dyn Fn(Run) -> io::Result<Option<String>>);

impl std::fmt::Debug for OtherRuns<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OtherRuns")
    }
}

/// The process to observe.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    pub(crate) proc_name: &'a str,
    pub(crate) others: OtherRuns<'a>,
    pub(crate) pid_path: &'a str,
    /// The user that it runs as.
    pub(crate) user: &'a str,
    /// Its root is the command that is under way or has just ended.
    pub(crate) family: FamilyQuery<'a>,
}
