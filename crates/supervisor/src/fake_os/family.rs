//! Families: a run with everything that came from it.

use model::FullName;

use super::cgroup::Group;
use super::exits::Exits;
use super::host;
use super::table::Mark as Marked;
use super::unknown::Unknown;
use crate::machine::Run;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark(pub(crate) Vec<String>);

impl Mark {
    pub(crate) fn new(agent: &str, name: &FullName) -> Self {
        Self(vec![
            format!("MUSTER_NAMESPACE={}", name.namespace),
            format!("MUSTER_NAME={}", name.name),
            format!("MUSTER_AGENT={agent}"),
        ])
    }

    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Whose<'a> {
    pub(crate) root: Option<Run>,
    pub(crate) is_ours: bool,
    pub(crate) runs: &'a [Run],
    pub(crate) mark: &'a Mark,
    pub(crate) own: Option<Group>,
    pub(crate) among: Among,
    pub(crate) found_for: Option<&'a str>,
}

#[derive(Debug, Clone)]
pub(crate) enum Among {
    Host,
    Group(Group),
    Nobody,
}

#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) exits: &'a Exits,
    pub(crate) is_anothers: &'a dyn Fn(Run) -> bool,
}

#[derive(Debug, Default)]
pub(crate) struct Families {}

/// One round is enough here.
#[derive(Debug, Default)]
pub(crate) struct Killing {}

impl Killing {
    pub(crate) fn pause_ms(&self) -> u64 {
        1
    }
}

#[derive(Debug)]
pub(crate) enum NotKilled {
    Refused(String),
    Unknown(Unknown),
}

impl Families {
    pub(crate) fn look_anew(&mut self) {}

    /// Whoever is the run of another held process is spared.
    pub(crate) fn kill_round(
        &mut self,
        whose: &Whose<'_>,
        known: Known<'_>,
        _killing: &mut Killing,
    ) -> Option<Result<(), NotKilled>> {
        let mark = Marked::of(&whose.mark.0);
        let is_spared = |run: Run| {
            let is_watched = known.exits.run_of(run.pid) == Some(run);
            is_watched && Some(run) != whose.root && (known.is_anothers)(run)
        };
        host::call(|table| table.kill(whose.root, &mark, is_spared));
        Some(Ok(()))
    }
}
