//! The last runs of a process: those whose output is kept, and those of which only the end is known.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use model::FullName;
use model::run_history::{MAX_RUNS, RunRecord};
use model::status::LastExit;

use super::{KeptRun, KeptRuns, RunId};
use crate::os::run_ends::{self, EndedRun};

impl KeptRuns {
    /// Records how a run ended.
    pub(crate) fn record_end(&self, name: &FullName, run: RunId, end: LastExit) {
        let ended = EndedRun {
            number: run.number,
            began: run.began,
            end,
        };
        if let Err(error) = run_ends::add(&self.folder(name).join(run_ends::FILE), ended) {
            tracing::warn!(process = %name, %error, "cannot record the end of a run");
        }
    }

    /// The last runs, oldest first.
    pub(crate) fn history(&self, name: &FullName, current: Option<RunId>) -> Vec<RunRecord> {
        let folder = self.folder(name);
        let mut runs = BTreeMap::<u32, RunRecord>::new();
        for ended in run_ends::read(&folder.join(run_ends::FILE)) {
            let record = RunRecord {
                number: ended.number,
                began: ended.began,
                end: Some(ended.end),
                ..RunRecord::default()
            };
            runs.insert(ended.number, record);
        }
        for kept in self.runs_of(name) {
            let id = kept.id;
            let record = runs.entry(id.number).or_insert_with(|| RunRecord {
                number: id.number,
                began: id.began,
                ..RunRecord::default()
            });
            describe_output(&kept, record);
            record.is_current = record.end.is_none() && current == Some(id);
        }
        let n_old = runs.len().saturating_sub(MAX_RUNS);
        runs.into_values().skip(n_old).collect()
    }
}

/// The highest number that a run of this folder had, as far as its end is known.
pub(super) fn last_ended(folder: &Path) -> Option<u32> {
    let ended = run_ends::read(&folder.join(run_ends::FILE));
    ended.iter().map(|run| run.number).max()
}

fn describe_output(kept: &KeptRun, record: &mut RunRecord) {
    if !kept.is_log {
        // It may have been removed since.
        record.output_bytes = fs::metadata(&kept.path).ok().map(|found| found.len());
        return;
    }
    if let Ok(place) = kept.log_place() {
        record.log_path = place.path.to_string_lossy().into_owned();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use model::UnixMillis;
    use model::status::Exit;

    use super::*;
    use crate::os::kept_runs::OpenRuns;

    fn end(at: i64) -> LastExit {
        LastExit::new(Exit::Code(0), UnixMillis(at))
    }

    #[test]
    fn ends_outlive_outputs_and_numbers_are_not_given_twice() {
        let dir = tempfile::tempdir().unwrap();
        let name: FullName = "a/b".parse().unwrap();
        let runs = KeptRuns::in_dir(dir.path().join("runs"), 1, 1 << 20);
        let begin = |at: i64, keep: u32| {
            let known = OpenRuns::default();
            let (_, output, open) = runs.begin(&name, UnixMillis(at), &known, keep).unwrap();
            File::from(output).write_all(b"hello").unwrap();
            open.newest.unwrap()
        };
        let first = begin(10, 0);
        runs.record_end(&name, first, end(15));
        runs.record_end(&name, first, end(16));
        let second = begin(20, 0);
        let shown = runs.history(&name, Some(second));
        let brief = |run: &RunRecord| {
            let ended = run.end.map(|end| end.at.0);
            (run.number, ended, run.output_bytes, run.is_current)
        };
        assert_eq!(
            shown.iter().map(brief).collect::<Vec<_>>(),
            [(1, Some(15), None, false), (2, None, Some(5), true)]
        );
        runs.record_end(&name, second, end(25));
        // A process may keep more than others.
        let third = begin(30, 2);
        assert_eq!(runs.runs_of(&name).len(), 2);
        runs.take_back(&name, third);
        fs::remove_file(runs.output_path(&name, second)).unwrap();
        assert_eq!(
            begin(40, 0).number,
            3,
            "the outputs are gone, the ends are not"
        );
        runs.forget(&name);
        assert!(runs.history(&name, None).is_empty());
    }
}
