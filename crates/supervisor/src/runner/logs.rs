//! Which output of a process `logs` shows.
//!
//! - The current or last run: its own output that the agent keeps, or its log.
//! - The run before it, or one by its number.
//! - With a time: of every kept run, what was written since.

use std::io;
use std::path::PathBuf;

use model::UnixMillis;

use super::{Runner, SupervisedProcess};
use crate::machine::Sink;
use crate::os::kept_runs::KeptRun;
use crate::os::rights::OsRights;
use crate::os::tail::{LogPlan, Segment};
use crate::os::{clock, sink};
use crate::{LogError, LogRequest, WhichRun};

impl Runner {
    /// Decides what to read; opening it is left to another thread.
    pub(super) fn plan_log(&self, wanted: &LogRequest) -> Result<LogPlan, LogError> {
        let held = self
            .names
            .get(&wanted.process)
            .and_then(|key| self.held.get(key))
            .ok_or_else(|| LogError::NotHeld(wanted.process.clone()))?;
        let runs = self.runs.runs_of(&wanted.process);
        let since = wanted.since.map(|ago| {
            let millis = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
            UnixMillis(clock::unix().0.saturating_sub(millis))
        });
        let segments = match wanted.run {
            WhichRun::Previous => vec![self.previous(held, &runs)?],
            WhichRun::Numbered(number) => vec![self.numbered(held, &runs, number)?],
            WhichRun::Current => self.current(held, &runs, wanted, since)?,
        };
        Ok(LogPlan {
            segments,
            since,
            pattern: wanted.pattern.clone(),
            tail_lines: wanted.tail_lines,
            until: wanted.until,
        })
    }

    fn current(
        &self,
        held: &SupervisedProcess,
        runs: &[KeptRun],
        wanted: &LogRequest,
        since: Option<UnixMillis>,
    ) -> Result<Vec<Segment>, LogError> {
        let newest = runs.last();
        let kept = |run: &KeptRun| self.kept(held, run);
        let source = self
            .written_by(held, newest)?
            .ok_or_else(|| nothing(held))?;
        let after = wanted.after_run.unwrap_or(0);
        let shown = newest.filter(|run| run.path == source.path);
        let is_deleted = match shown {
            Some(run) => run.id.number <= after,
            None => source.is_spool && !source.path.exists(),
        };
        if is_deleted {
            let name = &held.registration.name;
            return Err(LogError::Unavailable(format!(
                "the output of {name} was deleted; its next run is kept again"
            )));
        }
        let Some(shown) = shown else {
            return Ok(vec![self.in_log(held, source, runs, since, after)]);
        };
        Ok(match (since, after) {
            // All that began after the run that was read last.
            (_, 1..) => {
                let later = runs.iter().filter(|run| run.id.number > after);
                later.filter(|run| !run.is_log).map(kept).collect()
            }
            (Some(_), 0) => runs.iter().filter(|run| !run.is_log).map(kept).collect(),
            (None, 0) => vec![kept(shown)],
        })
    }

    fn previous(&self, held: &SupervisedProcess, runs: &[KeptRun]) -> Result<Segment, LogError> {
        match runs {
            [.., previous, newest] => self.whole_run(held, previous, Some(newest)),
            [only] => Err(LogError::Unavailable(format!(
                "no run of {} before the one that began at {} is kept",
                held.registration.name,
                only.id.began.to_rfc3339()
            ))),
            [] => Err(nothing(held)),
        }
    }

    fn numbered(
        &self,
        held: &SupervisedProcess,
        runs: &[KeptRun],
        number: u32,
    ) -> Result<Segment, LogError> {
        let Some(at) = runs.iter().position(|run| run.id.number == number) else {
            let name = &held.registration.name;
            let kept = runs.iter().map(|run| run.id.number.to_string());
            let kept = kept.collect::<Vec<_>>().join(", ");
            return Err(LogError::Unavailable(match kept.as_str() {
                "" => format!("no output of a run of {name} is kept"),
                kept => format!("the output of run {number} of {name} is not kept, only of {kept}"),
            }));
        };
        self.whole_run(held, &runs[at], runs.get(at + 1))
    }

    /// What a run wrote; `next` is the run after it.
    fn whole_run(
        &self,
        held: &SupervisedProcess,
        run: &KeptRun,
        next: Option<&KeptRun>,
    ) -> Result<Segment, LogError> {
        let name = &held.registration.name;
        let number = run.id.number;
        let unavailable = |why: String| Err(LogError::Unavailable(why));
        if !run.is_log {
            return Ok(self.kept(held, run));
        }
        let Ok(place) = run.log_place() else {
            return unavailable(format!(
                "the agent does not know any more where run {number} of {name} wrote"
            ));
        };
        let next = next
            .filter(|next| next.is_log)
            .and_then(|next| next.log_place().ok())
            .filter(|next| next.path == place.path);
        let end = next.map(|next| next.offset);
        let rights =
            OsRights::of(&held.registration.spec.identity.user).map_err(LogError::Unavailable)?;
        let size = rights.with(|| std::fs::metadata(&place.path));
        let size = size.map_or(0, |found| found.len());
        if end.is_some_and(|end| end < place.offset || end > size) || place.offset > size {
            return unavailable(format!(
                "{} was rotated since: what run {number} of {name} wrote may be in {}.1",
                place.path.display(),
                place.path.display()
            ));
        }
        Ok(Segment {
            path: place.path,
            rights,
            from: place.offset,
            to: end,
            run: Some((run.id, self.runs.folder(name))),
            is_spool: false,
        })
    }

    /// The whole log, or with a time what was written since.
    fn in_log(
        &self,
        held: &SupervisedProcess,
        source: OutputSource,
        runs: &[KeptRun],
        since: Option<UnixMillis>,
        after: u32,
    ) -> Segment {
        let mut segment = Segment {
            path: source.path,
            rights: source.rights,
            from: 0,
            to: None,
            run: None,
            is_spool: source.is_spool,
        };
        let mut in_log = runs.iter().filter(|run| run.is_log);
        let run = match since {
            // The reader comes from a run that had no log.
            _ if after > 0 => in_log.find(|run| run.id.number > after),
            // The newest run that began before that time: its recorded lengths say where in the log that was.
            Some(since) => in_log.rfind(|run| run.id.began < since),
            None => None,
        };
        if let Some(run) = run
            && let Ok(place) = run.log_place()
            && place.path == segment.path
        {
            segment.from = place.offset;
            segment.run = Some((run.id, self.runs.folder(&held.registration.name)));
        }
        segment
    }

    fn kept(&self, held: &SupervisedProcess, run: &KeptRun) -> Segment {
        Segment {
            path: run.path.clone(),
            rights: OsRights::Agent,
            from: 0,
            to: None,
            run: Some((run.id, self.runs.folder(&held.registration.name))),
            is_spool: true,
        }
    }

    /// The output of the current run; else what was kept of the last one; else its log; else the output of a command under
    /// way.
    fn written_by(
        &self,
        held: &SupervisedProcess,
        newest: Option<&KeptRun>,
    ) -> Result<Option<OutputSource>, LogError> {
        let identity = &held.registration.spec.identity;
        let kept = newest.filter(|run| !run.is_log).map(|run| OutputSource {
            path: run.path.clone(),
            rights: OsRights::Agent,
            is_spool: true,
        });
        if let Some(sink) = held.process.run_sink() {
            return of_sink(sink, &identity.user).map(Some);
        }
        // A daemon may write its log itself, whatever its start command wrote.
        let may_have_log = !identity.log_path.is_empty() && held.process.alive().is_some();
        if kept.is_some() && !may_have_log {
            return Ok(kept);
        }
        if !identity.log_path.is_empty()
            && let Ok(rights) = OsRights::of(&identity.user)
        {
            let name = held.registration.name.name.as_str();
            let path = sink::log_file(&identity.log_path, name, &rights);
            // A log that its user may not read is returned, so that opening it gives the reason.
            let found = rights.with(|| std::fs::metadata(&path));
            if !found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                // At its real path, as runs are recorded.
                let real = rights.with(|| std::fs::canonicalize(&path));
                return Ok(Some(OutputSource {
                    path: real.unwrap_or(path),
                    rights,
                    is_spool: false,
                }));
            }
        }
        if kept.is_some() {
            return Ok(kept);
        }
        let sink = held.process.sinks().last();
        sink.map(|sink| of_sink(sink, &identity.user)).transpose()
    }
}

/// The file that holds output, and the rights that it is read with.
struct OutputSource {
    path: PathBuf,
    rights: OsRights,
    is_spool: bool,
}

fn of_sink(sink: &Sink, user: &str) -> Result<OutputSource, LogError> {
    Ok(OutputSource {
        path: sink.path.clone(),
        rights: sink::rights(sink, user).map_err(LogError::Unavailable)?,
        is_spool: sink.spool,
    })
}

fn nothing(held: &SupervisedProcess) -> LogError {
    let name = &held.registration.name;
    LogError::Unavailable(match held.registration.spec.identity.log_path.as_str() {
        "" if held.process.alive().is_some() => format!(
            "{name} was not started by this agent, so its output goes elsewhere; from its next start on it is kept"
        ),
        "" => format!("this agent has not started {name} yet"),
        path => format!("{name} has written nothing to its log_path {path} yet"),
    })
}
