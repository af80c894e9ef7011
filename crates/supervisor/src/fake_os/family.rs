//! Families of fake runs.

pub(crate) use super::family_query::{FamilyQuery, KillError, Mark, SearchScope, WatchedRuns};
use super::host;
use super::process_table::Mark as Marked;
use crate::machine::Run;

#[derive(Debug, Default)]
pub(crate) struct Families {}

/// One round is enough.
#[derive(Debug, Default)]
pub(crate) struct KillProgress {}

impl KillProgress {
    pub(crate) fn pause_ms(&self) -> u64 {
        1
    }
}

impl Families {
    pub(crate) fn forget_readings(&mut self) {}

    /// The runs of other held processes are spared.
    pub(crate) fn kill_round(
        &mut self,
        query: &FamilyQuery<'_>,
        known: WatchedRuns<'_>,
        _killing: &mut KillProgress,
    ) -> Option<Result<(), KillError>> {
        let mark = Marked::of(&query.mark.0);
        let is_spared = |run: Run| {
            let is_watched = known.exits.run_of(run.pid) == Some(run);
            is_watched && Some(run) != query.root && (known.is_of_another)(run)
        };
        host::call(|table| table.kill(query.root, &mark, is_spared));
        Some(Ok(()))
    }
}
